//! DEAL: what a label is worth if it told the true class probabilities (Röder, 2013, Active learning: new approaches, and industrial applications, chapter 4).
//!
//! A distribution over the class probabilities of a row says what is lost by deciding now, and what would be lost if the probabilities were known. The
//! difference, times the density of rows, is the row's training utility: large where classes are undecided, where few labels are near, and where rows are many.

mod counts;
mod field;
#[cfg(test)]
mod tests;
mod utility;

use hedgerow_core::{Result, SecondOrder};

use super::Strategy;
use crate::situation::Situation;
use field::Field;
pub use utility::{beta_utility, dirichlet_utility};

/// Draws of second-order distributions that have no closed form.
const DRAWS: usize = 100;

/// Training utilities by kernel density classification: the share of each class near a row has a Dirichlet distribution, whose concentrations are a prior and
/// a weighted count of its labels. It needs no model, starts where rows are densest, and does not care for the model that is trained in the end.
///
/// Every label changes the counts of all rows by one term each.
#[derive(Debug, Default)]
pub struct Deal {
    /// Whether columns are numbers on one scale already, such as principal components: then distances are taken on them as they are, missing values as 0.
    pub is_scaled: bool,
    field: Option<Field>,
}

impl Deal {
    /// For columns that are on one scale already, or are to be brought to one.
    pub fn new(is_scaled: bool) -> Self {
        Self { is_scaled, field: None }
    }
}

impl Strategy for Deal {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        let is_of_pool = |field: &Field| field.fits(situation.pool());
        let field = match self.field.take().filter(is_of_pool) {
            Some(field) => self.field.insert(field),
            None => self.field.insert(Field::new(situation, self.is_scaled)),
        };
        let (densities, concentrations) = field.at(situation);
        let losses = situation.losses(concentrations.ncols());
        let rows: Vec<Vec<f64>> = concentrations.rows().into_iter().map(|row| row.to_vec()).collect();
        let utilities = situation.par().map(rows.len(), |place| dirichlet_utility(&rows[place], &losses));
        Ok(densities.iter().zip(utilities).map(|(density, utility)| density * utility).collect())
    }

    fn reason(&self, situation: &Situation<'_>, _place: usize) -> String {
        match situation.pool().labelled().len() {
            0 => "many rows are near it".into(),
            _ => "many rows are near it, and few labels that decide between classes".into(),
        }
    }
}

/// The same with the second-order distributions of the model ([`relative evidence`](hedgerow_core::RelativeEvidence)) and the density of the targets by ranks. A
/// model without such distributions, or no model yet, is replaced by that of [`Deal`].
#[derive(Debug, Default)]
pub struct DealOfModel {
    without: Deal,
}

impl Strategy for DealOfModel {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        let known = match situation.model() {
            Some(model) => model.second_order(situation.x(), situation.par())?,
            None => None,
        };
        let Some(known) = known else { return self.without.utilities(situation) };
        let losses = situation.losses(known.n_classes());
        let densities = super::density::densities(situation);
        let utilities = of_second_order(&known, &losses, situation.seed());
        Ok(densities.iter().zip(utilities).map(|(density, utility)| density * utility).collect())
    }
}

/// The training utility of each row by its second-order distribution: in closed form for beta distributions, by quadrature for Dirichlet distributions, and by
/// draws otherwise. `losses` has what it costs to take a row of each class for another one.
pub fn of_second_order(known: &SecondOrder, losses: &[f64], seed: u64) -> Vec<f64> {
    if let Some(concentrations) = known.concentrations() {
        return concentrations
            .rows()
            .into_iter()
            .map(|row| dirichlet_utility(&row.to_vec(), losses))
            .collect();
    }
    let drawn = if known.as_samples().is_none() { Some(known.sample(DRAWS, seed)) } else { None };
    let Some(draws) = drawn.as_ref().map(|drawn| drawn.view()).or(known.as_samples()) else {
        return Vec::new();
    };
    (0..known.n_rows()).map(|row| utility::of_draws(draws.slice(ndarray::s![.., row, ..]), losses)).collect()
}

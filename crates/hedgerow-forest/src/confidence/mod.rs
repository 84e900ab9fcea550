//! Confidence forests: forests that tell how much evidence there is for what they predict.
//!
//! Each tree is grown from the rows and from background rows of no class, drawn anew for it and spread evenly. Where rows are few, background rows
//! take their places in the leaves. With leaves of `k` rows or little more, and their counts scaled to `k`, what is left are the counts of a
//! Dirichlet distribution, which far from all rows is the prior (Röder, 2013, Active learning: new approaches, and industrial applications, sections
//! 3.5 and 3.6).

mod choice;
mod grow;
mod leaf;
mod online;
#[cfg(test)]
mod tests;

use hedgerow_core::second_order::{labels_like, log_odds, shared_prior};
use hedgerow_core::text::count;
use hedgerow_core::{
    About, Candidate, Checked, ClassId, Classifier, Dataset, OutOfSample, Par, RelativeEvidence, Result,
    RetainedRows, Schema, SecondOrder, Source, StopReason, Summary, Task, Training,
};
use ndarray::{Array2, ArrayView2, ArrayViewMut2};
use serde::{Deserialize, Serialize};

use crate::forest::Forest;
use crate::params::ForestParams;
use crate::tree::Tree;
use choice::Choice;
use grow::{Grower, Growth};
use online::Online;

/// The class of background rows in trees; the others follow.
const BACKGROUND: usize = 0;
/// Rows predicted together.
const BLOCK: usize = 256;

/// A forest that tells how much evidence there is for what it predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceForest {
    /// Its first class is that of background rows.
    pub(crate) forest: Forest,
    n_classes: usize,
    /// None before anything was learnt.
    choice: Option<Choice>,
    /// From log odds to probabilities; none where there is nothing to calibrate by.
    calibration: Option<hedgerow_core::Calibration>,
    /// The weights of the rows of each class that were learnt.
    counts: Vec<f64>,
    /// What learning more needs; none if it was left out.
    online: Option<Online>,
}

impl ConfidenceForest {
    /// A forest without trees, which predicts its prior.
    pub fn new(schema: &Schema, params: &Checked<ForestParams>) -> Result<Self> {
        schema.check_sizes()?;
        let (n_features, n_classes) = (schema.n_features(), schema.n_classes());
        let gains = vec![0.0; n_features];
        let forest = Forest::from_parts(params.get().clone(), n_classes + 1, Vec::new(), None, gains);
        let rows = RetainedRows::new(n_features, Task::Classification);
        let online = Some(Online::new(rows, 0));
        Ok(Self { forest, n_classes, choice: None, calibration: None, counts: vec![0.0; n_classes], online })
    }

    /// Grows a forest.
    pub(crate) fn fit(
        data: &Dataset,
        params: &Checked<ForestParams>,
        training: &Training<'_>,
    ) -> Result<(Candidate<Self>, StopReason)> {
        data.check_trainable(Task::Classification)?;
        let mut model = Self::new(&data.schema, params)?;
        let grown = model.grow(data, training)?;
        let stop = training.budget.spent().unwrap_or(StopReason::Done);
        let weighty: Vec<usize> =
            (0..data.n_rows()).filter(|&row| data.weights.as_ref().is_none_or(|w| w[row] > 0.0)).collect();
        let kept = &weighty[weighty.len().saturating_sub(params.get().most_pool_rows())..];
        let kept = if kept.len() == data.n_rows() { data.clone() } else { data.select(kept) };
        let rows = RetainedRows::of(&kept);
        model.online = Some(Online::new(rows, data.n_rows() as u64));
        let mut candidate = Candidate::new(model, grown.validation);
        candidate.oob_votes = Some(grown.n_votes);
        Ok((candidate, stop))
    }

    /// Chooses what is left open, grows trees from rows, and calibrates by the trees that left a row out.
    fn grow(&mut self, data: &Dataset, training: &Training<'_>) -> Result<Outcome> {
        let params = self.forest.params().clone();
        let grower = Grower::new(data, &params)?;
        if self.choice.as_ref().is_none_or(|choice| choice.is_outdated(data.n_rows())) {
            self.choice = Some(choice::choose(&grower, training)?);
        }
        let Some(choice) = &self.choice else { return Ok(Outcome::default()) };
        let growth =
            grower.grow(choice.leaf_rows, choice.n_background(data.n_rows()), grower.n_trees(), training)?;
        let Growth { trees, gains, shares, n_votes } = growth;
        (self.forest.trees, self.forest.gains) = (trees, gains);
        self.counts = grower.class_weights();
        let rows: Vec<usize> =
            (0..data.n_rows()).filter(|&row| n_votes[row] > 0 && grower.weight(row) > 0.0).collect();
        self.calibration = None;
        let mut validation = None;
        if !rows.is_empty() {
            let prior = self.prior();
            let k = choice.leaf_rows as f64;
            let mut values = Array2::zeros((rows.len(), self.n_classes));
            for (&row, mut to) in rows.iter().zip(values.rows_mut()) {
                let scale = k / f64::from(n_votes[row]);
                let evidence: Vec<f64> = shares.row(row).iter().map(|share| share * scale).collect();
                log_odds(&evidence, &prior).into_iter().zip(&mut to).for_each(|(odds, to)| *to = odds);
            }
            let mut scores = OutOfSample::of_rows(Source::OutOfBag, rows, values, data.labels());
            if self.forest.params.calibrate && scores.has_two_classes() {
                let found = scores.calibration(training.par);
                // Where evidence tells nothing, a falling curve would take its noise for knowledge.
                let slope: f64 = found.curves.iter().map(|curve| curve.slope).sum();
                self.calibration = (slope > 0.0).then_some(found);
            }
            match &self.calibration {
                Some(calibration) => scores.calibrate(calibration, training.par),
                None => scores.map_rows(|row| normalize_odds(row)),
            }
            validation = Some(scores);
        }
        Ok(Outcome { validation, n_votes, n_trees: self.forest.trees.len() })
    }

    /// The parameters it was grown with.
    pub fn params(&self) -> &ForestParams {
        self.forest.params()
    }

    /// Its trees: their first class is that of background rows.
    pub fn trees(&self) -> &[Tree] {
        self.forest.trees()
    }

    /// Fewest rows in a leaf, and background rows for each row; none before anything was learnt.
    pub fn chosen(&self) -> Option<(usize, f64)> {
        self.choice.as_ref().map(|choice| (choice.leaf_rows, choice.background_share))
    }

    /// The prior of each class in predictions.
    fn prior(&self) -> Vec<f64> {
        shared_prior(1.0 / self.n_classes.max(1) as f64, &self.counts)
    }

    /// The labels that support each class, by the summed shares of all trees in the leaves of a row.
    fn evidence(&self, shares: &[f64]) -> Vec<f64> {
        let k = self.choice.as_ref().map_or(0.0, |choice| choice.leaf_rows as f64);
        let scale = k / self.forest.trees.len().max(1) as f64;
        shares[BACKGROUND + 1..].iter().map(|share| share * scale).collect()
    }

    /// The probabilities of a row by its evidence and the prior.
    fn probabilities(&self, evidence: &[f64], prior: &[f64]) -> Vec<f64> {
        if let Some(calibration) = self.calibration.as_ref().filter(|c| c.curves.len() == self.n_classes) {
            let mut scores = log_odds(evidence, prior);
            calibration.apply(&mut scores);
            return scores;
        }
        let sum: f64 = evidence.iter().chain(prior).sum();
        evidence.iter().zip(prior).map(|(evidence, prior)| (evidence + prior) / sum).collect()
    }

    /// Something of the evidence of each row.
    fn each(
        &self,
        x: ArrayView2<'_, f32>,
        par: &Par,
        of: impl Fn(Vec<f64>) -> Vec<f64> + Send + Sync,
    ) -> Array2<f64> {
        let x = x.as_standard_layout();
        let mut out = Array2::zeros((x.nrows(), self.n_classes));
        let (Some(rows), Some(values)) = (x.as_slice(), out.as_slice_mut()) else { return out };
        let (width, n_classes) = (self.forest.n_features, self.n_classes.max(1));
        par.for_chunks(values, BLOCK * n_classes, |block, values| {
            let (first, n_rows) = (block * BLOCK, values.len() / n_classes);
            let shares = self.forest.summed_shares(&rows[first * width..(first + n_rows) * width], n_rows);
            for (shares, to) in shares.chunks(self.forest.n_classes).zip(values.chunks_mut(n_classes)) {
                to.copy_from_slice(&of(self.evidence(shares)));
            }
        });
        out
    }

    pub(crate) fn bytes(&self) -> usize {
        self.forest.bytes() + self.online.as_ref().map_or(0, Online::bytes)
    }

    pub(crate) fn summary(&self) -> Summary {
        let summary = Summary::new(format!("{} trees", count(self.trees().len() as u64)))
            .count("trees", "Trees", self.trees().len())
            .count("nodes", "Nodes", self.forest.n_nodes());
        let Some((leaf_rows, share)) = self.chosen() else {
            return summary.details("nothing learnt yet".into());
        };
        let details = format!("leaves of {leaf_rows} rows, {share} background rows for each row");
        let mut summary = summary
            .count("confidence_rows", "Rows of a leaf", leaf_rows)
            .value("background_share", share)
            .details(details);
        summary.importances = Some(self.forest.impurity_importances());
        summary
    }
}

/// What came of growing.
#[derive(Default)]
struct Outcome {
    validation: Option<OutOfSample>,
    n_votes: Vec<u32>,
    n_trees: usize,
}

/// Log odds as probabilities.
fn normalize_odds(row: &mut ndarray::ArrayViewMut1<'_, f64>) {
    row.mapv_inplace(|odds| 1.0 / (1.0 + libm::exp(-odds)));
    let sum = row.sum();
    row.mapv_inplace(|p| p / sum);
}

impl Classifier for ConfidenceForest {
    fn n_features(&self) -> usize {
        self.forest.n_features
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        let prior = self.prior();
        out.assign(&self.each(x, par, |evidence| self.probabilities(&evidence, &prior)));
    }
}

impl RelativeEvidence for ConfidenceForest {
    fn predict_evidence_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<SecondOrder> {
        let prior = 1.0 / self.n_classes.max(1) as f64;
        let concentrations = self.each(x, par, |evidence| {
            let count: f64 = evidence.iter().sum();
            let shares = evidence.iter().map(|e| if count > 0.0 { e / count } else { 0.0 });
            let labels = labels_like(count, shares.clone(), prior);
            shares.map(|share| prior + labels * share).collect()
        });
        SecondOrder::dirichlet(About::RelativeEvidence, concentrations, prior)
    }
}

/// The class of a row in trees.
fn in_trees(class: ClassId) -> usize {
    class.index() + 1
}

//! What a model file holds of an RVM.

use hedgerow_core::{Error, ModelProblem, Params as _, Result};
use hedgerow_gp::Saved;
use hedgerow_gp::prepare::Preparation;
use ndarray::{Array2, CowArray};
use serde::{Deserialize, Serialize};

use super::{Fit, FittedModel, NamedTable, Rvm, Tables};
use crate::basis::Basis;
use crate::params::RvmParams;
use crate::retained::{RetainedFacts, RetainedRows};

/// What is not a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RvmFacts<F> {
    params: RvmParams,
    /// None unless targets are classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n_classes: Option<usize>,
    preparation: Preparation,
    #[serde(rename = "learnt")]
    fit: Option<FitFacts<F>>,
    #[serde(rename = "memory")]
    retained: Option<RetainedFacts>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct FitFacts<F> {
    lengths: Vec<f64>,
    #[serde(flatten)]
    model: F,
    log_evidence: f64,
}

impl<M: FittedModel> Saved for Rvm<M> {
    type Facts = RvmFacts<M::Facts>;

    fn facts(&self) -> Self::Facts {
        let fit = self.fit.as_ref().map(|fit| FitFacts {
            lengths: fit.basis.lengths.clone(),
            model: fit.model.facts(),
            // A fit without relevance vectors may have none; infinity is no number in a text.
            log_evidence: if fit.log_evidence.is_finite() { fit.log_evidence } else { 0.0 },
        });
        RvmFacts {
            params: self.params.clone(),
            n_classes: M::IS_OF_CLASSES.then_some(self.n_classes),
            preparation: self.preparation.clone(),
            fit,
            retained: self.retained.as_ref().map(|retained| retained.facts.clone()),
        }
    }

    fn tables(&self) -> Vec<NamedTable<'_>> {
        let mut tables = Vec::new();
        if let Some(fit) = &self.fit {
            tables.push((M::CENTERS.to_string(), CowArray::from(fit.model.centers().view())));
            tables.push(("relevant".into(), CowArray::from(fit.raw.mapv(f64::from))));
            tables.extend(fit.model.tables());
        }
        if let Some(retained) = &self.retained {
            tables.extend(retained.tables().map(|(name, table)| (name.to_string(), CowArray::from(table))));
        }
        tables
    }

    fn restore(facts: Self::Facts, tables: Tables<'_>) -> Result<Self> {
        let RvmFacts { params, n_classes, preparation, fit, retained } = facts;
        params.rules().map_err(|wrong| malformed("params", wrong.to_string()))?;
        preparation.check().map_err(|detail| malformed("preparation", detail))?;
        if n_classes.is_some() != M::IS_OF_CLASSES {
            return Err(malformed("facts", "classes of a model of numbers, or none of a classifier"));
        }
        let n = n_classes.unwrap_or(0);
        let fit = fit.map(|facts| restore_fit(facts, &params, &preparation, n, tables)).transpose()?;
        let n_relevant = fit.as_ref().map_or(0, |fit: &Fit<M>| fit.raw.nrows());
        let n_features = preparation.n_features();
        let retained = retained
            .map(|facts| RetainedRows::restore(facts, tables, n_features, n_classes, n_relevant))
            .transpose()?;
        Ok(Self { params, n_classes: n, preparation, fit, retained })
    }
}

fn restore_fit<M: FittedModel>(
    facts: FitFacts<M::Facts>,
    params: &RvmParams,
    preparation: &Preparation,
    n_classes: usize,
    tables: Tables<'_>,
) -> Result<Fit<M>> {
    let FitFacts { lengths, model, log_evidence } = facts;
    let width = preparation.width();
    let is_length = lengths.len() == 1 || lengths.len() == width;
    if !is_length || !lengths.iter().copied().all(is_positive) || !log_evidence.is_finite() {
        return Err(malformed("facts", "lengths that do not fit the columns or are not above 0"));
    }
    let (centers, raw) = (finite(tables, M::CENTERS)?, tables("relevant")?);
    let fits = centers.ncols() == width
        && raw.dim() == (centers.nrows(), preparation.n_features())
        && raw.iter().all(|v| !v.is_infinite() && !(*v as f32).is_infinite());
    if !fits {
        let detail = format!("expected rows of {width} columns, and the same in the table's own");
        return Err(malformed(M::CENTERS, detail));
    }
    Ok(Fit {
        basis: Basis::new(params.kernel, lengths),
        raw: raw.mapv(|v| v as f32),
        model: M::restore(model, centers, tables, n_classes)?,
        log_evidence,
    })
}

/// Whether a number may be a length or a variance.
pub(crate) fn is_positive(v: f64) -> bool {
    v > 0.0 && v < 1e150
}

/// A table without infinities.
pub(crate) fn finite(tables: Tables<'_>, name: &str) -> Result<Array2<f64>> {
    let found = tables(name)?.as_standard_layout().into_owned();
    if found.iter().all(|v| v.is_finite() && v.abs() < 1e150) {
        return Ok(found);
    }
    Err(malformed(name, "numbers that are not finite"))
}

pub(crate) fn malformed(part: &str, detail: impl Into<String>) -> Error {
    Error::model(ModelProblem::Part { part: part.into(), detail: detail.into() })
}

//! What a model file holds of a machine for values.

use hedgerow_core::{Error, ModelProblem, Params as _, Result};
use hedgerow_gp::Saved;
use hedgerow_gp::prepare::Preparation;
use ndarray::{Array1, Array2, Axis, CowArray, Ix2};
use serde::{Deserialize, Serialize};

use super::{Learnt, RvmRegressor};
use crate::basis::Basis;
use crate::design::Centers;
use crate::memory::{Memory, MemoryFacts};
use crate::params::RvmParams;

/// What is not a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RegressorFacts {
    params: RvmParams,
    preparation: Preparation,
    learnt: Option<LearntFacts>,
    memory: Option<MemoryFacts>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct LearntFacts {
    lengths: Vec<f64>,
    bias: Option<usize>,
    noise: f64,
    scale: f64,
    spread: f64,
    weight: f64,
    log_evidence: f64,
}

type Table<'a> = CowArray<'a, f64, Ix2>;
type Tables<'a> = &'a mut dyn FnMut(&str) -> Result<Array2<f64>>;

impl Saved for RvmRegressor {
    type Facts = RegressorFacts;

    fn facts(&self) -> RegressorFacts {
        let learnt = self.learnt.as_ref().map(|learnt| LearntFacts {
            lengths: learnt.basis.lengths.clone(),
            bias: learnt.centers.bias,
            noise: learnt.noise,
            scale: learnt.scale,
            spread: learnt.spread,
            weight: learnt.weight,
            // A machine without relevant rows has none; infinity is no number in a text.
            log_evidence: if learnt.log_evidence.is_finite() { learnt.log_evidence } else { 0.0 },
        });
        let memory = self.memory.as_ref().map(|memory| memory.facts.clone());
        RegressorFacts { params: self.params.clone(), preparation: self.preparation.clone(), learnt, memory }
    }

    fn tables(&self) -> Vec<(String, Table<'_>)> {
        let mut tables = Vec::new();
        if let Some(learnt) = &self.learnt {
            let weights = Array2::from_shape_fn((2, learnt.mean.len()), |(part, i)| {
                [learnt.alpha[i], learnt.mean[i]][part]
            });
            tables.push(("centers".to_string(), CowArray::from(learnt.centers.rows.view())));
            tables.push(("relevant".into(), CowArray::from(learnt.raw.mapv(f64::from))));
            tables.push(("weights".into(), CowArray::from(weights)));
            tables.push(("covariance".into(), CowArray::from(learnt.covariance.view())));
            tables.push(("witnesses".into(), CowArray::from(learnt.witnesses.view())));
        }
        if let Some(memory) = &self.memory {
            tables.extend(memory.tables().map(|(name, table)| (name.to_string(), CowArray::from(table))));
        }
        tables
    }

    fn restore(facts: RegressorFacts, table: Tables<'_>) -> Result<Self> {
        let RegressorFacts { params, preparation, learnt, memory } = facts;
        params.rules().map_err(|wrong| malformed("params", wrong.to_string()))?;
        preparation.check().map_err(|detail| malformed("preparation", detail))?;
        let learnt = learnt.map(|facts| restore_learnt(facts, &params, &preparation, table)).transpose()?;
        let n_relevant = learnt.as_ref().map_or(0, |learnt| learnt.raw.nrows());
        let n_features = preparation.n_features();
        let memory =
            memory.map(|facts| Memory::restore(facts, table, n_features, None, n_relevant)).transpose()?;
        Ok(Self { params, preparation, learnt, memory })
    }
}

fn restore_learnt(
    facts: LearntFacts,
    params: &RvmParams,
    preparation: &Preparation,
    table: Tables<'_>,
) -> Result<Learnt> {
    let width = preparation.width();
    let LearntFacts { lengths, bias, noise, scale, spread, weight, log_evidence } = facts;
    let is_positive = |v: &f64| *v > 0.0 && v.is_finite() && *v < 1e150;
    let is_length = lengths.len() == 1 || lengths.len() == width;
    if !is_length || !lengths.iter().chain([&noise, &scale, &spread, &weight]).all(is_positive) {
        return Err(malformed("facts", "lengths and variances do not fit the columns or are not above 0"));
    }
    let rows = finite(table, "centers")?;
    let raw = table("relevant")?;
    let weights = finite(table, "weights")?;
    let covariance = finite(table, "covariance")?;
    let witnesses = finite(table, "witnesses")?;
    let n = rows.nrows() + usize::from(bias.is_some());
    let fits = rows.ncols() == width
        && raw.dim() == (rows.nrows(), preparation.n_features())
        && raw.iter().all(|v| !v.is_infinite() && !(*v as f32).is_infinite())
        && weights.dim() == (2, n)
        && weights.row(0).iter().all(|a| *a > 0.0)
        && covariance.dim() == (n, n)
        && witnesses.ncols() == width
        && bias.is_none_or(|place| place + 1 == n);
    if !fits {
        return Err(malformed("centers", "rows, weights and covariances do not fit together"));
    }
    Ok(Learnt {
        basis: Basis::new(params.kernel, lengths),
        centers: Centers { rows, bias },
        raw: raw.mapv(|v| v as f32),
        alpha: weights.row(0).to_vec(),
        mean: Array1::from(weights.index_axis(Axis(0), 1).to_vec()),
        covariance,
        noise,
        scale,
        spread,
        witnesses,
        weight,
        log_evidence,
    })
}

pub(crate) fn finite(table: Tables<'_>, name: &str) -> Result<Array2<f64>> {
    let found = table(name)?.as_standard_layout().into_owned();
    if found.iter().all(|v| v.is_finite() && v.abs() < 1e150) {
        return Ok(found);
    }
    Err(malformed(name, "numbers that are not finite"))
}

pub(crate) fn malformed(part: &str, detail: impl Into<String>) -> Error {
    Error::model(ModelProblem::Part { part: part.into(), detail: detail.into() })
}

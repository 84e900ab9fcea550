//! What a model file holds of a classifier.

use hedgerow_core::{Params as _, Result};
use hedgerow_gp::Saved;
use hedgerow_gp::calibration::Calibration;
use hedgerow_gp::prepare::Preparation;
use hedgerow_gp::refit::{Refit, RefitFacts};
use ndarray::{Array2, CowArray, Ix2};
use serde::{Deserialize, Serialize};

use super::combine::Combination;
use super::shared::Shared;
use super::{Learnt, Machine, RvmClassifier};
use crate::basis::Basis;
use crate::memory::{Memory, MemoryFacts};
use crate::params::{MultiClass, RvmParams};
use crate::regressor::{finite, malformed};

/// What is not a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClassifierFacts {
    params: RvmParams,
    n_classes: usize,
    preparation: Preparation,
    learnt: Option<LearntFacts>,
    memory: Option<MemoryFacts>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct LearntFacts {
    lengths: Vec<f64>,
    combination: Combination,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared: Option<SharedFacts>,
    log_evidence: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SharedFacts {
    scores: RefitFacts,
    calibration: Calibration,
}

type Table<'a> = CowArray<'a, f64, Ix2>;
type Tables<'a> = &'a mut dyn FnMut(&str) -> Result<Array2<f64>>;

impl Saved for RvmClassifier {
    type Facts = ClassifierFacts;

    fn facts(&self) -> ClassifierFacts {
        let learnt = self.learnt.as_ref().map(|learnt| LearntFacts {
            lengths: learnt.basis.lengths.clone(),
            combination: learnt.combination.clone(),
            shared: learnt.shared.as_ref().map(|shared| SharedFacts {
                scores: shared.scores.facts(),
                calibration: shared.calibration.clone(),
            }),
            log_evidence: if learnt.log_evidence.is_finite() { learnt.log_evidence } else { 0.0 },
        });
        ClassifierFacts {
            params: self.params.clone(),
            n_classes: self.n_classes,
            preparation: self.preparation.clone(),
            learnt,
            memory: self.memory.as_ref().map(|memory| memory.facts.clone()),
        }
    }

    fn tables(&self) -> Vec<(String, Table<'_>)> {
        let mut tables = Vec::new();
        if let Some(learnt) = &self.learnt {
            tables.push(("rows".to_string(), CowArray::from(learnt.rows.view())));
            tables.push(("relevant".into(), CowArray::from(learnt.raw.mapv(f64::from))));
            for (m, machine) in learnt.machines.iter().enumerate() {
                let value = |(part, i): (usize, usize)| {
                    [machine.columns[i] as f64, machine.alpha[i], machine.mean[i]][part]
                };
                let table = Array2::from_shape_fn((3, machine.columns.len()), value);
                tables.push((name(m), CowArray::from(table)));
            }
        }
        if let Some(shared) = self.learnt.as_ref().and_then(|learnt| learnt.shared.as_ref()) {
            tables.push(("shared.weights".into(), CowArray::from(shared.scores.weights.view())));
            let alpha = ndarray::ArrayView1::from(&shared.alpha).insert_axis(ndarray::Axis(0));
            tables.push(("shared.precisions".into(), CowArray::from(alpha)));
        }
        if let Some(memory) = &self.memory {
            tables.extend(memory.tables().map(|(name, table)| (name.to_string(), CowArray::from(table))));
        }
        tables
    }

    fn restore(facts: ClassifierFacts, table: Tables<'_>) -> Result<Self> {
        let ClassifierFacts { params, n_classes, preparation, learnt, memory } = facts;
        params.rules().map_err(|wrong| malformed("params", wrong.to_string()))?;
        preparation.check().map_err(|detail| malformed("preparation", detail))?;
        let learnt =
            learnt.map(|facts| restore_learnt(facts, &params, &preparation, n_classes, table)).transpose()?;
        let n_relevant = learnt.as_ref().map_or(0, |learnt| learnt.rows.nrows());
        let n_features = preparation.n_features();
        let memory = memory
            .map(|facts| Memory::restore(facts, table, n_features, Some(n_classes), n_relevant))
            .transpose()?;
        Ok(Self { params, n_classes, preparation, learnt, memory })
    }
}

fn restore_learnt(
    facts: LearntFacts,
    params: &RvmParams,
    preparation: &Preparation,
    n_classes: usize,
    table: Tables<'_>,
) -> Result<Learnt> {
    let LearntFacts { lengths, combination, shared, log_evidence } = facts;
    let width = preparation.width();
    let is_length = lengths.len() == 1 || lengths.len() == width;
    let are_positive = lengths.iter().all(|l| *l > 0.0 && *l < 1e150);
    if !is_length || !are_positive || !combination.is_valid(n_classes) || !log_evidence.is_finite() {
        return Err(malformed("facts", "lengths and classes do not fit together"));
    }
    let rows = finite(table, "rows")?;
    let raw = table("relevant")?;
    let fits = rows.ncols() == width
        && raw.dim() == (rows.nrows(), preparation.n_features())
        && raw.iter().all(|v| !v.is_infinite() && !(*v as f32).is_infinite());
    if !fits {
        return Err(malformed(
            "rows",
            format!("expected rows of {width} columns, and the same in the table's own"),
        ));
    }
    let mut machines = Vec::with_capacity(combination.n_machines().min(1 << 16));
    for m in 0..combination.n_machines() {
        let found = finite(table, &name(m))?;
        let n = rows.nrows();
        let is_column = |v: &f64| *v >= 0.0 && v.fract() == 0.0 && *v <= n as f64;
        let fits = found.nrows() == 3
            && found.row(0).iter().all(is_column)
            && found.row(0).windows(2).into_iter().all(|pair| pair[0] < pair[1])
            && found.row(1).iter().all(|a| *a > 0.0)
            && found.row(2).iter().all(|w| w.abs() < 1e100);
        if !fits {
            return Err(malformed(&name(m), "expected columns in order, precisions above 0, and weights"));
        }
        machines.push(Machine {
            columns: found.row(0).iter().map(|v| *v as usize).collect(),
            alpha: found.row(1).to_vec(),
            mean: found.row(2).to_vec(),
        });
    }
    let basis = Basis::new(params.kernel, lengths);
    let restored = |SharedFacts { scores, calibration }: SharedFacts| {
        let weights = table("shared.weights")?;
        // A class that came after the last look has no weights yet.
        let n_known = weights.ncols();
        if n_known > n_classes || !calibration.is_valid() || calibration.curves.len() != n_known {
            return Err(malformed("shared.weights", "weights, curves and classes do not fit together"));
        }
        let scores = Refit::restore(scores, weights, (rows.nrows(), n_known))
            .map_err(|detail| malformed("shared.weights", detail))?;
        let alpha = finite(table, "shared.precisions")?;
        if alpha.dim() != (1, rows.nrows()) || !alpha.iter().all(|a| *a > 0.0) {
            return Err(malformed("shared.precisions", "expected a precision above 0 for each relevant row"));
        }
        Ok(Shared { scores, alpha: alpha.row(0).to_vec(), calibration })
    };
    if (combination.how == MultiClass::Shared && combination.known.len() > 2) != shared.is_some() {
        return Err(malformed("facts", "a shared regression is missing, or one too many"));
    }
    let shared = shared.map(restored).transpose()?;
    Ok(Learnt { basis, rows, raw: raw.mapv(|v| v as f32), machines, combination, shared, log_evidence })
}

fn name(machine: usize) -> String {
    format!("machine.{machine}")
}

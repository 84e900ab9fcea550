//! What a model file holds of a classifier.

use hedgerow_core::{ClassId, Error, Features, ModelProblem, Params as _, Result};
use ndarray::{Array2, CowArray, Ix2};
use serde::{Deserialize, Serialize};

use super::classifier::IvmClassifier;
use super::learnt::{Learnt, Sites};
use super::params::IvmParams;
use super::retained::RetainedRows;
use crate::calibration::Calibration;
use crate::prepare::Preparation;
use crate::refit::{Refit, RefitFacts};
use crate::saved::Saved;

/// What is not a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IvmFacts {
    params: IvmParams,
    n_classes: usize,
    preparation: Preparation,
    learnt: Option<LearntFacts>,
    #[serde(rename = "memory")]
    retained: Option<RetainedFacts>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct LearntFacts {
    kernel: [f64; 2],
    /// Of each class, where classes have their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    class_kernels: Vec<[f64; 2]>,
    /// The bias of each one-vs-rest classifier, where there is one.
    biases: Vec<Option<f64>>,
    refit: Option<RefitFacts>,
    calibration: Calibration,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct RetainedFacts {
    n_seen: u64,
    #[serde(rename = "look_at")]
    next_training: u64,
    tuned_at: u64,
    counts: Vec<u64>,
}

type Table<'a> = CowArray<'a, f64, Ix2>;
type Tables<'a> = &'a mut dyn FnMut(&str) -> Result<Array2<f64>>;

impl Saved for IvmClassifier {
    type Facts = IvmFacts;

    fn facts(&self) -> IvmFacts {
        let learnt = self.learnt.as_ref().map(|learnt| LearntFacts {
            kernel: learnt.kernel,
            class_kernels: learnt.class_kernels.clone(),
            biases: learnt.sites.iter().map(|sites| sites.as_ref().map(|sites| sites.bias)).collect(),
            refit: learnt.refit.as_ref().map(Refit::facts),
            calibration: learnt.calibration.clone(),
        });
        let retained = self.retained.as_ref().map(|retained| RetainedFacts {
            n_seen: retained.n_seen,
            next_training: retained.next_training,
            tuned_at: retained.tuned_at,
            counts: retained.counts.clone(),
        });
        IvmFacts {
            params: self.params.clone(),
            n_classes: self.n_classes,
            preparation: self.preparation.clone(),
            learnt,
            retained,
        }
    }

    fn tables(&self) -> Vec<(String, Table<'_>)> {
        let mut tables = Vec::new();
        let mut add = |name: &str, table: Array2<f64>| tables.push((name.to_string(), CowArray::from(table)));
        if let Some(learnt) = &self.learnt {
            add("rows", learnt.rows.mapv(f64::from));
            for (class, sites) in learnt.sites.iter().enumerate() {
                let Some(Sites { active, means, precisions, .. }) = sites else { continue };
                let value = |(part, i): (usize, usize)| [active[i] as f64, means[i], precisions[i]][part];
                add(&site_name(class), Array2::from_shape_fn((3, active.len()), value));
            }
            if let Some(refit) = &learnt.refit {
                add("weights", refit.weights.clone());
            }
        }
        if let Some(retained) = &self.retained {
            add("memory.features", retained.features.to_array(0..retained.n_rows()).mapv(f64::from));
            let value =
                |(part, i): (usize, usize)| [f64::from(retained.labels[i].0), retained.gains[i]][part];
            add("memory.rows", Array2::from_shape_fn((2, retained.n_rows()), value));
        }
        tables
    }

    fn restore(facts: IvmFacts, table: Tables<'_>) -> Result<Self> {
        let IvmFacts { params, n_classes, preparation, learnt, retained } = facts;
        params.rules().map_err(|wrong| malformed("params", wrong.to_string()))?;
        preparation.check().map_err(|detail| malformed("preparation", detail))?;
        let learnt = learnt.map(|facts| restore_learnt(facts, &preparation, &params, n_classes, table));
        let retained =
            retained.map(|facts| restore_retained(&facts, preparation.n_features(), n_classes, table));
        Ok(Self {
            params,
            n_classes,
            preparation,
            learnt: learnt.transpose()?,
            retained: retained.transpose()?,
        })
    }
}

fn restore_learnt(
    facts: LearntFacts,
    preparation: &Preparation,
    params: &IvmParams,
    n_classes: usize,
    table: Tables<'_>,
) -> Result<Learnt> {
    let LearntFacts { kernel, class_kernels, biases, refit, calibration } = facts;
    let rows = table("rows")?;
    let n_known = biases.len();
    let is_kernel = kernel.iter().chain(class_kernels.iter().flatten()).all(|v| *v > 0.0 && v.is_finite())
        && class_kernels.len() <= n_known;
    let is_calibration = calibration.is_valid() && calibration.curves.len() == n_known;
    if !is_kernel
        || !is_calibration
        || n_known > n_classes
        || !is_finite(&rows)
        || rows.ncols() != preparation.width()
    {
        return Err(malformed("facts", "kernel, calibration, classes and rows do not fit together"));
    }
    let mut sites = Vec::with_capacity(n_known);
    for (class, bias) in biases.into_iter().enumerate() {
        let Some(bias) = bias else {
            sites.push(None);
            continue;
        };
        let name = site_name(class);
        let found = table(&name)?;
        let is_row = |v: &f64| *v >= 0.0 && v.fract() == 0.0 && *v < rows.nrows() as f64;
        let fits = found.nrows() == 3
            && bias.is_finite()
            && is_finite(&found)
            && found.row(0).iter().all(is_row)
            && found.row(2).iter().all(|v| *v > 0.0);
        if !fits {
            return Err(malformed(&name, "expected rows, means and precisions above 0"));
        }
        let active = found.row(0).iter().map(|v| *v as usize).collect();
        sites.push(Some(Sites {
            active,
            means: found.row(1).to_vec(),
            precisions: found.row(2).to_vec(),
            bias,
        }));
    }
    let restored = |facts| {
        let found = Refit::restore(facts, table("weights")?, (rows.nrows(), n_known));
        found.map_err(|detail| malformed("weights", detail))
    };
    let refit = refit.map(restored).transpose()?;
    let rows = rows.mapv(|v| v as f32);
    let mut learnt =
        Learnt { kernel, class_kernels, rows, sites, posteriors: Vec::new(), refit, calibration };
    learnt.build_posteriors(params.noise_variance, &hedgerow_core::Par::sequential())?;
    Ok(learnt)
}

fn restore_retained(
    facts: &RetainedFacts,
    n_features: usize,
    n_classes: usize,
    table: Tables<'_>,
) -> Result<RetainedRows> {
    let features = table("memory.features")?;
    let rows = table("memory.rows")?;
    let is_class = |v: &f64| *v >= 0.0 && v.fract() == 0.0 && *v < n_classes as f64;
    let fits = features.ncols() == n_features
        && rows.dim() == (2, features.nrows())
        && rows.row(0).iter().all(is_class)
        && rows.row(1).iter().all(|v| *v >= 0.0 && v.is_finite())
        && features.iter().all(|v| !v.is_infinite())
        && facts.next_training > facts.n_seen
        && facts.next_training - facts.n_seen <= 1 << 20
        && facts.n_seen < 1 << 60
        && facts.tuned_at <= facts.n_seen
        && facts.counts.len() <= n_classes
        && facts.counts.iter().all(|count| *count <= facts.n_seen)
        && facts.n_seen >= features.nrows() as u64;
    if !fits {
        return Err(malformed("memory", "rows, labels and counts do not fit together"));
    }
    Ok(RetainedRows {
        features: Features::from_view(features.mapv(|v| v as f32).view()),
        labels: rows.row(0).iter().map(|v| ClassId(*v as u32)).collect(),
        gains: rows.row(1).to_vec(),
        n_seen: facts.n_seen,
        next_training: facts.next_training,
        tuned_at: facts.tuned_at,
        counts: facts.counts.clone(),
    })
}

fn site_name(class: usize) -> String {
    format!("sites.{class}")
}

fn is_finite(table: &Array2<f64>) -> bool {
    table.iter().all(|v| v.is_finite() && v.abs() < 1e30)
}

fn malformed(part: &str, detail: impl Into<String>) -> Error {
    Error::model(ModelProblem::Part { part: part.into(), detail: detail.into() })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, Classifier as _, OnlineModel as _, Par, Rows, Silent, Training};

    use super::*;

    fn copy(model: &IvmClassifier) -> Result<IvmClassifier> {
        let tables: BTreeMap<String, Array2<f64>> =
            model.tables().into_iter().map(|(name, table)| (name, table.into_owned())).collect();
        IvmClassifier::restore(model.facts(), &mut |name| {
            tables.get(name).cloned().ok_or_else(|| malformed(name, "missing"))
        })
    }

    #[test]
    fn a_copy_answers_and_goes_on_learning_like_the_original() {
        let par = Par::new(2).unwrap();
        let budget = Budget::open();
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let data = blobs(400, 3, 3, 1);
        let x = data.features.to_array(0..400);
        for refit in [true, false] {
            let params = IvmParams { n_active: 12, max_rows: 150, refit, ..IvmParams::default() };
            let mut model = IvmClassifier::new(&data.schema, &params.check().unwrap()).unwrap();
            assert_eq!(copy(&model).unwrap(), model);
            let learn = |model: &mut IvmClassifier, range: std::ops::Range<usize>| {
                let rows = Rows::new(x.slice(ndarray::s![range.clone(), ..]), &data.labels()[range], None);
                model.learn(&data.schema, rows, &training).unwrap().predictions
            };
            learn(&mut model, 0..230);
            let mut copied = copy(&model).unwrap();
            assert_eq!(copied, model);
            assert_eq!(learn(&mut copied, 230..400), learn(&mut model, 230..400));
            assert_eq!(copied, model);
            let frozen = copy(&model.clone().frozen()).unwrap();
            assert!(!frozen.can_learn());
            let predictions = |m: &IvmClassifier| m.predict_proba(x.view(), &par).unwrap();
            assert_eq!(predictions(&frozen), predictions(&model));
        }
    }

    #[test]
    fn what_does_not_fit_together_is_an_error() {
        let par = Par::sequential();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let params = IvmParams { n_active: 8, ..IvmParams::default() }.check().unwrap();
        let model = IvmClassifier::fit(&blobs(90, 2, 3, 1), &params, &training).unwrap().classifier;
        for wrong in ["rows", "sites.1", "weights", "memory.features", "memory.rows"] {
            for change in 0..3 {
                let restored = IvmClassifier::restore(model.facts(), &mut |name| {
                    let found = model.tables().into_iter().find(|(known, _)| known == name);
                    let mut table = found.ok_or_else(|| malformed(name, "missing"))?.1.into_owned();
                    if name == wrong {
                        match change {
                            0 => table = Array2::zeros((table.nrows(), table.ncols() + 1)),
                            1 => table[(0, 0)] = f64::INFINITY,
                            _ => table = Array2::from_elem((1, 1), -1.0),
                        }
                    }
                    Ok(table)
                });
                assert!(restored.is_err(), "{wrong} {change}");
            }
        }
    }
}

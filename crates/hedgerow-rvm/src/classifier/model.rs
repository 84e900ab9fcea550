//! A fitted classifier: binary RVMs over common relevance vectors, or one regression that all classes share.

use hedgerow_core::{Par, Predictor, Quality, Result, StopReason, TargetSlice, Targets};
use hedgerow_gp::calibration::Calibration;
use hedgerow_gp::refit::{Refit, RefitFacts};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, CowArray, s};
use serde::{Deserialize, Serialize};

use super::binaries::{Binaries, BinaryWeights, train_binaries};
use super::combine::Combination;
use super::shared::{Shared, SharedTrained, SharedTrainer, train_shared};
use crate::basis::Basis;
use crate::params::{MultiClass, RvmParams};
use crate::retained::RetainedRows;
use crate::rvm::{FittedModel, NamedTable, Outcome, Rvm, Tables, finite, malformed};
use crate::target::SparseFit;
use crate::training_log::TrainingLog;
use crate::training_rows::{TrainingRows, labels};

/// A fitted classifier.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassificationModel {
    /// The relevance vectors of any class, as the kernel sees them.
    centers: Array2<f64>,
    binaries: Vec<BinaryWeights>,
    combination: Combination,
    /// None where binary RVMs predict.
    pub(super) shared: Option<Shared>,
}

/// What is not a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClassificationFacts {
    combination: Combination,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared: Option<SharedFacts>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SharedFacts {
    scores: RefitFacts,
    calibration: Calibration,
}

impl ClassificationModel {
    /// The probabilities of rows as the kernel sees them.
    pub(super) fn predict(&self, basis: &Basis, x: ArrayView2<'_, f64>, n_classes: usize) -> Array2<f64> {
        if let Some(shared) = &self.shared {
            return shared.predict(basis, x, self.centers.view(), n_classes, &self.combination.known);
        }
        let n = self.centers.nrows();
        let mut weights = Array2::zeros((n + 1, self.binaries.len()));
        for (binary, mut column) in self.binaries.iter().zip(weights.columns_mut()) {
            binary.columns.iter().zip(&binary.mean).for_each(|(&place, w)| column[place] = *w);
        }
        let mut scores = if n == 0 {
            Array2::zeros((x.nrows(), self.binaries.len()))
        } else {
            let known = basis.kernel.cross(x, self.centers.view(), &Par::sequential());
            known.dot(&weights.slice(s![..n, ..]))
        };
        scores += &weights.row(n);
        self.combination.probabilities(&scores, n_classes)
    }

    /// Relevance vectors of each binary RVM, or of the shared regression.
    pub(super) fn n_relevant_each(&self) -> Vec<usize> {
        let n = self.centers.nrows();
        if self.shared.is_some() {
            return vec![n];
        }
        self.binaries.iter().map(|b| b.columns.iter().filter(|c| **c < n).count()).collect()
    }

    fn of_shared(rows: &TrainingRows<'_>, basis: Basis, trained: SharedTrained) -> Outcome<Self> {
        let SharedTrained { shared, relevant, log_evidence, stop, log, .. } = trained;
        let model = Self {
            centers: rows.x.select(Axis(0), &relevant),
            binaries: Vec::new(),
            combination: Combination::new(rows),
            shared: Some(shared),
        };
        Outcome { model, basis, relevant, log_evidence, stop, log }
    }

    fn of_binaries(rows: &TrainingRows<'_>, basis: &Basis, binaries: Binaries) -> Outcome<Self> {
        let n = rows.x.nrows();
        let relevant = binaries.union(n);
        let model = Self {
            centers: rows.x.select(Axis(0), &relevant),
            binaries: binaries.over(&relevant, n),
            combination: binaries.combination,
            shared: None,
        };
        Outcome {
            model,
            basis: basis.clone(),
            log_evidence: binaries.trained.iter().map(|trained| trained.fit.log_evidence).sum(),
            stop: binaries.trained.first().map_or(StopReason::Done, |trained| trained.stop),
            log: TrainingLog::new(&binaries.trained, n),
            relevant,
        }
    }
}

impl FittedModel for ClassificationModel {
    type Facts = ClassificationFacts;
    const IS_OF_CLASSES: bool = true;
    const CENTERS: &'static str = "rows";

    fn predictor(rvm: &Rvm<Self>) -> Predictor<'_> {
        Predictor::Classifier(rvm)
    }

    fn numbers(targets: TargetSlice<'_>) -> Vec<f64> {
        targets.labels().iter().map(|label| f64::from(label.0)).collect()
    }

    fn targets(numbers: &[f64]) -> Targets {
        labels(numbers).into()
    }

    fn fit(rows: &TrainingRows<'_>, basis: &Basis, par: &Par) -> Result<Outcome<Self>> {
        if Combination::new(rows).how == MultiClass::Shared {
            let (basis, trained) = train_shared(rows, basis, par)?;
            return Ok(Self::of_shared(rows, basis, trained));
        }
        let binaries = train_binaries(rows, basis, &[], None, par)?;
        Ok(Self::of_binaries(rows, basis, binaries))
    }

    fn update(
        &self,
        rows: &TrainingRows<'_>,
        basis: &Basis,
        relevant: &[usize],
        first_new: usize,
        par: &Par,
    ) -> Result<Outcome<Self>> {
        let n = rows.x.nrows();
        if let Some(shared) = &self.shared {
            let most = rows.params.most_relevant(n, self.combination.known.len());
            let new: Vec<usize> = (first_new..n).collect();
            let trained = SharedTrainer::new(rows, basis, most, par).update(relevant, shared, &new)?;
            return Ok(Self::of_shared(rows, basis.clone(), trained));
        }
        let design = rows.design(&basis.kernel);
        let start = |binary: &BinaryWeights| {
            let columns = binary.columns.iter().map(|&c| relevant.get(c).copied().unwrap_or(n)).collect();
            let mean = Array1::from(binary.mean.clone());
            SparseFit::known(design, columns, &binary.alpha, mean, par)
        };
        let from: Vec<SparseFit> = self.binaries.iter().map(start).collect();
        let binaries = train_binaries(rows, basis, &from, Some(first_new), par)?;
        Ok(Self::of_binaries(rows, basis, binaries))
    }

    /// Classes have come, or enough rows for a shared regression.
    fn must_refit(&self, rows: &RetainedRows, params: &RvmParams) -> bool {
        let n_known = rows.facts.counts.iter().filter(|n| **n > 0).count();
        let how = params.multi_class.with(rows.n_rows(), n_known);
        self.combination.known.len() != n_known || (n_known > 2 && self.combination.how != how)
    }

    /// The log likelihood.
    fn score(&self, basis: &Basis, x: ArrayView2<'_, f64>, targets: &[f64], n_classes: usize) -> f64 {
        let quality = Quality::new(&self.predict(basis, x, n_classes), &labels(targets));
        -quality.log_loss * quality.rows as f64
    }

    fn centers(&self) -> &Array2<f64> {
        &self.centers
    }

    fn bytes(&self) -> usize {
        let of_binaries: usize = self.binaries.iter().map(|binary| 24 * binary.columns.len()).sum();
        of_binaries + self.shared.as_ref().map_or(0, Shared::bytes)
    }

    fn facts(&self) -> ClassificationFacts {
        let of = |shared: &Shared| SharedFacts {
            scores: shared.scores.facts(),
            calibration: shared.calibration.clone(),
        };
        ClassificationFacts { combination: self.combination.clone(), shared: self.shared.as_ref().map(of) }
    }

    fn tables(&self) -> Vec<NamedTable<'_>> {
        let mut tables: Vec<NamedTable<'_>> = Vec::new();
        for (number, binary) in self.binaries.iter().enumerate() {
            let value =
                |(part, i): (usize, usize)| [binary.columns[i] as f64, binary.alpha[i], binary.mean[i]][part];
            let table = Array2::from_shape_fn((3, binary.columns.len()), value);
            tables.push((table_name(number), CowArray::from(table)));
        }
        if let Some(shared) = &self.shared {
            tables.push(("shared.weights".into(), CowArray::from(shared.scores.weights.view())));
            let alpha = ArrayView1::from(&shared.alpha).insert_axis(Axis(0));
            tables.push(("shared.precisions".into(), CowArray::from(alpha)));
        }
        tables
    }

    fn restore(
        facts: ClassificationFacts,
        centers: Array2<f64>,
        tables: Tables<'_>,
        n_classes: usize,
    ) -> Result<Self> {
        let ClassificationFacts { combination, shared } = facts;
        let is_shared = combination.how == MultiClass::Shared && combination.known.len() > 2;
        if !combination.is_valid(n_classes) || is_shared != shared.is_some() {
            return Err(malformed("facts", "classes and a shared regression do not fit together"));
        }
        let n = centers.nrows();
        let binaries = (0..combination.n_binaries())
            .map(|number| restore_binary(&table_name(number), n, tables))
            .collect::<Result<_>>()?;
        let shared = shared.map(|facts| restore_shared(facts, n, n_classes, tables)).transpose()?;
        Ok(Self { centers, binaries, combination, shared })
    }
}

fn restore_binary(name: &str, n: usize, tables: Tables<'_>) -> Result<BinaryWeights> {
    let found = finite(tables, name)?;
    let is_column = |v: &f64| *v >= 0.0 && v.fract() == 0.0 && *v <= n as f64;
    let fits = found.nrows() == 3
        && found.row(0).iter().all(is_column)
        && found.row(0).windows(2).into_iter().all(|pair| pair[0] < pair[1])
        && found.row(1).iter().all(|a| *a > 0.0)
        && found.row(2).iter().all(|w| w.abs() < 1e100);
    if !fits {
        return Err(malformed(name, "expected columns in order, precisions above 0, and weights"));
    }
    Ok(BinaryWeights {
        columns: found.row(0).iter().map(|v| *v as usize).collect(),
        alpha: found.row(1).to_vec(),
        mean: found.row(2).to_vec(),
    })
}

fn restore_shared(facts: SharedFacts, n: usize, n_classes: usize, tables: Tables<'_>) -> Result<Shared> {
    let SharedFacts { scores, calibration } = facts;
    let weights = tables("shared.weights")?;
    // A class that came after the last update has no weights yet.
    let n_known = weights.ncols();
    if n_known > n_classes || !calibration.is_valid() || calibration.curves.len() != n_known {
        return Err(malformed("shared.weights", "weights, curves and classes do not fit together"));
    }
    let scores = Refit::restore(scores, weights, (n, n_known))
        .map_err(|detail| malformed("shared.weights", detail))?;
    let alpha = finite(tables, "shared.precisions")?;
    if alpha.dim() != (1, n) || !alpha.iter().all(|a| *a > 0.0) {
        return Err(malformed("shared.precisions", "expected a precision above 0 for each relevant row"));
    }
    Ok(Shared { scores, alpha: alpha.row(0).to_vec(), calibration })
}

/// The table of a binary RVM. The name is part of the file format.
fn table_name(number: usize) -> String {
    format!("machine.{number}")
}

//! A fitted classifier: binary RVMs over common relevance vectors, or one regression that all classes share.

use hedgerow_core::saved::array;
use hedgerow_core::{ClassQuality, Par, Predictor, Result, StopReason, Task};
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use super::binaries::{Binaries, BinaryWeights, train_binaries};
use super::combine::Combination;
use super::shared::{Shared, SharedTrainer, train_shared};
use crate::basis::Basis;
use crate::params::{MultiClass, RvmParams};
use crate::rvm::{FittedModel, Outcome, Rvm};
use crate::state::OnlineState;
use crate::target::SparseFit;
use crate::training_log::TrainingLog;
use crate::training_rows::{TrainingRows, labels};

/// A fitted classifier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassificationModel {
    /// The relevance vectors of any class, as the kernel sees them.
    #[serde(with = "array")]
    centers: Array2<f64>,
    binaries: Vec<BinaryWeights>,
    combination: Combination,
    /// None where binary RVMs predict.
    pub(super) shared: Option<Shared>,
}

impl ClassificationModel {
    /// The probabilities of rows as the kernel sees them.
    pub(super) fn predict(&self, basis: &Basis, x: ArrayView2<'_, f64>, n_classes: usize) -> Array2<f64> {
        if let Some(shared) = &self.shared {
            let covariances = basis.kernel.cross(x, self.centers.view(), &Par::sequential());
            let is_known = |class: usize| self.combination.known.binary_search(&class).is_ok();
            return shared.scores.predict(&covariances, &shared.calibration, n_classes, is_known);
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

    fn of_shared(rows: &TrainingRows<'_>, trained: Outcome<Shared>) -> Outcome<Self> {
        let Outcome { model: shared, basis, relevant, log_evidence, stop, log, validation } = trained;
        let (centers, combination) = (rows.x.select(Axis(0), &relevant), Combination::new(rows));
        let model = Self { centers, binaries: Vec::new(), combination, shared: Some(shared) };
        Outcome { model, basis, relevant, log_evidence, stop, log, validation }
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
            validation: None,
            relevant,
        }
    }
}

impl FittedModel for ClassificationModel {
    const TASK: Task = Task::Classification;

    fn predictor(rvm: &Rvm<Self>) -> Predictor<'_> {
        Predictor::Classifier(rvm)
    }

    fn fit(rows: &TrainingRows<'_>, basis: &Basis) -> Result<Outcome<Self>> {
        if Combination::new(rows).how == MultiClass::Shared {
            return Ok(Self::of_shared(rows, train_shared(rows, basis)?));
        }
        let binaries = train_binaries(rows, basis, &[], None)?;
        Ok(Self::of_binaries(rows, basis, binaries))
    }

    fn update(&self, rows: &TrainingRows<'_>, basis: &Basis, online: &OnlineState) -> Result<Outcome<Self>> {
        let (n, relevant, first_new) = (rows.x.nrows(), online.relevant(), online.first_new());
        if let Some(shared) = &self.shared {
            let most = rows.params.most_relevant(n, self.combination.known.len());
            let new: Vec<usize> = (first_new..n).collect();
            let (trained, _) = SharedTrainer::new(rows, basis, most).update(&relevant, shared, &new)?;
            return Ok(Self::of_shared(rows, trained));
        }
        let context = rows.context(&basis.kernel);
        let start = |binary: &BinaryWeights| {
            let columns = binary.columns.iter().map(|&c| relevant.get(c).copied().unwrap_or(n)).collect();
            let mean = Array1::from(binary.mean.clone());
            SparseFit::known(&context, columns, &binary.alpha, mean)
        };
        let from: Vec<SparseFit> = self.binaries.iter().map(start).collect();
        let binaries = train_binaries(rows, basis, &from, Some(first_new))?;
        Ok(Self::of_binaries(rows, basis, binaries))
    }

    /// Classes have come, or enough rows for a shared regression.
    fn must_refit(&self, online: &OnlineState, params: &RvmParams) -> bool {
        let n_known = online.counts.iter().filter(|n| **n > 0).count();
        let how = params.multi_class.with(online.rows.len(), n_known);
        self.combination.known.len() != n_known || (n_known > 2 && self.combination.how != how)
    }

    /// The log likelihood.
    fn score(&self, basis: &Basis, x: ArrayView2<'_, f64>, targets: &[f64], n_classes: usize) -> f64 {
        let quality = ClassQuality::new(&self.predict(basis, x, n_classes), &labels(targets));
        -quality.log_loss * quality.rows as f64
    }

    fn centers(&self) -> &Array2<f64> {
        &self.centers
    }

    fn bytes(&self) -> usize {
        let of_binaries: usize = self.binaries.iter().map(|binary| 24 * binary.columns.len()).sum();
        of_binaries + self.shared.as_ref().map_or(0, Shared::bytes)
    }

    fn is_valid(&self, n_classes: usize) -> bool {
        let (n, combination) = (self.centers.nrows(), &self.combination);
        let is_shared = combination.how == MultiClass::Shared && combination.known.len() > 2;
        combination.is_valid(n_classes)
            && is_shared == self.shared.is_some()
            && self.shared.as_ref().is_none_or(|shared| shared.is_valid(n, n_classes))
            && self.binaries.len() == combination.n_binaries()
            && self.binaries.iter().all(|binary| binary.is_valid(n))
    }
}

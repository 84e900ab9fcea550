//! A classifier of machines that may still be on their way.

use std::collections::BTreeMap;
use std::sync::Arc;

use hedgerow_core::{Dataset, Par, Result};
use ndarray::{Array1, Array2, Axis};

use super::super::classifier::{IvmClassifier, Learnt};
use super::super::memory::Memory;
use super::super::second::second_pass;
use super::super::task::Sites;
use super::super::train::SecondPass;
use super::super::{Ivm, IvmParams};
use super::{Fit, Ground, Part};
use crate::calibration::Calibration;
use crate::kernel::Kernel;

/// Where the scores of a classifier come from.
#[derive(Debug, Clone, Copy)]
pub enum Scores<'a> {
    /// From the machines themselves.
    Machines,
    /// From a regression on the rows that were active in machines when it began.
    Fit(&'a Fit),
}

/// A classifier, and what it says about the rows that judge.
#[derive(Debug, Clone)]
pub struct Assembled {
    /// The classifier.
    pub classifier: IvmClassifier,
    /// A probability a class for each row that judges; they have calibrated it.
    pub proba: Array2<f64>,
    /// The active rows, and what each is worth.
    pub ratings: Vec<(usize, f64)>,
}

/// Makes a classifier of what machines have come to; a class without a machine is not known yet. It learns no more, until [`IvmClassifier::remembering`].
pub fn assemble(
    ground: &Ground,
    params: &IvmParams,
    kernel: [f64; 2],
    parts: &[Option<Arc<Part>>],
    scores: Scores<'_>,
) -> Result<Assembled> {
    let n_judges = ground.judges().len();
    let mut table = Array2::from_elem((n_judges, ground.n_classes), f64::NEG_INFINITY);
    let parts = match scores {
        Scores::Machines => parts,
        Scores::Fit(fit) => &fit.parts[..],
    };
    let mut union: Vec<usize> = parts.iter().flatten().flat_map(|part| part.active.clone()).collect();
    union.sort_unstable();
    union.dedup();
    let mut params = params.clone();
    let mut refit = None;
    match scores {
        Scores::Machines => {
            params.refit = false;
            for part in parts.iter().flatten().filter(|part| part.scores.len() == n_judges) {
                table.column_mut(part.class).iter_mut().zip(&part.scores).for_each(|(to, from)| *to = *from);
            }
        }
        Scores::Fit(fit) => {
            params.refit = true;
            table.assign(&fit.scores(ground));
            refit = Some(fit.refit.clone());
        }
    }
    let par = Par::sequential();
    let calibration = Calibration::fit(&table, &ground.judge_labels(), &par);
    let place = |row: &usize| union.binary_search(row).unwrap_or(0);
    let as_kernel = Kernel::rbf(kernel[0]).scaled(kernel[1]) + Kernel::white(params.noise_variance);
    let mut sites: Vec<Option<Sites>> = vec![None; ground.n_classes];
    let mut machines: Vec<Option<Ivm>> = Vec::new();
    machines.resize_with(if refit.is_some() { 0 } else { ground.n_classes }, || None);
    for part in parts.iter().flatten() {
        let x = ground.x.select(Axis(0), &part.active).mapv(f64::from);
        let mut means = Array1::from(part.means.clone());
        let mut precisions = Array1::from(part.precisions.clone());
        if params.second_pass != SecondPass::None {
            let sign = |&row: &usize| if ground.labels[row].index() == part.class { 1.0 } else { -1.0 };
            let labels: Vec<f64> = part.active.iter().map(sign).collect();
            let covariance = as_kernel.matrix(x.view(), &par);
            let start = (means, precisions);
            (means, precisions) = second_pass(params.second_pass, &covariance, &labels, part.bias, start)?;
        }
        sites[part.class] = Some(Sites {
            active: part.active.iter().map(place).collect(),
            means: means.to_vec(),
            precisions: precisions.to_vec(),
            bias: part.bias,
        });
        if refit.is_none() {
            machines[part.class] = Some(Ivm::new(as_kernel.clone(), part.bias, x, means, precisions, &par)?);
        }
    }
    let mut proba = table;
    for mut row in proba.rows_mut() {
        row.as_slice_mut().into_iter().for_each(|row| calibration.apply(row));
    }
    let mut ratings: BTreeMap<usize, f64> = BTreeMap::new();
    for part in parts.iter().flatten() {
        for (&row, &rating) in part.active.iter().zip(&part.ratings) {
            let most = ratings.entry(row).or_default();
            *most = most.max(rating);
        }
    }
    let rows = ground.x.select(Axis(0), &union);
    let learnt = Learnt { kernel, class_kernels: Vec::new(), rows, sites, machines, refit, calibration };
    let classifier = IvmClassifier {
        params,
        n_classes: ground.n_classes,
        preparation: ground.preparation.clone(),
        learnt: (!union.is_empty()).then_some(learnt),
        memory: None,
    };
    Ok(Assembled { classifier, proba, ratings: ratings.into_iter().collect() })
}

impl IvmClassifier {
    /// The same with all rows that there were, so that it can go on learning; `ratings` are its active rows and what each is worth.
    #[must_use]
    pub fn remembering(self, data: &Dataset, ratings: &[(usize, f64)]) -> Self {
        let mut of_rows = vec![0.0; data.n_rows()];
        for &(row, rating) in ratings.iter().filter(|(row, _)| *row < data.n_rows()) {
            of_rows[row] = rating;
        }
        let memory = Memory::of(data, of_rows, self.params.pool_rows(), self.params.seed);
        Self { memory: Some(memory), ..self }
    }
}

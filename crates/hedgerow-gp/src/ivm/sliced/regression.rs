//! Scores fitted to all rows, a block of them at a time.

use std::sync::Arc;

use hedgerow_core::{Par, Result};
use ndarray::{Array2, Axis, s};

use super::{Ground, Part};
use crate::calibration::Calibration;
use crate::kernel::Kernel;
use crate::refit::{BLOCK, RIDGES, Refit, Sums};

/// A regression on its way.
pub struct Regression {
    parts: Vec<Option<Arc<Part>>>,
    sums: Sums<f32>,
    /// Rows to learn, and how many of them are done.
    rows: Vec<usize>,
    n_done: usize,
    y: Array2<f64>,
}

/// A regression that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The machines whose active rows it is made of.
    pub parts: Vec<Option<Arc<Part>>>,
    pub(super) refit: Refit,
    union: Array2<f32>,
    has_machine: Vec<bool>,
}

impl Regression {
    /// Begins with the rows that are active in machines now, and the length scale of their kernel.
    pub fn new(ground: &Ground, parts: Vec<Option<Arc<Part>>>, length: f64, par: &Par) -> Result<Self> {
        let mut union: Vec<usize> = parts.iter().flatten().flat_map(|part| part.active.clone()).collect();
        union.sort_unstable();
        union.dedup();
        let rows: Vec<usize> = (0..ground.n_rows()).filter(|row| !ground.is_judge[*row]).collect();
        let n = rows.len().max(1) as f64;
        let sign = |(place, class): (usize, usize)| {
            if ground.labels[rows[place]].index() == class { 1.0 } else { -1.0 }
        };
        let mut y = Array2::from_shape_fn((rows.len(), ground.n_classes), sign);
        for mut column in y.columns_mut() {
            let mean = column.sum() / n;
            column.iter_mut().for_each(|v| *v -= mean);
        }
        let active = ground.x.select(Axis(0), &union);
        let sums = Sums::new(length, Kernel::rbf(length), active, ground.n_classes, par)?;
        Ok(Self { parts, sums, rows, n_done: 0, y })
    }

    /// Rows taken in, and rows in all.
    pub fn progress(&self) -> [usize; 2] {
        [self.n_done, self.rows.len()]
    }

    /// Rows that it is made of.
    pub fn n_active(&self) -> usize {
        self.sums.n_active()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        24 * self.sums.n_active().pow(2) + 8 * self.y.len()
    }

    /// Takes in a block of rows. Says whether all are in.
    pub fn slice(&mut self, ground: &Ground, par: &Par) -> bool {
        let end = (self.n_done + BLOCK).min(self.rows.len());
        let x = ground.x.select(Axis(0), &self.rows[self.n_done..end]);
        self.sums.add(x.view(), self.y.slice(s![self.n_done..end, ..]), par);
        self.n_done = end;
        end == self.rows.len()
    }

    /// The regression with the ridge that suits the rows that judge best.
    pub fn finish(self, ground: &Ground, par: &Par) -> Result<Fit> {
        let labels = ground.judge_labels();
        let has_machine = ground.has_machine().to_vec();
        let judges = ground.x.select(Axis(0), ground.judges());
        let union = self.sums.rows().clone();
        let mut best: Option<(f64, Refit)> = None;
        for ridge in RIDGES {
            let refit = self.sums.solve(ridge, self.y.view(), judges.view(), par)?;
            let scores = scores(&refit, &union, &judges, &has_machine, par);
            let loss = Calibration::fit(&scores, &labels, par).loss(&scores, &labels);
            if best.as_ref().is_none_or(|(least, _)| loss < *least) {
                best = Some((loss, refit));
            }
        }
        let Some((_, refit)) = best else { return Err(hedgerow_core::Error::NoRows) };
        Ok(Fit { parts: self.parts, refit, union, has_machine })
    }
}

impl Fit {
    /// Scores of the rows that judge.
    pub(super) fn scores(&self, ground: &Ground) -> Array2<f64> {
        let judges = ground.x.select(Axis(0), ground.judges());
        let mut scores = scores(&self.refit, &self.union, &judges, &self.has_machine, &Par::sequential());
        if scores.ncols() < ground.n_classes {
            let mut wide = Array2::from_elem((scores.nrows(), ground.n_classes), f64::NEG_INFINITY);
            wide.slice_mut(s![.., ..scores.ncols()]).assign(&scores);
            scores = wide;
        }
        scores
    }
}

fn scores(
    refit: &Refit,
    union: &Array2<f32>,
    x: &Array2<f32>,
    has_machine: &[bool],
    par: &Par,
) -> Array2<f64> {
    let (x, union) = (x.mapv(f64::from), union.mapv(f64::from));
    let mut scores = Kernel::rbf(refit.length).cross(x.view(), union.view(), par).dot(&refit.weights);
    let n_classes = scores.ncols();
    for (class, mut column) in scores.columns_mut().into_iter().enumerate() {
        if !has_machine[class] && n_classes != 2 {
            column.fill(f64::NEG_INFINITY);
        }
    }
    scores
}

//! Noise variance, calibration and blend, chosen by out-of-fold predictions.
//!
//! Two rows that a tree was grown from share a leaf because their labels are the same: even leave-one-out predictions with the kernel of their forest
//! would be too sure. So a fold is held out from the forest too.

use hedgerow_core::blend::{Blend, Pair};
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::scores::mask_unknown;
use hedgerow_core::{
    Budget, Calibration, ClassId, Classifier as _, Dataset, Effort, Error, Folds, OutOfSample, Par,
    Params as _, Result, Silent, Source, StopReason, Task, Training,
};
use hedgerow_forest::{Forest, ForestParams};
use ndarray::{Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use super::limits::half;
use super::params::ForestKernelParams;
use super::run::ENOUGH_TREES;
use super::training::KernelTraining;

/// Noise variances that are tried, the largest first: the solution for each is the first guess for the next.
const NOISES: [f64; 3] = [10.0, 1.0, 0.1];
/// Folds, as many of which are held out as have enough rows together.
pub(super) const FOLDS: usize = 5;
const ENOUGH_ROWS: usize = 1500;
/// Held-out rows of a fold, at most.
const MOST_ROWS: usize = 5000;

/// What out-of-fold predictions have chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct KernelChoice {
    /// The noise variance.
    pub(super) noise: f64,
    /// From scores to probabilities.
    pub(super) calibration: Calibration,
    /// How far forest and GP are trusted; none if the GP predicts alone.
    pub(super) blend: Option<Blend>,
}

/// A choice, and the out-of-fold predictions of models made by it.
#[derive(Debug, Clone)]
pub(super) struct Validated {
    pub(super) choice: KernelChoice,
    pub(super) predictions: OutOfSample,
}

/// A forest and a GP over it for each fold, in training.
pub(super) struct FoldTraining {
    data: Dataset,
    params: ForestKernelParams,
    /// Half of the time and memory there was when it began.
    budget: Budget,
    noises: Vec<f64>,
    folds: Folds,
    n_folds: usize,
    /// The fold whose turn it is, and its rows and forest once that is grown.
    next: usize,
    grown: Option<(Dataset, Forest)>,
    /// Of held-out rows: their places, predictions of the forests, and scores for each noise variance, fold by fold.
    rows: Vec<usize>,
    of_forests: Vec<Array2<f64>>,
    scores: Vec<Vec<Array2<f64>>>,
}

impl KernelChoice {
    pub(super) fn is_valid(&self) -> bool {
        self.noise.is_finite()
            && self.noise > 0.0
            && self.calibration.is_valid()
            && self.blend.is_none_or(Blend::is_valid)
    }

    /// The scores of a row become its probabilities, blended with the prediction of the forest.
    pub(super) fn apply(&self, scores: &mut [f64], forest: &[f64]) {
        self.calibration.apply(scores);
        if let Some(blend) = self.blend {
            let calibrated = scores.to_vec();
            blend.apply(forest, &calibrated, scores);
        }
    }
}

impl FoldTraining {
    pub(super) fn new(data: &Dataset, params: &ForestKernelParams, budget: &Budget) -> Self {
        let noises = if params.noise_variance > 0.0 { vec![params.noise_variance] } else { NOISES.to_vec() };
        let folds = Folds::new(data.n_rows(), FOLDS, Rng::new(params.seed, Purpose::Validation, 1));
        Self {
            data: data.clone(),
            params: params.clone(),
            budget: half(budget),
            n_folds: folds.n_with(ENOUGH_ROWS),
            folds,
            next: 0,
            grown: None,
            rows: Vec::new(),
            of_forests: Vec::new(),
            scores: vec![Vec::new(); noises.len()],
            noises,
        }
    }

    /// Folds that are done, and all.
    pub(super) fn progress(&self) -> [usize; 2] {
        [self.next, self.n_folds]
    }

    pub(super) fn is_done(&self) -> bool {
        self.next >= self.n_folds
    }

    /// Goes on: the forest of a fold, or the training on it, or all. Once the time is up, the folds so far are all. A piece of work that was
    /// interrupted is repeated by the next call.
    pub(super) fn train(&mut self, effort: Effort, training: &Training<'_>) -> Result<()> {
        let budget = Budget { stop: training.budget.stop.clone(), ..self.budget.clone() };
        let par = training.par.until(&budget.stop);
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        while !self.is_done() {
            let outcome = if self.grown.is_none() { self.grow(&training) } else { self.score(&training) };
            let spent = budget.spent();
            if spent == Some(StopReason::Interrupted) {
                return Err(Error::Interrupted);
            }
            outcome?;
            if spent.is_some() {
                self.next = self.n_folds;
            }
            if effort == Effort::Slice {
                break;
            }
        }
        Ok(())
    }

    /// Grows the forest of the next fold.
    fn grow(&mut self, training: &Training<'_>) -> Result<()> {
        let [kept, _] = self.folds.cut(self.next);
        let kept = self.data.select(&kept);
        if kept.check_trainable(Task::Classification).is_err() {
            self.next += 1;
            return Ok(());
        }
        let mut params: ForestParams = self.params.forest_params();
        if params.n_trees == 0 && params.patience == 0 {
            params.n_trees = ENOUGH_TREES;
        }
        let forest = Forest::fit(&kept, &params.check()?, training)?.forest;
        // A forest that was cut short does not stand for the whole one.
        self.grown = training.budget.spent().is_none().then_some((kept, forest));
        Ok(())
    }

    /// Trains on the forest of a fold, and scores its held-out rows.
    fn score(&mut self, training: &Training<'_>) -> Result<()> {
        let Some((kept, forest)) = &self.grown else { return Ok(()) };
        let mut gp = KernelTraining::new(forest, kept, &self.params, &self.noises, training)?;
        gp.train(Effort::Whole, training)?;
        let [_, held_out] = self.folds.cut(self.next);
        let step = held_out.len().div_ceil(MOST_ROWS).max(1);
        let held_out: Vec<usize> = held_out.into_iter().step_by(step).collect();
        let x = self.data.features.select(&held_out).to_array(0..held_out.len());
        let of_forest = forest.predict_proba(x.view(), training.par)?;
        let scores: Result<Vec<_>> =
            gp.found.iter().map(|scores| scores.of(forest, x.view(), training.par)).collect();
        for (mut scores, all) in scores?.into_iter().zip(&mut self.scores) {
            mask_unknown(&mut scores, kept.labels());
            all.push(scores);
        }
        self.of_forests.push(of_forest);
        self.rows.extend(held_out);
        self.grown = None;
        self.next += 1;
        Ok(())
    }

    /// The noise variance of least log-loss, with its calibration and blend; none if no fold was scored.
    pub(super) fn choose(self, par: &Par) -> Option<Validated> {
        let labels: Vec<ClassId> = self.rows.iter().map(|&row| self.data.labels()[row]).collect();
        let mut best: Option<(f64, OutOfSample, KernelChoice)> = None;
        for (noise, scores) in self.noises.into_iter().zip(&self.scores) {
            let (rows, scores) = (self.rows.clone(), stacked(scores)?);
            let scores = OutOfSample::new(Source::OutOfFold, rows, scores, labels.clone());
            let calibration = scores.calibration(par);
            let loss = calibration.loss(&scores.values, &labels);
            if best.as_ref().is_none_or(|(least, ..)| loss < *least) {
                best = Some((loss, scores, KernelChoice { noise, calibration, blend: None }));
            }
        }
        let (_, mut predictions, mut choice) = best?;
        let of_forests = stacked(&self.of_forests)?;
        if self.params.blend {
            let rows = predictions.values.rows().into_iter().zip(of_forests.rows()).zip(&labels);
            let calibrated = |((scores, forest), class): ((ArrayView1<'_, f64>, ArrayView1<'_, f64>), &_)| {
                let mut gp = scores.to_vec();
                choice.calibration.apply(&mut gp);
                Pair { forest: forest.to_vec(), gp, class: *class }
            };
            choice.blend = Some(Blend::fit(&rows.map(calibrated).collect::<Vec<_>>()));
        }
        let mut of_forests = of_forests.rows().into_iter();
        predictions.map_rows(|row| {
            let forest = of_forests.next().map(|forest| forest.to_vec()).unwrap_or_default();
            row.as_slice_mut().into_iter().for_each(|row| choice.apply(row, &forest));
        });
        Some(Validated { choice, predictions })
    }
}

/// Tables one below the other; none if there are none.
pub(super) fn stacked(tables: &[Array2<f64>]) -> Option<Array2<f64>> {
    let views: Vec<_> = tables.iter().map(|table| table.view()).collect();
    ndarray::concatenate(Axis(0), &views).ok()
}

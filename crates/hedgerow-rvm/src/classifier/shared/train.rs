//! How many rows a shared regression needs, and which: it grows by the rows with the largest errors, twice as many each time, for as
//! long as validation rows are predicted better.

use std::time::Instant;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Calibration, ClassId, OutOfSample, Result, Source, StopReason};
use hedgerow_gp::refit::{Refit, centered_signs, nearness};
use ndarray::{Array2, ArrayView1, Axis};

use super::Shared;
use crate::basis::Basis;
use crate::diagnostics::notes_of_shared;
use crate::evidence::{Precisions, Quadratic, Rules};
use crate::params::RvmParams;
use crate::rvm::Outcome;
use crate::target::{Context, Profile, timed};
use crate::train::{TracePoint, united};
use crate::training_log::TrainingLog;
use crate::training_rows::{TrainingRows, counts, labels};

/// One row of so many is a validation row.
const VALIDATION: usize = 5;
/// Validation rows, at most: more would not change the curves.
const MOST_VALIDATION: usize = 8192;
/// Rows of each class to begin with.
const FIRST_ROWS: usize = 8;
/// The least number of rows that are added.
const LEAST_ROWS: usize = 16;
/// Steps that raise the evidence, when rows were added.
const STEPS: usize = 12;
/// A column whose weights explain less than this share of the targets' energy is dropped.
const LEAST_SHARE: f64 = 1e-6;
/// More rows must lessen the loss at least to this part of what it was;
const GAIN: f64 = 0.98;
/// and after so many times that they did not, no more are tried.
const PATIENCE: usize = 2;

/// Rows of several classes, and how far a regression of them may grow.
pub(crate) struct SharedTrainer<'a> {
    rows: &'a TrainingRows<'a>,
    labels: Vec<ClassId>,
    /// Training rows of each class.
    counts: Vec<u64>,
    basis: &'a Basis,
    /// Relevant rows, at most.
    most: usize,
}

/// A trained regression with the log evidence of the rows that do not validate, and the log-loss of those that do, before they were fitted
/// too.
pub(crate) type SharedTrained = (Outcome<Shared>, f64);

/// One regression on some columns.
struct Round {
    columns: Vec<usize>,
    at: Precisions,
    /// The sums of these columns over the rows that were fitted.
    problem: Quadratic,
    calibration: Calibration,
    /// The scores of the validation rows.
    validation: OutOfSample,
    loss: f64,
    log_evidence: f64,
}

/// The rows that are fitted, and those that validate.
struct Split {
    fitted: Vec<usize>,
    validation: Vec<usize>,
    /// Some fitted rows of each class.
    first: Vec<usize>,
}

impl<'a> SharedTrainer<'a> {
    pub(crate) fn new(rows: &'a TrainingRows<'a>, basis: &'a Basis, most: usize) -> Self {
        let counts = counts(rows.targets, rows.n_classes);
        Self { rows, labels: labels(rows.targets), counts, basis, most }
    }

    fn context(&self) -> Context<'_> {
        self.rows.context(&self.basis.kernel)
    }

    /// Trains a regression from nothing.
    pub(crate) fn train(&self) -> Result<SharedTrained> {
        let split = self.split(&[]);
        self.run(&split, extended(&[], &[], &split.first, 10.0), PATIENCE)
    }

    /// One round with rows that are relevant, with their precisions, and others.
    pub(crate) fn update(
        &self,
        relevant: &[usize],
        before: &Shared,
        others: &[usize],
    ) -> Result<SharedTrained> {
        let start = extended(relevant, &before.alpha, others, 1.0 / before.scores.ridge);
        self.run(&self.split(&start.0), start, 0)
    }

    fn run(&self, split: &Split, start: Extended, patience: usize) -> Result<SharedTrained> {
        let begun = Instant::now();
        let targets = centered_signs(&self.labels, self.rows.n_classes);
        let of_fitted = targets.select(Axis(0), &split.fitted);
        let (mut columns, mut start) = start;
        let mut best: Option<Round> = None;
        let mut log = TrainingLog::default();
        let mut n_tried = columns.len();
        let mut n_idle = 0;
        let mut is_cut = false;
        let stop = loop {
            let found = self.round(split, &of_fitted, (&columns, &start), &mut log.profile);
            if self.rows.par.is_stopped() {
                break StopReason::Interrupted;
            }
            let (round, errors, error) = found?;
            let n = round.columns.len();
            log.trace.push(TracePoint {
                seconds: begun.elapsed().as_secs_f64(),
                n_tried,
                n_relevant: n,
                error,
                log_evidence: round.log_evidence,
            });
            let is_better = best.as_ref().is_none_or(|best| round.loss < GAIN * best.loss);
            n_idle = if is_better { 0 } else { n_idle + 1 };
            let (old, at) = (round.columns.clone(), round.at.clone());
            if is_better {
                best = Some(round);
            }
            if let Some(reason) = self.rows.budget.spent() {
                break reason;
            }
            // A tenth of the limit is not worth another round.
            is_cut = is_better && n_tried > FIRST_ROWS * self.rows.n_classes && 10 * n >= 9 * self.most;
            if n_idle >= patience || 10 * n >= 9 * self.most {
                break StopReason::Done;
            }
            let added = worst(&errors, split, &old, n.max(LEAST_ROWS).min(self.most - n));
            if added.is_empty() {
                break StopReason::Done;
            }
            n_tried += added.len();
            (columns, start) = extended(&old, &at.alpha, &added, at.beta);
        };
        let Some(best) = best else { return Err(self.rows.budget.no_model()) };
        let mut validation = best.validation.clone();
        validation.calibrate(&best.calibration, self.rows.par);
        let validation = Some(validation);
        let (loss, log_evidence, relevant) = (best.loss, best.log_evidence, best.columns.clone());
        let model = self.finish(best, split, &targets, &mut log.profile)?;
        log.notes = notes_of_shared(relevant.len(), self.labels.len(), is_cut);
        let basis = self.basis.clone();
        Ok((Outcome { model, basis, relevant, log_evidence, stop, log, validation }, loss))
    }

    /// Raises the evidence of some columns and validates. Returns also the squared error of each fitted row, and the share of validation
    /// rows that are predicted wrongly.
    fn round(
        &self,
        split: &Split,
        targets: &Array2<f64>,
        (columns, start): (&[usize], &Precisions),
        profile: &mut Profile,
    ) -> Result<(Round, Vec<f64>, f64)> {
        let Context { design, params, budget, par } = self.context();
        let table = timed(&mut profile.sums, || design.table(columns, Some(&split.fitted), par));
        let problem =
            timed(&mut profile.sums, || self.problem(table.sums(None, targets.view(), par), targets));
        let steps =
            RvmParams { max_iterations: STEPS, tolerance: 0.0, hyper_priors: [0.0; 4], ..params.clone() };
        let (noise_every, water_mark, least_share) = (1, 0, LEAST_SHARE);
        let rules = Rules { params: &steps, noise_every, water_mark, least_share, budget, par };
        let mut found = timed(&mut profile.solve, || problem.solve(start.clone(), &rules))?;
        if found.active.len() > self.most {
            // Rows that were added to a full set push out those that explain least.
            let places = problem.strongest(&found, self.most);
            let start = Precisions::of(&places, &found.active, &found.at.alpha, found.at.beta);
            let part = problem.narrow(&places);
            found = timed(&mut profile.solve, || part.solve(start, &rules))?;
            found.active = found.active.iter().map(|&i| places[i]).collect();
        }
        let relevant: Vec<usize> = found.active.iter().map(|&place| columns[place]).collect();
        let (fitted, scores) = timed(&mut profile.errors, || {
            let validation = design.passing(&relevant, Some(&split.validation));
            let fitted = table.narrow(&found.active);
            (fitted.multiply_all(&found.weights, par), validation.multiply_all(&found.weights, par))
        });
        let rows = split.validation.clone();
        let mut validation = OutOfSample::of_rows(Source::HeldOut, rows, scores, &self.labels);
        validation.mask_unknown(&self.labels);
        let calibration = validation.calibration(par);
        let loss = calibration.loss(&validation.values, validation.labels());
        let squared = |(y, t): (ArrayView1<'_, f64>, ArrayView1<'_, f64>)| {
            y.iter().zip(t).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let errors = fitted.rows().into_iter().zip(targets.rows()).map(squared).collect();
        let round = Round {
            columns: relevant,
            problem: problem.narrow(&found.active),
            at: found.at,
            calibration,
            loss,
            log_evidence: found.log_evidence,
            validation,
        };
        let error = 1.0 - round.validation.accuracy(None);
        Ok((round, errors, error))
    }

    /// The weights once validation rows are fitted too.
    fn finish(
        &self,
        round: Round,
        split: &Split,
        targets: &Array2<f64>,
        profile: &mut Profile,
    ) -> Result<Shared> {
        let Round { columns, at, mut problem, calibration, .. } = round;
        let Context { design, par, .. } = self.context();
        let of_validation = targets.select(Axis(0), &split.validation);
        let table = design.passing(&columns, Some(&split.validation));
        let sums = timed(&mut profile.sums, || table.sums(None, of_validation.view(), par));
        problem.add(&self.problem(sums, &of_validation));
        let (weights, _) = timed(&mut profile.solve, || problem.weights(&at, par))?;
        let near = if self.basis.name.is_of_products() {
            0.0
        } else {
            let [validation, centers] = [&split.validation, &columns].map(|r| self.rows.x.select(Axis(0), r));
            nearness(design.kernel, validation.view(), centers.view(), par)
        };
        let n = (self.labels.len() + self.rows.n_classes) as f64;
        let shares = self.counts.iter().map(|count| (*count as f64 + 1.0) / n).collect();
        let scores = Refit { weights, ridge: 1.0 / at.beta, length: self.basis.lengths[0], near, shares };
        Ok(Shared { scores, alpha: at.alpha, calibration })
    }

    fn problem(&self, (gram, moments): (Array2<f64>, Array2<f64>), targets: &Array2<f64>) -> Quadratic {
        let n_known = self.counts.iter().filter(|n| **n > 0).count();
        let energy = targets.iter().map(|t| t * t).sum();
        let (n_rows, n_targets) = (targets.nrows() as f64, n_known.max(1) as f64);
        Quadratic { gram, moments, energy, n_rows, n_targets }
    }

    /// Splits the rows of each class alike. Columns that there are already do not validate.
    fn split(&self, columns: &[usize]) -> Split {
        let n = self.labels.len();
        let mut rng = Rng::new(self.rows.params.seed, Purpose::Sample, 18);
        let mut validates = vec![false; n];
        let mut first = Vec::new();
        let share = (MOST_VALIDATION as f64 / n.max(1) as f64).min(1.0 / VALIDATION as f64);
        for mut group in self.rows.groups() {
            rng.shuffle(&mut group);
            // At least one row of each class is fitted.
            let wanted = (libm::ceil(share * group.len() as f64) as usize).min(group.len().saturating_sub(1));
            let chosen = group.iter().copied().filter(|row| columns.binary_search(row).is_err()).take(wanted);
            chosen.for_each(|row| validates[row] = true);
            first.extend(group.into_iter().filter(|row| !validates[*row]).take(FIRST_ROWS));
        }
        first.sort_unstable();
        let (validation, fitted) = (0..n).partition(|row| validates[*row]);
        Split { fitted, validation, first }
    }
}

/// Columns, in order, and where to start.
type Extended = (Vec<usize>, Precisions);

/// Columns with their precisions, and others beside them, which have the median of these.
fn extended(columns: &[usize], alpha: &[f64], others: &[usize], beta: f64) -> Extended {
    let all = united(columns, others);
    let mut known = alpha.to_vec();
    known.sort_by(f64::total_cmp);
    let usual = known.get(known.len() / 2).copied().unwrap_or(0.1);
    let start = Precisions::of(&all, columns, alpha, beta).filled(usual);
    (all, start)
}

/// The fitted rows with the largest errors that are no columns yet, in order.
fn worst(errors: &[f64], split: &Split, columns: &[usize], wanted: usize) -> Vec<usize> {
    let mut places: Vec<usize> =
        (0..errors.len()).filter(|&place| columns.binary_search(&split.fitted[place]).is_err()).collect();
    places.sort_unstable_by(|&a, &b| errors[b].total_cmp(&errors[a]).then(a.cmp(&b)));
    places.truncate(wanted);
    places.sort_unstable();
    places.into_iter().map(|place| split.fitted[place]).collect()
}

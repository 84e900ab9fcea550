//! How many rows a shared regression needs, and which: it grows by the rows with the largest errors, twice as many each time, for as
//! long as rows that it does not learn are answered better.

use std::time::Instant;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, ClassId, Error, Par, Result, StopReason};
use hedgerow_gp::calibration::Calibration;
use hedgerow_gp::refit::{Refit, nearness};
use ndarray::{Array2, ArrayView2, Axis};

use super::{Shared, counts};
use crate::basis::Basis;
use crate::design::Design;
use crate::evidence::{Several, Start};
use crate::machine::{Profile, timed};
use crate::train::TracePoint;

/// One row of so many is a judge.
const JUDGES: usize = 5;
/// Judges, at most: more would not change the curves.
const MOST_JUDGES: usize = 8192;
/// Rows of each class to begin with.
const FIRST_ROWS: usize = 8;
/// The least number of rows that are added.
const LEAST_ROWS: usize = 16;
/// Steps that raise the evidence, when rows were added.
const STEPS: usize = 12;
/// More rows must lessen the loss at least to this part of what it was;
const GAIN: f64 = 0.98;
/// and after so many times that they did not, no more are tried.
const PATIENCE: usize = 2;

/// Rows of several classes, and how far a regression may grow.
#[derive(Clone, Copy)]
pub(crate) struct Grower<'a> {
    /// As the kernel sees them.
    pub(crate) x: ArrayView2<'a, f64>,
    pub(crate) labels: &'a [ClassId],
    pub(crate) n_classes: usize,
    pub(crate) basis: &'a Basis,
    /// Relevant rows, at most.
    pub(crate) most: usize,
    pub(crate) alpha_max: f64,
    pub(crate) seed: u64,
    pub(crate) budget: &'a Budget,
    pub(crate) par: &'a Par,
}

/// What was found.
pub(crate) struct Grown {
    pub(crate) shared: Shared,
    /// The rows that are relevant, in order.
    pub(crate) relevant: Vec<usize>,
    /// The log-loss of the judges, as they were answered without having been learnt.
    pub(crate) loss: f64,
    /// The log evidence of the rows that were learnt.
    pub(crate) log_evidence: f64,
    pub(crate) trace: Vec<TracePoint>,
    pub(crate) profile: Profile,
    /// Whether more rows would probably have helped.
    pub(crate) is_cut: bool,
    pub(crate) stop: StopReason,
}

/// One regression on some rows.
struct Round {
    columns: Vec<usize>,
    alpha: Vec<f64>,
    beta: f64,
    /// What the learnt rows say about these columns.
    problem: Several,
    calibration: Calibration,
    loss: f64,
    log_evidence: f64,
}

/// Which rows are learnt, and which judge.
struct Roles {
    learnt: Vec<usize>,
    judges: Vec<usize>,
    /// Some learnt rows of each class.
    first: Vec<usize>,
}

impl Grower<'_> {
    fn design(&self) -> Design<'_> {
        Design { x: self.x.view(), kernel: &self.basis.kernel }
    }

    /// Grows a regression from nothing.
    pub(crate) fn grow(&self) -> Result<Grown> {
        let roles = self.roles(&[]);
        let alpha = vec![f64::INFINITY; roles.first.len()];
        let start = (roles.first.clone(), Start { alpha, beta: 10.0 });
        self.run(&roles, start, PATIENCE)
    }

    /// One run over rows that are relevant, with their precisions, and others that are offered.
    pub(crate) fn offer(&self, relevant: &[usize], before: &Shared, others: &[usize]) -> Result<Grown> {
        let mut columns: Vec<usize> = relevant.iter().chain(others).copied().collect();
        columns.sort_unstable();
        columns.dedup();
        let roles = self.roles(&columns);
        let of = |c: &usize| relevant.binary_search(c).map_or(f64::INFINITY, |place| before.alpha[place]);
        let start = Start { alpha: columns.iter().map(of).collect(), beta: 1.0 / before.scores.ridge };
        self.run(&roles, (columns, start), 0)
    }

    fn run(&self, roles: &Roles, start: (Vec<usize>, Start), patience: usize) -> Result<Grown> {
        let begun = Instant::now();
        let targets = self.targets();
        let of_learnt = targets.select(Axis(0), &roles.learnt);
        let (mut columns, mut start) = start;
        let mut best: Option<Round> = None;
        let (mut trace, mut profile) = (Vec::new(), Profile::default());
        let mut n_tried = columns.len();
        let mut n_idle = 0;
        let mut is_cut = false;
        let stop = loop {
            let found = self.round(roles, &of_learnt, (&columns, &start), &mut profile);
            if self.par.is_stopped() {
                break StopReason::Interrupted;
            }
            let (round, errors, share) = found?;
            trace.push(TracePoint {
                seconds: begun.elapsed().as_secs_f64(),
                n_tried,
                n_relevant: round.columns.len(),
                error: share,
                log_evidence: round.log_evidence,
            });
            let is_better = best.as_ref().is_none_or(|best| round.loss < GAIN * best.loss);
            n_idle = if is_better { 0 } else { n_idle + 1 };
            let n = round.columns.len();
            let next = (round.columns.clone(), round.alpha.clone(), round.beta);
            if is_better {
                best = Some(round);
            }
            if let Some(reason) = self.budget.spent() {
                break reason;
            }
            // A tenth of the limit is not worth another round.
            is_cut = is_better && n_tried > FIRST_ROWS * self.n_classes && 10 * n >= 9 * self.most;
            if n_idle >= patience || 10 * n >= 9 * self.most {
                break StopReason::Done;
            }
            let added = worst(&errors, roles, &next.0, n.max(LEAST_ROWS).min(self.most - n));
            if added.is_empty() {
                break StopReason::Done;
            }
            n_tried += added.len();
            let (old, alpha, beta) = next;
            columns = old.iter().chain(&added).copied().collect();
            columns.sort_unstable();
            let of = |c: &usize| old.binary_search(c).map_or(f64::INFINITY, |place| alpha[place]);
            start = Start { alpha: columns.iter().map(of).collect(), beta };
        };
        let Some(best) = best else { return Err(Error::Interrupted) };
        let (loss, log_evidence, relevant) = (best.loss, best.log_evidence, best.columns.clone());
        let shared = self.finish(best, roles, &targets, &mut profile)?;
        Ok(Grown { shared, relevant, loss, log_evidence, trace, profile, is_cut, stop })
    }

    /// Raises the evidence of some columns and asks the judges. Returns also how wrong each learnt row is answered, and the share of
    /// judges that are answered wrongly.
    fn round(
        &self,
        roles: &Roles,
        targets: &Array2<f64>,
        (columns, start): (&[usize], &Start),
        profile: &mut Profile,
    ) -> Result<(Round, Vec<f64>, f64)> {
        let design = self.design();
        let table = timed(&mut profile.sums, || design.table(columns, Some(&roles.learnt), self.par));
        let problem =
            timed(&mut profile.sums, || self.problem(table.sums_of(None, targets.view(), self.par), targets));
        let limits = (self.budget, self.par);
        let mut found = timed(&mut profile.solve, || problem.solve(start, STEPS, self.alpha_max, limits))?;
        if found.active.len() > self.most {
            // Rows that were offered beside a full set push out those that explain least.
            let places = problem.strongest(&found, self.most);
            let of =
                |place: &usize| found.active.binary_search(place).map_or(f64::INFINITY, |i| found.alpha[i]);
            let start = Start { alpha: places.iter().map(of).collect(), beta: found.beta };
            let part = problem.narrow(&places);
            found = timed(&mut profile.solve, || part.solve(&start, STEPS, self.alpha_max, limits))?;
            found.active = found.active.iter().map(|&i| places[i]).collect();
        }
        let kept: Vec<usize> = found.active.iter().map(|&place| columns[place]).collect();
        let (fitted, scores) = timed(&mut profile.errors, || {
            let fitted = table.narrow(&found.active).multiply_all(&found.weights, self.par);
            (fitted, design.passing(&kept, Some(&roles.judges)).multiply_all(&found.weights, self.par))
        });
        let labels: Vec<ClassId> = roles.judges.iter().map(|&row| self.labels[row]).collect();
        let scores = self.of_known(scores);
        let calibration = Calibration::fit(&scores, &labels, self.par);
        let loss = calibration.loss(&scores, &labels);
        let n_wrong = scores.rows().into_iter().zip(&labels).filter(|(row, label)| {
            let own = row[label.index()];
            row.iter().enumerate().any(|(class, score)| class != label.index() && *score > own)
        });
        let share = n_wrong.count() as f64 / labels.len().max(1) as f64;
        let error = |(said, wanted): (ndarray::ArrayView1<'_, f64>, ndarray::ArrayView1<'_, f64>)| {
            said.iter().zip(wanted).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let errors = fitted.rows().into_iter().zip(targets.rows()).map(error).collect();
        let round = Round {
            columns: kept,
            problem: problem.narrow(&found.active),
            alpha: found.alpha,
            beta: found.beta,
            calibration,
            loss,
            log_evidence: found.log_evidence,
        };
        Ok((round, errors, share))
    }

    /// The weights once judges are learnt too.
    fn finish(
        &self,
        round: Round,
        roles: &Roles,
        targets: &Array2<f64>,
        profile: &mut Profile,
    ) -> Result<Shared> {
        let Round { columns, alpha, beta, mut problem, calibration, .. } = round;
        let design = self.design();
        let of_judges = targets.select(Axis(0), &roles.judges);
        let sums = timed(&mut profile.sums, || {
            design.passing(&columns, Some(&roles.judges)).sums_of(None, of_judges.view(), self.par)
        });
        problem.add(&self.problem(sums, &of_judges));
        let (weights, _) = timed(&mut profile.solve, || problem.weights(&alpha, beta, self.par))?;
        let near = if self.basis.name.is_of_products() {
            0.0
        } else {
            let judges = self.x.select(Axis(0), &roles.judges);
            nearness(&self.basis.kernel, judges.view(), self.x.select(Axis(0), &columns).view(), self.par)
        };
        let counts = counts(self.labels, self.n_classes);
        let n = (self.labels.len() + self.n_classes) as f64;
        let shares = counts.iter().map(|count| (*count as f64 + 1.0) / n).collect();
        let scores = Refit { weights, ridge: 1.0 / beta, length: self.basis.lengths[0], near, shares };
        Ok(Shared { scores, alpha, calibration })
    }

    fn problem(&self, (gram, moments): (Array2<f64>, Array2<f64>), targets: &Array2<f64>) -> Several {
        let n_known = counts(self.labels, self.n_classes).iter().filter(|n| **n > 0).count();
        Several {
            gram,
            moments,
            energy: targets.iter().map(|t| t * t).sum(),
            n_rows: targets.nrows() as f64,
            n_targets: n_known.max(1) as f64,
        }
    }

    /// Labels as ±1, a column a class, less their means: far from all rows, the shares of classes are the answer.
    fn targets(&self) -> Array2<f64> {
        let sign = |(row, class): (usize, usize)| if self.labels[row].index() == class { 1.0 } else { -1.0 };
        let mut targets = Array2::from_shape_fn((self.labels.len(), self.n_classes), sign);
        for mut column in targets.columns_mut() {
            let mean = column.sum() / self.labels.len().max(1) as f64;
            column -= mean;
        }
        targets
    }

    /// Scores, with minus infinity for a class without rows.
    fn of_known(&self, mut scores: Array2<f64>) -> Array2<f64> {
        for (class, count) in counts(self.labels, self.n_classes).into_iter().enumerate() {
            if count == 0 {
                scores.column_mut(class).fill(f64::NEG_INFINITY);
            }
        }
        scores
    }

    /// Shares rows out, each class in its share. Columns that there are already do not judge.
    fn roles(&self, columns: &[usize]) -> Roles {
        let n = self.labels.len();
        let mut groups = vec![Vec::new(); self.n_classes];
        self.labels.iter().enumerate().for_each(|(row, label)| groups[label.index()].push(row));
        let mut rng = Rng::new(self.seed, Purpose::Sample, 18);
        let mut is_judge = vec![false; n];
        let mut first = Vec::new();
        let most = (MOST_JUDGES as f64 / n.max(1) as f64).min(1.0 / JUDGES as f64);
        for mut group in groups {
            rng.shuffle(&mut group);
            // Somebody must be learnt of each class.
            let wanted = (libm::ceil(most * group.len() as f64) as usize).min(group.len().saturating_sub(1));
            let judges = group.iter().copied().filter(|row| columns.binary_search(row).is_err()).take(wanted);
            judges.for_each(|row| is_judge[row] = true);
            first.extend(group.into_iter().filter(|row| !is_judge[*row]).take(FIRST_ROWS));
        }
        first.sort_unstable();
        let (judges, learnt) = (0..n).partition(|row| is_judge[*row]);
        Roles { learnt, judges, first }
    }
}

/// The learnt rows with the largest errors that are no columns yet, in order.
fn worst(errors: &[f64], roles: &Roles, columns: &[usize], wanted: usize) -> Vec<usize> {
    let mut places: Vec<usize> =
        (0..errors.len()).filter(|&place| columns.binary_search(&roles.learnt[place]).is_err()).collect();
    places.sort_unstable_by(|&a, &b| errors[b].total_cmp(&errors[a]).then(a.cmp(&b)));
    places.truncate(wanted);
    places.sort_unstable();
    places.into_iter().map(|place| roles.learnt[place]).collect()
}

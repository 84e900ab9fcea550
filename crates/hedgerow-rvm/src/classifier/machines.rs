//! The machines that several classes need.

use hedgerow_core::{Budget, ClassId, Error, Par, Result};
use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::combine::Combination;
use crate::basis::Basis;
use crate::design::Design;
use crate::machine::{Binary, Sparse, Task as _, sigmoid};
use crate::options::{Options, RowsUsed, Trainer};
use crate::params::{MultiClass, RvmParams};
use crate::search::Judge;
use crate::train::{Trained, reinsert, train};

/// Times that `softmax` goes over all classes.
const SWEEPS: usize = 3;

/// One machine of a classifier. Its columns are places among all relevant rows; the number of these is the bias.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Machine {
    pub(crate) columns: Vec<usize>,
    pub(crate) alpha: Vec<f64>,
    pub(crate) mean: Vec<f64>,
}

/// All machines, over rows.
pub(crate) struct Machines {
    pub(crate) trained: Vec<Trained>,
    pub(crate) combination: Combination,
}

impl Machines {
    /// Rows that are relevant in any machine, in order.
    pub(crate) fn union(&self, n_rows: usize) -> Vec<usize> {
        let mut rows: Vec<usize> =
            self.trained.iter().flat_map(|t| &t.model.columns).copied().filter(|c| *c < n_rows).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// The machines over relevant rows only.
    pub(crate) fn over(&self, relevant: &[usize], n_rows: usize) -> Vec<Machine> {
        let place = |column: &usize| {
            if *column == n_rows { relevant.len() } else { relevant.binary_search(column).unwrap_or(0) }
        };
        let of = |trained: &Trained| Machine {
            columns: trained.model.columns.iter().map(place).collect(),
            alpha: trained.model.alpha.clone(),
            mean: trained.model.mean.to_vec(),
        };
        self.trained.iter().map(of).collect()
    }
}

/// Rows of several classes.
#[derive(Clone, Copy)]
pub(crate) struct ClassTask<'a> {
    /// As the kernel sees them.
    pub(crate) x: ArrayView2<'a, f64>,
    pub(crate) labels: &'a [ClassId],
    pub(crate) n_classes: usize,
    pub(crate) basis: &'a Basis,
    pub(crate) params: &'a RvmParams,
    pub(crate) options: &'a Options,
    pub(crate) budget: &'a Budget,
}

impl ClassTask<'_> {
    /// How the machines' answers are put together.
    pub(crate) fn combination(&self) -> Combination {
        let mut counts = vec![0_usize; self.n_classes];
        self.labels.iter().for_each(|label| counts[label.index()] += 1);
        let known: Vec<usize> = (0..self.n_classes).filter(|c| counts[*c] > 0).collect();
        Combination { how: self.params.multi_class, known, unknown: 1.0 / (self.labels.len() as f64 + 2.0) }
    }

    /// Trains all machines.
    pub(crate) fn train(&self, par: &Par) -> Result<Machines> {
        self.train_from(&[], par, |task, from, _, par| train(task, from, self.budget, par))
    }

    /// The same from models that there are, if there are any, by a given kind of run. It is told which of the rows a machine sees, where
    /// these are not all.
    pub(crate) fn train_from(
        &self,
        from: &[Sparse],
        par: &Par,
        run: impl Fn(&Binary<'_>, Option<&Sparse>, Option<&[usize]>, &Par) -> Result<Trained> + Sync,
    ) -> Result<Machines> {
        let combination = self.combination();
        let known = &combination.known;
        let n = combination.n_machines();
        // A budget that is spent before the first machine stands still gives one, of few rows.
        let run = |task: &Binary<'_>, from: Option<&Sparse>, rows: Option<&[usize]>, par: &Par| {
            let mut trained = run(task, from, rows, par)?;
            if trained.model.columns.is_empty() && self.budget.spent().is_some() {
                if par.is_stopped() {
                    return Err(Error::Interrupted);
                }
                trained = in_haste(task, par)?;
            }
            if self.params.reinsert {
                let model = trained.model.clone();
                trained.model = reinsert(task, model, self.budget, par, &mut trained.profile)?;
            }
            Ok(trained)
        };
        let trained: Vec<Trained> = match (n, combination.how) {
            (0, _) => Vec::new(),
            (1, _) => vec![run(&self.binary(&self.is(known[1]), None), from.first(), None, par)?],
            (_, MultiClass::Softmax) => self.softmax(known, from, par, run)?,
            (_, MultiClass::Rest) => {
                let each: Vec<Result<Trained>> = par.map(n, |m| {
                    let is_one = self.is(known[m]);
                    run(&self.binary(&is_one, None), from.get(m), None, &par.alone())
                });
                each.into_iter().collect::<Result<_>>()?
            }
            (_, MultiClass::Pairs) => {
                let pairs: Vec<(usize, usize)> = (0..known.len())
                    .flat_map(|a| (a + 1..known.len()).map(move |b| (a, b)))
                    .map(|(a, b)| (known[a], known[b]))
                    .collect();
                let each: Vec<Result<Trained>> =
                    par.map(n, |m| self.pair(pairs[m], from.get(m), &par.alone(), &run));
                each.into_iter().collect::<Result<_>>()?
            }
        };
        Ok(Machines { trained, combination })
    }

    /// The log-loss of some rows as the machines would answer them without their labels, nearly: the peak without a row's own factor.
    pub(crate) fn loss_without_each(&self, machines: &Machines, rows: &[usize], par: &Par) -> f64 {
        let Machines { trained, combination } = machines;
        let (how, known) = (combination.how, &combination.known);
        let pairs: Vec<(usize, usize)> =
            (0..known.len()).flat_map(|a| (a + 1..known.len()).map(move |b| (a, b))).collect();
        let x = self.x.select(Axis(0), rows);
        let design = Design { x: self.x.view(), kernel: &self.basis.kernel };
        let columns = par.map(trained.len(), |m| {
            if par.is_stopped() {
                // Nobody waits: machines and regression are both there, and either will do.
                return Array1::zeros(rows.len());
            }
            let model = &trained[m].model;
            let phi = design.centers(&model.columns).values(&self.basis.kernel, x.view(), &Par::sequential());
            let mut scores = phi.dot(&model.mean);
            if model.covariance.nrows() == model.columns.len() {
                let spread = phi.dot(&model.covariance);
                for (i, score) in scores.iter_mut().enumerate() {
                    let class = self.labels[rows[i]].index();
                    // What the machine was told about the row, if anything.
                    let told = match how {
                        MultiClass::Pairs if class == known[pairs[m].0] => Some(0.0),
                        MultiClass::Pairs if class == known[pairs[m].1] => Some(1.0),
                        MultiClass::Pairs => None,
                        _ => Some(f64::from(u8::from(class == known[m]))),
                    };
                    if let Some(told) = told {
                        let (p, variance) = (sigmoid(*score), spread.row(i).dot(&phi.row(i)));
                        *score -= variance / (1.0 - p * (1.0 - p) * variance).max(1e-6) * (told - p);
                    }
                }
            }
            scores
        });
        let scores = Array2::from_shape_fn((rows.len(), trained.len()), |(i, m)| columns[m][i]);
        let proba = combination.probabilities(&scores, self.n_classes);
        let losses = rows.iter().zip(proba.rows());
        let losses = losses.map(|(&row, p)| -libm::log(p[self.labels[row].index()].max(1e-15)));
        losses.sum::<f64>() / rows.len().max(1) as f64
    }

    fn is(&self, class: usize) -> Vec<bool> {
        self.labels.iter().map(|label| label.index() == class).collect()
    }

    fn binary<'b>(&'b self, is_one: &'b [bool], offsets: Option<&'b [f64]>) -> Binary<'b> {
        let design = Design { x: self.x.view(), kernel: &self.basis.kernel };
        Binary { design, is_one, offsets, options: self.options }
    }

    /// One class against another, on the rows of both.
    fn pair(
        &self,
        (a, b): (usize, usize),
        from: Option<&Sparse>,
        par: &Par,
        run: &impl Fn(&Binary<'_>, Option<&Sparse>, Option<&[usize]>, &Par) -> Result<Trained>,
    ) -> Result<Trained> {
        let n = self.labels.len();
        let rows: Vec<usize> = (0..n).filter(|&row| [a, b].contains(&self.labels[row].index())).collect();
        let is_one: Vec<bool> = rows.iter().map(|&row| self.labels[row].index() == b).collect();
        let x = self.x.select(Axis(0), &rows);
        let design = Design { x: x.view(), kernel: &self.basis.kernel };
        let task = Binary { design, is_one: &is_one, offsets: None, options: self.options };
        let inner = from.and_then(|from| {
            let place = |&c: &usize| if c == n { Some(rows.len()) } else { rows.binary_search(&c).ok() };
            let columns = from.columns.iter().map(place).collect::<Option<Vec<usize>>>()?;
            let scores = rows.iter().map(|&row| from.scores[row]).collect();
            Some(Sparse { columns, scores, ..from.clone() })
        });
        let mut trained = run(&task, inner.as_ref(), Some(&rows), par)?;
        let back = |&c: &usize| if c == rows.len() { n } else { rows[c] };
        trained.model.columns = trained.model.columns.iter().map(back).collect();
        Ok(trained)
    }

    /// All classes together: for one class, the others' scores being given, the softmax is a logistic function with an offset,
    /// so classes take turns.
    fn softmax(
        &self,
        known: &[usize],
        from: &[Sparse],
        par: &Par,
        run: impl Fn(&Binary<'_>, Option<&Sparse>, Option<&[usize]>, &Par) -> Result<Trained>,
    ) -> Result<Vec<Trained>> {
        let (n, k) = (self.labels.len(), known.len());
        let mut scores = Array2::zeros((n, k));
        from.iter().zip(scores.columns_mut()).for_each(|(model, mut column)| {
            column.iter_mut().zip(&model.scores).for_each(|(to, from)| *to = *from);
        });
        let mut trained: Vec<Option<Trained>> = vec![None; k];
        for sweep in 0..SWEEPS {
            for class in 0..k {
                let offsets: Vec<f64> = scores
                    .rows()
                    .into_iter()
                    .map(|row| {
                        let others = || row.iter().enumerate().filter(|(j, _)| *j != class).map(|(_, v)| *v);
                        let most = others().fold(f64::NEG_INFINITY, f64::max);
                        -(most + libm::log(others().map(|v| libm::exp(v - most)).sum::<f64>()))
                    })
                    .collect();
                let is_one = self.is(known[class]);
                let task = self.binary(&is_one, Some(&offsets));
                let before = trained[class].as_ref().map(|t: &Trained| &t.model).or(from.get(class));
                let next = run(&task, before, None, par)?;
                scores.column_mut(class).assign(&Array1::from(next.model.scores.clone()));
                trained[class] = Some(next);
            }
            if sweep > 0 && self.budget.spent().is_some() {
                break;
            }
        }
        Ok(trained.into_iter().flatten().collect())
    }
}

/// A machine of some of the rows.
fn in_haste(task: &Binary<'_>, par: &Par) -> Result<Trained> {
    const MOST_ROWS: usize = 200;
    let groups = task.groups();
    let n = task.design.n_rows();
    let mut rows: Vec<usize> = Vec::new();
    for group in &groups {
        let step = group.len().div_ceil(MOST_ROWS / 2).max(1);
        rows.extend(group.iter().step_by(step));
    }
    rows.sort_unstable();
    let x = task.design.x.select(Axis(0), &rows);
    let is_one: Vec<bool> = rows.iter().map(|&row| task.is_one[row]).collect();
    let options =
        Options { trainer: Trainer::Whole, rows: RowsUsed::All, max_iterations: 100, ..task.options.clone() };
    let design = Design { x: x.view(), kernel: task.design.kernel };
    let offsets: Option<Vec<f64>> = task.offsets.map(|all| rows.iter().map(|&row| all[row]).collect());
    let small = Binary { design, is_one: &is_one, offsets: offsets.as_deref(), options: &options };
    let mut trained = train(&small, None, &Budget::open(), par)?;
    let place = |&column: &usize| if column == rows.len() { n } else { rows[column] };
    trained.model.columns = trained.model.columns.iter().map(place).collect();
    trained.model.scores = task.design.multiply(&trained.model.columns, &trained.model.mean, par);
    trained.stop = hedgerow_core::StopReason::Time;
    Ok(trained)
}

/// Judges lengths for classes.
pub(super) struct ClassJudge<'a> {
    pub(super) x: &'a Array2<f64>,
    pub(super) labels: &'a [ClassId],
    pub(super) n_classes: usize,
    pub(super) params: &'a RvmParams,
    pub(super) options: &'a Options,
    pub(super) budget: &'a Budget,
    /// One thread.
    pub(super) par: &'a Par,
}

impl ClassJudge<'_> {
    fn fit(&self, basis: &Basis, x: &Array2<f64>, rows: &[usize]) -> Option<Machines> {
        let labels: Vec<ClassId> = rows.iter().map(|&row| self.labels[row]).collect();
        // With many classes, machines against the rest stand for whatever is asked for.
        let params = RvmParams { multi_class: MultiClass::Rest, reinsert: false, ..self.params.clone() };
        let task = ClassTask {
            x: x.view(),
            labels: &labels,
            n_classes: self.n_classes,
            basis,
            params: &params,
            options: self.options,
            budget: self.budget,
        };
        task.train(self.par).ok()
    }

    fn rows(&self, basis: &Basis, rows: &[usize]) -> Array2<f64> {
        basis.map(self.x.select(Axis(0), rows))
    }
}

impl Judge for ClassJudge<'_> {
    fn left_out(&self, lengths: &[f64], train: &[usize], test: &[usize]) -> Option<f64> {
        let basis = Basis::new(self.params.kernel, lengths.to_vec());
        let x = self.rows(&basis, train);
        let machines = self.fit(&basis, &x, train)?;
        let asked = self.rows(&basis, test);
        let design = Design { x: x.view(), kernel: &basis.kernel };
        let mut scores = Array2::zeros((test.len(), machines.trained.len()));
        for (trained, mut column) in machines.trained.iter().zip(scores.columns_mut()) {
            let centers = design.centers(&trained.model.columns);
            let phi = centers.values(&basis.kernel, asked.view(), self.par);
            column.assign(&phi.dot(&trained.model.mean));
        }
        let proba = machines.combination.probabilities(&scores, self.n_classes);
        let score: f64 = test
            .iter()
            .zip(proba.rows())
            .map(|(&row, p)| libm::log(p[self.labels[row].index()].max(1e-15)))
            .sum();
        Some(score).filter(|score| score.is_finite())
    }

    fn evidence(&self, lengths: &[f64], rows: &[usize]) -> Option<f64> {
        let basis = Basis::new(self.params.kernel, lengths.to_vec());
        let x = self.rows(&basis, rows);
        let machines = self.fit(&basis, &x, rows)?;
        let sum: f64 = machines.trained.iter().map(|trained| trained.model.log_evidence).sum();
        Some(sum).filter(|score| score.is_finite())
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups = vec![Vec::new(); self.n_classes];
        self.labels.iter().enumerate().for_each(|(row, label)| groups[label.index()].push(row));
        groups.retain(|group| !group.is_empty());
        groups
    }
}

//! The machines that several classes need.

use hedgerow_core::{Budget, ClassId, Error, Par, Result};
use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::combine::Combination;
use super::shared::Grower;
use crate::basis::Basis;
use crate::design::Design;
use crate::machine::{Binary, Sparse, Task as _};
use crate::options::{Options, RowsUsed, Trainer};
use crate::params::{MultiClass, RvmParams};
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
        let how = self.params.multi_class.with(self.labels.len(), known.len());
        Combination { how, known, unknown: 1.0 / (self.labels.len() as f64 + 2.0) }
    }

    /// A regression that all classes share, of so many relevant rows at most.
    pub(crate) fn grower<'b>(&'b self, basis: &'b Basis, most: usize, par: &'b Par) -> Grower<'b> {
        Grower {
            x: self.x.view(),
            labels: self.labels,
            n_classes: self.n_classes,
            basis,
            most,
            alpha_max: self.options.alpha_max,
            seed: self.params.seed,
            budget: self.budget,
            par,
        }
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
            (_, MultiClass::Shared) => Vec::new(),
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

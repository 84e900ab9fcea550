//! The binary RVMs that several classes need.

use hedgerow_core::Result;
use hedgerow_core::saved::array;
use ndarray::{Array1, Array2, Axis};
use serde::{Deserialize, Serialize};

use super::combine::Combination;
use crate::basis::Basis;
use crate::design::Design;
use crate::params::MultiClass;
use crate::rvm::is_positive;
use crate::target::{Binary, Context, SparseFit};
use crate::train::{Trained, train_or_update};
use crate::training_rows::TrainingRows;

/// Times that `softmax` goes over all classes.
const SWEEPS: usize = 3;

/// A binary RVM of a classifier. Its columns are places among all relevance vectors; the number of these is the bias.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BinaryWeights {
    #[serde(with = "array")]
    pub(crate) columns: Vec<usize>,
    #[serde(with = "array")]
    pub(crate) alpha: Vec<f64>,
    #[serde(with = "array")]
    pub(crate) mean: Vec<f64>,
}

impl BinaryWeights {
    /// Whether its columns are in order and among so many relevance vectors and the bias, with precisions and weights.
    pub(super) fn is_valid(&self, n_relevant: usize) -> bool {
        let n = self.columns.len();
        [self.alpha.len(), self.mean.len()] == [n, n]
            && self.columns.is_sorted_by(|a, b| a < b)
            && self.columns.last().is_none_or(|last| *last <= n_relevant)
            && self.alpha.iter().copied().all(is_positive)
            && self.mean.iter().all(|w| w.abs() < 1e100)
    }
}

/// All binary RVMs, over training rows.
pub(crate) struct Binaries {
    pub(crate) trained: Vec<Trained>,
    pub(crate) combination: Combination,
}

impl Binaries {
    /// Rows that are relevant in any of them, in order.
    pub(crate) fn union(&self, n_rows: usize) -> Vec<usize> {
        let mut rows: Vec<usize> =
            self.trained.iter().flat_map(|t| &t.fit.columns).copied().filter(|c| *c < n_rows).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Their weights over relevance vectors only.
    pub(crate) fn over(&self, relevant: &[usize], n_rows: usize) -> Vec<BinaryWeights> {
        let place = |column: &usize| {
            if *column == n_rows { relevant.len() } else { relevant.binary_search(column).unwrap_or(0) }
        };
        let of = |trained: &Trained| BinaryWeights {
            columns: trained.fit.columns.iter().map(place).collect(),
            alpha: trained.fit.alpha.clone(),
            mean: trained.fit.mean.to_vec(),
        };
        self.trained.iter().map(of).collect()
    }
}

/// Trains all binary RVMs; from fits that there are, if there are any. Where `first_new` is given, only what is relevant and the rows
/// from it on are candidates.
pub(crate) fn train_binaries(
    rows: &TrainingRows<'_>,
    basis: &Basis,
    from: &[SparseFit],
    first_new: Option<usize>,
) -> Result<Binaries> {
    let combination = Combination::new(rows);
    let known = &combination.known;
    let n = combination.n_binaries();
    let (par, alone) = (rows.par, rows.par.alone());
    let trainer = Trainer { rows, context: rows.context(&basis.kernel), from, first_new };
    let single = Trainer { context: Context { par: &alone, ..trainer.context }, ..trainer };
    let pairs: Vec<[usize; 2]> =
        known.iter().enumerate().flat_map(|(i, &a)| known[i + 1..].iter().map(move |&b| [a, b])).collect();
    let trained: Result<Vec<Trained>> = match (n, combination.how) {
        (0, _) => Ok(Vec::new()),
        (1, _) => trainer.one_vs_rest(known[1], 0).map(|trained| vec![trained]),
        (_, MultiClass::Softmax) => trainer.softmax(known),
        (_, MultiClass::Pairs) => par.map(n, |i| single.pair(pairs[i], i)).into_iter().collect(),
        _ => par.map(n, |i| single.one_vs_rest(known[i], i)).into_iter().collect(),
    };
    Ok(Binaries { trained: trained?, combination })
}

#[derive(Clone, Copy)]
struct Trainer<'a> {
    rows: &'a TrainingRows<'a>,
    context: Context<'a>,
    from: &'a [SparseFit],
    first_new: Option<usize>,
}

impl Trainer<'_> {
    fn is(&self, class: usize) -> Vec<bool> {
        self.rows.targets.iter().map(|target| *target as usize == class).collect()
    }

    /// One class against all others.
    fn one_vs_rest(&self, class: usize, number: usize) -> Result<Trained> {
        let target = Binary { context: self.context, is_one: &self.is(class), offsets: None };
        train_or_update(&target, self.from.get(number), self.first_new)
    }

    /// One class against another, on the rows of both.
    fn pair(&self, pair: [usize; 2], number: usize) -> Result<Trained> {
        let (targets, design) = (self.rows.targets, self.context.design);
        let n = targets.len();
        let rows: Vec<usize> = (0..n).filter(|&row| pair.contains(&(targets[row] as usize))).collect();
        let is_one: Vec<bool> = rows.iter().map(|&row| targets[row] as usize == pair[1]).collect();
        let design = Design { x: &design.x.select(Axis(0), &rows), ..design };
        let target = Binary { context: Context { design, ..self.context }, is_one: &is_one, offsets: None };
        let inner = self.from.get(number).and_then(|from| {
            let place = |&c: &usize| if c == n { Some(rows.len()) } else { rows.binary_search(&c).ok() };
            let columns = from.columns.iter().map(place).collect::<Option<Vec<usize>>>()?;
            let scores = rows.iter().map(|&row| from.scores[row]).collect();
            Some(SparseFit { columns, scores, ..from.clone() })
        });
        let first_new = self.first_new.map(|first| rows.partition_point(|row| *row < first));
        let mut trained = train_or_update(&target, inner.as_ref(), first_new)?;
        let back = |c: &mut usize| *c = if *c == rows.len() { n } else { rows[*c] };
        trained.fit.columns.iter_mut().for_each(back);
        Ok(trained)
    }

    /// All classes together: for one class, the others' scores being given, the softmax is a logistic function with an offset,
    /// so classes take turns.
    fn softmax(&self, known: &[usize]) -> Result<Vec<Trained>> {
        let (n, k) = (self.rows.targets.len(), known.len());
        let mut scores = Array2::zeros((n, k));
        self.from.iter().zip(scores.columns_mut()).for_each(|(fit, mut column)| {
            column.iter_mut().zip(&fit.scores).for_each(|(to, from)| *to = *from);
        });
        let mut trained: Vec<Option<Trained>> = vec![None; k];
        for sweep in 0..SWEEPS {
            for class in 0..k {
                let offsets = offsets(&scores, class);
                let is_one = self.is(known[class]);
                let target = Binary { context: self.context, is_one: &is_one, offsets: Some(&offsets) };
                let before = trained[class].as_ref().map(|t: &Trained| &t.fit).or(self.from.get(class));
                let next = train_or_update(&target, before, self.first_new)?;
                scores.column_mut(class).assign(&Array1::from(next.fit.scores.clone()));
                trained[class] = Some(next);
            }
            if sweep > 0 && self.rows.budget.spent().is_some() {
                break;
            }
        }
        Ok(trained.into_iter().flatten().collect())
    }
}

/// −log Σ exp of the scores of all other classes, for each row.
fn offsets(scores: &Array2<f64>, class: usize) -> Vec<f64> {
    let offset = |row: ndarray::ArrayView1<'_, f64>| {
        let others = || row.iter().enumerate().filter(|(j, _)| *j != class).map(|(_, v)| *v);
        let most = others().fold(f64::NEG_INFINITY, f64::max);
        -(most + libm::log(others().map(|v| libm::exp(v - most)).sum::<f64>()))
    };
    scores.rows().into_iter().map(offset).collect()
}

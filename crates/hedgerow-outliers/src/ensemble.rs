//! Means over members that each score every row: trees, or sets of rows.
//!
//! A member does not count for the rows it was made from, so that training rows are scored like new ones. Members are added up in
//! their order, row by row, so that neither threads nor blocks change a score.

use std::ops::Range;

use hedgerow_core::{Budget, Features, Observer, Par, Progress};
use ndarray::{ArrayView2, s};

use crate::columns::Columns;

/// Rows scored together by all members: few enough to stay in the cache.
const BLOCK: usize = 128;
/// Members between two looks at the clock.
const ROUND: usize = 10;

/// Rows to score.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// The training rows.
    Training(&'a Features),
    /// Others.
    New(ArrayView2<'a, f32>),
}

impl Source<'_> {
    pub(crate) fn n_rows(&self) -> usize {
        match self {
            Self::Training(features) => features.n_rows(),
            Self::New(x) => x.nrows(),
        }
    }

    /// Copies rows one after the other.
    pub(crate) fn copy(&self, rows: Range<usize>, out: &mut [f32]) {
        match self {
            Self::Training(features) => features.copy_rows(rows, out),
            Self::New(x) => {
                for (to, from) in out.iter_mut().zip(x.slice(s![rows, ..])) {
                    *to = *from;
                }
            }
        }
    }

    /// Prepared rows.
    pub(crate) fn prepared(&self, columns: &Columns, rows: Range<usize>) -> Vec<f32> {
        let mut values = vec![0.0; rows.len() * columns.n_features()];
        let mut prepared = vec![0.0; rows.len() * columns.width()];
        self.copy(rows, &mut values);
        columns.prepare_rows(&values, &mut prepared);
        prepared
    }
}

/// Members that each score rows.
pub(crate) trait Ensemble: Sync {
    /// How many there are.
    fn n_members(&self) -> usize;

    /// The numbers of the training rows that a member was made from, in rising order.
    fn made_from(&self, member: usize) -> &[u32];

    /// The scores that a member gives to prepared rows.
    fn score(&self, member: usize, rows: &[f32], out: &mut [f64]);

    /// Keeps the first members only.
    fn truncate(&mut self, n_members: usize);
}

/// A sum over members, for one row.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    total: f64,
    n: u32,
}

/// What scoring is given beside an ensemble.
#[derive(Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) columns: &'a Columns,
    pub(crate) par: &'a Par,
}

impl Work<'_> {
    /// Adds the scores of some members.
    fn add(self, ensemble: &impl Ensemble, members: Range<usize>, source: Source<'_>, sums: &mut [Sum]) {
        let (n_rows, is_training) = (sums.len(), matches!(source, Source::Training(_)));
        let width = self.columns.width().max(1);
        self.par.for_chunks(sums, BLOCK, |block, sums| {
            let first = block * BLOCK;
            let rows = source.prepared(self.columns, first..(first + BLOCK).min(n_rows));
            debug_assert_eq!(rows.len(), sums.len() * width);
            let mut scores = vec![0.0; sums.len()];
            for member in members.clone() {
                ensemble.score(member, &rows, &mut scores);
                let mut made_from: &[u32] = &[];
                if is_training {
                    let all = ensemble.made_from(member);
                    made_from = &all[all.partition_point(|&row| (row as usize) < first)..];
                }
                for (i, (sum, &score)) in sums.iter_mut().zip(&scores).enumerate() {
                    if made_from.first().is_some_and(|&row| row as usize == first + i) {
                        made_from = &made_from[1..];
                    } else {
                        *sum = Sum { total: sum.total + score, n: sum.n + 1 };
                    }
                }
            }
        });
    }

    /// The mean over all members for new rows.
    pub(crate) fn means(self, ensemble: &impl Ensemble, source: Source<'_>) -> Vec<f64> {
        let mut sums = vec![Sum::default(); source.n_rows()];
        self.add(ensemble, 0..ensemble.n_members(), source, &mut sums);
        sums.iter().map(|sum| sum.total / f64::from(sum.n.max(1))).collect()
    }

    /// The mean for each training row over the members that were not made from it. When the budget is spent, members that have not
    /// scored yet are dropped.
    pub(crate) fn out_of_bag(
        self,
        ensemble: &mut impl Ensemble,
        features: &Features,
        budget: &Budget,
        progress: &mut Rounds<'_>,
    ) -> Vec<f64> {
        let source = Source::Training(features);
        let mut sums = vec![Sum::default(); features.n_rows()];
        let mut first = 0;
        while first < ensemble.n_members() {
            let members = first..(first + ROUND).min(ensemble.n_members());
            first = members.end;
            progress.add(members.len());
            self.add(ensemble, members, source, &mut sums);
            if budget.spent().is_some() {
                ensemble.truncate(first);
            }
        }
        let mut means: Vec<f64> = sums.iter().map(|sum| sum.total / f64::from(sum.n.max(1))).collect();
        // Rows that every member was made from are scored as if they were new.
        for row in (0..means.len()).filter(|&row| sums[row].n == 0) {
            let row_alone = features.to_array(row..row + 1);
            means[row] = self.means(ensemble, Source::New(row_alone.view()))[0];
        }
        means
    }
}

/// Tells how far the work has come.
pub(crate) struct Rounds<'a> {
    observer: &'a dyn Observer,
    done: usize,
    total: usize,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(observer: &'a dyn Observer, total: usize) -> Self {
        Self { observer, done: 0, total }
    }

    /// So many more are being worked on.
    fn add(&mut self, members: usize) {
        self.observer.progress(Progress { done: self.done, total: Some(self.total), accuracy: None });
        self.done += members;
    }
}

//! One tree whose leaves learn a few at a time.

use hedgerow_core::traits::largest;
use hedgerow_core::{Par, Result};
use hedgerow_forest::tree::Tree;
use ndarray::{Array2, ArrayView1, Axis};

use super::super::BYTES_A_PAIR;
use super::super::kernel::LeafKernel;
use super::super::leaf::{Leaf, School};
use super::super::plant::{Leafy, Planted, places, plant, split};
use super::super::search::{Sampled, Trials};
use super::super::stems::Stems;
use super::Plot;

/// Work of a slice: multiplications, about. Leaves of 200 rows and 784 columns take 40 million each.
const WORK: u64 = 200_000_000;
/// The leaf of a row that came to no known place.
const NOWHERE: u32 = u32::MAX;

/// A tree with leaves, some of which have learnt. It is never changed: a slice makes the next one.
#[derive(Clone)]
pub struct Stem {
    pub(super) stems: Stems,
    pub(super) leaves: Vec<Leaf>,
    number: usize,
    /// Rows of the plot that have been put into leaves, judges among them.
    n_rows: usize,
    /// Leaves that have not learnt their rows yet; the next one is the last.
    open: Vec<u32>,
    /// Leaves of more than one class.
    n_mixed: usize,
    /// The leaf of each judge, and what that leaf says.
    seats: Vec<u32>,
    pub(super) scores: Array2<f32>,
    accuracy: f64,
    bytes: usize,
}

impl Stem {
    /// The tree of a number, with the rows of the plot in its leaves. None of them has learnt.
    pub fn new(plot: &Plot, tree: Tree, number: usize) -> Self {
        let rows: Vec<usize> = plot.learnt.iter().map(|&row| row as usize).collect();
        let raw = plot.features.select(&rows).to_array(0..rows.len());
        let places = places(&tree, raw.view());
        let (mut stems, mut leaves) = (Stems::default(), Vec::new());
        let planted = Planted { rows: &plot.learnt, places: &places, labels: &plot.labels };
        plant(&mut stems, &mut leaves, tree, &planted, None);
        let mut stem = Self {
            stems,
            open: (0..leaves.len() as u32).collect(),
            leaves,
            number,
            n_rows: plot.n_rows(),
            n_mixed: 0,
            seats: Vec::new(),
            scores: Array2::zeros((0, plot.n_classes())),
            accuracy: 0.0,
            bytes: 0,
        };
        stem.sort_open();
        stem.seat_judges(plot, &LeafKernel::START);
        stem
    }

    /// The kernels to be tried on its leaves.
    pub fn trials(&self, plot: &Plot) -> Trials {
        let all = Sampled { x: plot.x.view(), labels: &plot.labels, n_classes: plot.n_classes() };
        Trials::new(&plot.params, &self.leaves, &plot.learnt, &all)
    }

    /// Does a small piece of work: puts new rows of the plot into leaves, or lets some leaves learn, those first whose shares are wrong about most rows.
    pub fn slice(&self, plot: &Plot, kernel: &LeafKernel, par: &Par) -> Result<Self> {
        let mut next = self.clone();
        if next.n_rows < plot.n_rows() {
            next.take_up(plot, kernel, par)?;
        } else {
            next.learn(plot, kernel);
        }
        Ok(next)
    }

    /// Rows that have come since fall into leaves, which must learn anew; those that have outgrown their size are split first.
    fn take_up(&mut self, plot: &Plot, kernel: &LeafKernel, par: &Par) -> Result<()> {
        let first = self.n_rows as u32;
        let mut touched: Vec<u32> = std::mem::take(&mut self.open);
        let mut row_values = vec![0.0; plot.features.n_features()];
        let new = plot.learnt.partition_point(|&row| row < first);
        for &row in &plot.learnt[new..] {
            plot.features.copy_rows(row as usize..row as usize + 1, &mut row_values);
            if let Some(leaf) = self.stems.leaf(0, &row_values) {
                self.leaves[leaf as usize].rows.push(row);
                touched.push(leaf);
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let all = Leafy {
            schema: &plot.schema,
            features: &plot.features,
            labels: &plot.labels,
            params: &plot.params,
        };
        for leaf in touched.clone() {
            let own = &mut self.leaves[leaf as usize];
            own.process = None;
            own.count(&plot.labels);
            if own.rows.len() > plot.params.leaf_rows && !own.is_pure() {
                let seed = plot.params.seed
                    ^ ((self.number as u64 + 1) << 40)
                    ^ ((plot.n_rows() as u64) << 16)
                    ^ u64::from(leaf);
                let new = split(&mut self.stems, &mut self.leaves, leaf as usize, &all, seed, par)?;
                touched.extend(new.into_iter().map(|leaf| leaf as u32));
            }
        }
        self.open = touched;
        self.n_rows = plot.n_rows();
        self.sort_open();
        self.seat_judges(plot, kernel);
        Ok(())
    }

    /// Leaves of one class have nothing to learn. The one that is wrong about most of its rows is next.
    fn sort_open(&mut self) {
        let leaves = &self.leaves;
        let wrong = |leaf: &u32| {
            let counts = || leaves[*leaf as usize].counts.iter().map(|(_, n)| *n);
            counts().sum::<u32>() - counts().max().unwrap_or(0)
        };
        self.open.retain(|leaf| !leaves[*leaf as usize].is_pure());
        self.open.sort_by_key(|leaf| (wrong(leaf), std::cmp::Reverse(*leaf)));
        self.n_mixed = leaves.iter().filter(|leaf| !leaf.is_pure()).count();
    }

    /// Judges find their leaves and hear what these say. Leaves that have learnt say it again when they learn anew only, so theirs is kept.
    fn seat_judges(&mut self, plot: &Plot, kernel: &LeafKernel) {
        let before = std::mem::take(&mut self.seats);
        let mut row_values = vec![0.0; plot.features.n_features()];
        for &row in &plot.judges {
            plot.features.copy_rows(row as usize..row as usize + 1, &mut row_values);
            self.seats.push(self.stems.leaf(0, &row_values).unwrap_or(NOWHERE));
        }
        let mut scores = Array2::from_elem((plot.judges.len(), plot.n_classes()), -1.0);
        let known = before.len().min(scores.nrows());
        scores.slice_mut(ndarray::s![..known, ..]).assign(&self.scores.slice(ndarray::s![..known, ..]));
        self.scores = scores;
        let mut leaves: Vec<u32> = (0..self.seats.len())
            .filter(|&judge| {
                let leaf = self.seats[judge];
                let has_process = self.leaves.get(leaf as usize).is_some_and(|leaf| leaf.process.is_some());
                before.get(judge) != Some(&leaf) || !has_process
            })
            .map(|judge| self.seats[judge])
            .collect();
        leaves.sort_unstable();
        leaves.dedup();
        for leaf in leaves {
            self.ask(plot, kernel, leaf);
        }
        self.judge(plot);
    }

    /// Asks a leaf about its judges.
    fn ask(&mut self, plot: &Plot, kernel: &LeafKernel, leaf: u32) {
        let Some(own) = self.leaves.get(leaf as usize) else { return };
        let judges: Vec<usize> = (0..self.seats.len()).filter(|&judge| self.seats[judge] == leaf).collect();
        if judges.is_empty() {
            return;
        }
        let rows: Vec<usize> = judges.iter().map(|&judge| plot.judges[judge] as usize).collect();
        let x = plot.x.select(Axis(0), &rows);
        let scores = own.answer(&plot.params, kernel, x.view(), plot.x.view(), plot.n_classes());
        for (judge, scores) in judges.into_iter().zip(scores.rows()) {
            self.scores.row_mut(judge).assign(&scores.mapv(|score| score as f32));
        }
    }

    /// Lets leaves learn until it is enough for a slice.
    fn learn(&mut self, plot: &Plot, kernel: &LeafKernel) {
        let params = &plot.params;
        let school = School {
            params,
            kernel: *kernel,
            x: plot.x.view(),
            labels: &plot.labels,
            most_rows: params.leaf_rows,
        };
        let mut work = 0;
        while work < WORK
            && let Some(leaf) = self.open.pop()
        {
            let seed = params.seed ^ ((self.number as u64) << 32) ^ u64::from(leaf);
            let own = &mut self.leaves[leaf as usize];
            own.learn(&school, seed, plot.n_classes(), false);
            let (n, classes) = (own.rows.len().min(params.leaf_rows) as u64, own.counts.len() as u64);
            work += n * n * (n + plot.x.ncols() as u64 + 10 * classes);
            self.ask(plot, kernel, leaf);
        }
        self.judge(plot);
    }

    /// Finds the share of judges that it is right about, averaged over classes; and counts bytes.
    fn judge(&mut self, plot: &Plot) {
        let mut found = vec![[0_u32; 2]; plot.n_classes()];
        for (scores, label) in self.scores.rows().into_iter().zip(plot.judge_labels()) {
            let [right, all] = &mut found[label.index()];
            *right += u32::from(best(scores) == Some(label.index()));
            *all += 1;
        }
        let shares: Vec<f64> = found
            .iter()
            .filter(|[_, all]| *all > 0)
            .map(|[n, all]| f64::from(*n) / f64::from(*all))
            .collect();
        self.accuracy = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        let of_leaves: usize = self.leaves.iter().map(Leaf::bytes).sum();
        let of_judges = self.scores.len() + self.seats.len() + self.open.len();
        self.bytes = of_leaves + self.stems.bytes() + 4 * of_judges;
    }

    /// Its number.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Whether all rows of a plot are in its leaves, so that it has something to say about all judges.
    pub fn knows(&self, plot: &Plot) -> bool {
        self.n_rows == plot.n_rows()
    }

    /// Whether all its leaves have learnt all rows of a plot.
    pub fn is_done(&self, plot: &Plot) -> bool {
        self.knows(plot) && self.open.is_empty()
    }

    /// Leaves that have learnt, and leaves that need to.
    pub fn progress(&self) -> [usize; 2] {
        [self.n_mixed - self.open.len().min(self.n_mixed), self.n_mixed]
    }

    /// The share of judges that it is right about, averaged over classes.
    pub fn accuracy(&self) -> f64 {
        self.accuracy
    }

    /// The leaf of a judge, by place; none if it came to no known place.
    pub(super) fn seat(&self, judge: usize) -> Option<&Leaf> {
        self.leaves.get(self.seats[judge] as usize)
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that the next leaf takes while it learns.
    pub fn next_bytes(&self, plot: &Plot) -> u64 {
        let next = self.open.last().map_or(0, |leaf| self.leaves[*leaf as usize].rows.len());
        let n = next.min(plot.params.leaf_rows);
        BYTES_A_PAIR * (n as u64).pow(2) + 8 * (n * plot.x.ncols()) as u64
    }
}

/// The place of the largest score.
fn best(scores: ArrayView1<'_, f32>) -> Option<usize> {
    largest(scores.mapv(f64::from).iter())
}

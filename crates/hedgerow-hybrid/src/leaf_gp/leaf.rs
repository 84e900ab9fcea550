//! One leaf: its rows, and the process that has learnt them.

use std::sync::Arc;

use hedgerow_core::ClassId;
use hedgerow_core::rng::{Purpose, Rng};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut1, Axis};

use super::kernel::{LeafKernel, squares, squares_within};
use super::learner::Learnt;
use super::params::{Fusion, LeafGpParams, Sharing};

/// Length scales that a leaf may try, as shares of the one of all leaves.
const OWN_LENGTHS: [f64; 5] = [1.0, 0.7, 1.4, 0.5, 2.0];

/// A leaf.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Leaf {
    /// Its rows, by their numbers; none where they were left out.
    pub(super) rows: Vec<u32>,
    /// How many rows each class has that has any, by class.
    pub(super) counts: Vec<(u16, u32)>,
    /// None in a leaf of one class, and where the time did not suffice.
    pub(super) process: Option<Arc<Process>>,
}

/// What was learnt in a leaf of several classes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Process {
    /// The rows that count.
    pub(super) rows: Vec<u32>,
    /// The classes, in the order of columns.
    pub(super) classes: Vec<u16>,
    pub(super) weights: Array2<f64>,
    pub(super) offsets: Array1<f64>,
    pub(super) length_scale: f64,
}

/// What leaves need to learn.
#[derive(Clone, Copy)]
pub(super) struct School<'a> {
    pub(super) params: &'a LeafGpParams,
    pub(super) kernel: LeafKernel,
    /// All prepared rows.
    pub(super) x: ArrayView2<'a, f32>,
    pub(super) labels: &'a [ClassId],
    /// Most rows that a process may have.
    pub(super) most_rows: usize,
}

impl Leaf {
    /// Counts its rows again.
    pub(super) fn count(&mut self, labels: &[ClassId]) {
        let mut classes: Vec<u16> = self.rows.iter().map(|&row| labels[row as usize].0 as u16).collect();
        classes.sort_unstable();
        self.counts.clear();
        for class in classes {
            match self.counts.last_mut() {
                Some((last, n)) if *last == class => *n += 1,
                _ => self.counts.push((class, 1)),
            }
        }
    }

    pub(super) fn is_pure(&self) -> bool {
        self.counts.len() < 2
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let of = |p: &Arc<Process>| {
            4 * p.rows.len() + 8 * (p.weights.len() + p.offsets.len()) + 2 * p.classes.len()
        };
        4 * self.rows.len() + 8 * self.counts.len() + self.process.as_ref().map_or(0, of) + size_of::<Self>()
    }

    /// Scores of prepared rows: one a class for all classes.
    pub(super) fn answer(
        &self,
        params: &LeafGpParams,
        kernel: &LeafKernel,
        x: ArrayView2<'_, f32>,
        rows: ArrayView2<'_, f32>,
        n_classes: usize,
    ) -> Array2<f64> {
        let mut out = Array2::from_elem((x.nrows(), n_classes), -1.0);
        let Some(process) = &self.process else {
            let shares = self.shares(None);
            for mut row in out.rows_mut() {
                spread(params.fusion, &self.classes(), ArrayView1::from(&shares), &mut row);
            }
            return out;
        };
        let own: Vec<usize> = process.rows.iter().map(|&row| row as usize).collect();
        let kernel = LeafKernel { length_scale: process.length_scale, ..*kernel };
        let k = kernel.covariances(&squares(x, rows.select(Axis(0), &own).view()));
        let mut scores = k.dot(&process.weights) + &process.offsets;
        scores.mapv_inplace(|latent| params.learner.score(latent));
        for (scores, mut row) in scores.rows().into_iter().zip(out.rows_mut()) {
            spread(params.fusion, &process.classes, scores, &mut row);
        }
        out
    }

    fn classes(&self) -> Vec<u16> {
        self.counts.iter().map(|(class, _)| *class).collect()
    }

    /// Shares of classes as scores, of all rows or all but one of a class.
    fn shares(&self, but: Option<u16>) -> Vec<f64> {
        let less = |class: u16| u32::from(but == Some(class));
        let n: u32 = self.counts.iter().map(|(class, n)| n.saturating_sub(less(*class))).sum();
        let share = |(class, count): &(u16, u32)| {
            if n == 0 {
                return -1.0;
            }
            2.0 * f64::from(count.saturating_sub(less(*class))) / f64::from(n) - 1.0
        };
        self.counts.iter().map(share).collect()
    }

    /// Learns its rows, unless all are of one class. Returns the scores of its rows, one a class for all classes, as they would be
    /// without each of them.
    pub(super) fn learn(
        &mut self,
        school: &School<'_>,
        seed: u64,
        n_classes: usize,
        is_over: bool,
    ) -> Array2<f64> {
        self.process = None;
        let params = school.params;
        let mut out = Array2::from_elem((self.rows.len(), n_classes), -1.0);
        let learnt = if self.is_pure() || is_over { None } else { self.best_process(school, seed) };
        let Some((process, learnt, places)) = learnt else {
            for (&row, mut out) in self.rows.iter().zip(out.rows_mut()) {
                let shares = self.shares(Some(school.labels[row as usize].0 as u16));
                spread(params.fusion, &self.classes(), ArrayView1::from(&shares), &mut out);
            }
            return out;
        };
        if places.len() < self.rows.len() {
            // The rest was not learnt.
            let all: Vec<usize> = self.rows.iter().map(|&row| row as usize).collect();
            self.process = Some(Arc::new(process.clone()));
            out = self.answer(
                params,
                &school.kernel,
                school.x.select(Axis(0), &all).view(),
                school.x,
                n_classes,
            );
        }
        for (&place, latent) in places.iter().zip(learnt.without_each.rows()) {
            let scores = latent.mapv(|latent| params.learner.score(latent));
            let mut row = out.row_mut(place);
            row.fill(-1.0);
            spread(params.fusion, &process.classes, scores.view(), &mut row);
        }
        self.process = Some(Arc::new(process.without_idle_rows()));
        out
    }

    /// The process, what it learnt, and the places in the leaf of the rows that it was given; none if numbers fail it.
    fn best_process(&self, school: &School<'_>, seed: u64) -> Option<(Process, Learnt, Vec<usize>)> {
        let mut places: Vec<usize> = (0..self.rows.len()).collect();
        if places.len() > school.most_rows {
            Rng::new(seed, Purpose::Sample, 7).shuffle(&mut places);
            places.truncate(school.most_rows);
            places.sort_unstable();
        }
        let rows: Vec<usize> = places.iter().map(|&place| self.rows[place] as usize).collect();
        let classes = self.classes();
        let y = signs(&rows, &classes, school.labels);
        let squares = squares_within(school.x.select(Axis(0), &rows).view());
        let tries = if school.params.sharing == Sharing::Shared { &OWN_LENGTHS[..1] } else { &OWN_LENGTHS };
        let mut best: Option<(f64, f64, Learnt)> = None;
        for share in tries {
            let kernel = LeafKernel { length_scale: school.kernel.length_scale * share, ..school.kernel };
            let Some(learnt) = learn(school.params, &kernel, &squares, &y, seed) else { continue };
            let scores = learnt.without_each.mapv(|latent| school.params.learner.score(latent));
            let loss = scores.iter().zip(&y).map(|(score, y)| (score - y).powi(2)).sum::<f64>();
            if best.as_ref().is_none_or(|(least, ..)| loss < *least) {
                best = Some((loss, kernel.length_scale, learnt));
            }
        }
        let (_, length_scale, learnt) = best?;
        let process = Process {
            rows: rows.iter().map(|&row| row as u32).collect(),
            classes,
            weights: learnt.weights.clone(),
            offsets: learnt.offsets.clone(),
            length_scale,
        };
        Some((process, learnt, places))
    }
}

/// Learns rows with such distances; none if numbers fail it.
pub(super) fn learn(
    params: &LeafGpParams,
    kernel: &LeafKernel,
    squares: &Array2<f32>,
    y: &Array2<f64>,
    seed: u64,
) -> Option<Learnt> {
    let k = kernel.covariances(squares);
    let learnt = params.learner.learn(k, kernel.noise_variance, y, params.n_active, seed).ok()?;
    learnt.weights.iter().all(|v| v.is_finite()).then_some(learnt)
}

/// Labels as ±1: a column a class.
pub(super) fn signs(rows: &[usize], classes: &[u16], labels: &[ClassId]) -> Array2<f64> {
    Array2::from_shape_fn((rows.len(), classes.len()), |(i, c)| {
        if labels[rows[i]].0 == u32::from(classes[c]) { 1.0 } else { -1.0 }
    })
}

/// Scores of some classes as scores of all, those of a row of −1.
pub(super) fn spread(
    fusion: Fusion,
    classes: &[u16],
    scores: ArrayView1<'_, f64>,
    out: &mut ArrayViewMut1<'_, f64>,
) {
    let sound = |score: f64| if score.is_finite() { score } else { -1.0 };
    let sum: f64 = scores.iter().map(|s| (sound(*s).clamp(-1.0, 1.0) + 1.0) / 2.0).sum();
    let best = hedgerow_core::traits::largest(scores.iter());
    for (i, (&class, &score)) in classes.iter().zip(scores).enumerate() {
        let Some(out) = out.get_mut(usize::from(class)) else { continue };
        let score = sound(score);
        *out = match fusion {
            Fusion::Mean => score,
            Fusion::Clipped => score.clamp(-1.0, 1.0),
            Fusion::Vote => {
                if best == Some(i) {
                    1.0
                } else {
                    -1.0
                }
            }
            Fusion::Normalized if sum > 0.0 => (score.clamp(-1.0, 1.0) + 1.0) / sum - 1.0,
            Fusion::Normalized => -1.0,
        };
    }
}

impl Process {
    /// The same without rows that count nothing.
    fn without_idle_rows(self) -> Self {
        let counts = |i: &usize| self.weights.row(*i).iter().any(|w| *w != 0.0);
        let kept: Vec<usize> = (0..self.rows.len()).filter(counts).collect();
        if kept.len() == self.rows.len() {
            return self;
        }
        let rows = kept.iter().map(|&i| self.rows[i]).collect();
        Self { rows, weights: self.weights.select(Axis(0), &kept), ..self }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn fusion_rules_by_hand() {
        let spread_by = |fusion| {
            let mut row = Array1::from_elem(4, -1.0);
            spread(fusion, &[1, 3], array![0.6, 1.4].view(), &mut row.view_mut());
            row.to_vec()
        };
        assert_eq!(spread_by(Fusion::Mean), [-1.0, 0.6, -1.0, 1.4]);
        assert_eq!(spread_by(Fusion::Clipped), [-1.0, 0.6, -1.0, 1.0]);
        assert_eq!(spread_by(Fusion::Vote), [-1.0, -1.0, -1.0, 1.0]);
        let normalized = spread_by(Fusion::Normalized);
        assert!(
            (normalized[1] - (1.6 / 1.8 - 1.0)).abs() < 1e-12
                && (normalized[1] + normalized[3]).abs() < 1e-12
        );
    }

    #[test]
    fn shares_leave_a_row_out() {
        let labels = [0, 0, 1].map(ClassId);
        let leaf = |rows: Vec<u32>| {
            let mut leaf = Leaf { rows, ..Leaf::default() };
            leaf.count(&labels);
            leaf
        };
        let three = leaf(vec![0, 1, 2]);
        assert_eq!(three.counts, [(0, 2), (1, 1)]);
        assert_eq!(three.shares(Some(1)), [1.0, -1.0]);
        assert_eq!(leaf(vec![2]).shares(Some(1)), [-1.0]);
    }
}

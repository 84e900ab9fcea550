//! One leaf: its rows, and the GP that was trained on them.

use std::sync::Arc;

use hedgerow_core::ClassId;
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::traits::largest;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut1, Axis};

use super::kernel::{LeafKernel, squares, squares_within};
use super::leaf_training::LeafTraining;
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
    /// None in a leaf of one class, and in one that has not been trained.
    pub(super) gp: Option<Arc<Gp>>,
}

/// The GP of a leaf of several classes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gp {
    /// The rows whose weights are not 0.
    pub(super) rows: Vec<u32>,
    /// The classes, in the order of columns.
    pub(super) classes: Vec<u16>,
    pub(super) weights: Array2<f64>,
    pub(super) offsets: Array1<f64>,
    pub(super) length_scale: f64,
}

/// A trained GP.
#[derive(Debug, Clone)]
pub(super) struct Trained {
    pub(super) gp: Arc<Gp>,
    /// Leave-one-out scores: a row for each row of the leaf, a column for each class of the leaf. Rows that the GP was not given have its scores.
    pub(super) loo: Arc<Array2<f64>>,
    /// Rows whose leave-one-out scores are largest for their own class.
    pub(super) n_right: usize,
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

    /// Whether what was read fits so many rows and classes. `has_rows`: rows have not been left out.
    pub(super) fn fits(&self, n_rows: usize, n_classes: usize, has_rows: bool) -> bool {
        let total: u64 = self.counts.iter().map(|(_, n)| u64::from(*n)).sum();
        let are_rows = |rows: &[u32]| rows.iter().all(|row| (*row as usize) < n_rows);
        let is_gp = |gp: &Arc<Gp>| {
            are_rows(&gp.rows)
                && gp.classes.iter().all(|class| usize::from(*class) < n_classes)
                && gp.weights.iter().chain(&gp.offsets).all(|v| v.is_finite())
                && gp.length_scale > 0.0
                && gp.length_scale.is_finite()
        };
        are_rows(&self.rows)
            && self.counts.iter().all(|(class, _)| usize::from(*class) < n_classes)
            && (!has_rows || total == self.rows.len() as u64)
            && self.gp.as_ref().is_none_or(is_gp)
    }

    pub(super) fn is_pure(&self) -> bool {
        self.counts.len() < 2
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let of_gp = self.gp.as_ref().map_or(0, |gp| gp.bytes());
        4 * self.rows.len() + 8 * self.counts.len() + of_gp + size_of::<Self>()
    }

    /// The classes that [`Self::scores`] has columns for.
    pub(super) fn columns(&self) -> Vec<u16> {
        self.gp.as_ref().map_or_else(|| self.classes(), |gp| gp.classes.clone())
    }

    fn classes(&self) -> Vec<u16> {
        self.counts.iter().map(|(class, _)| *class).collect()
    }

    /// Scores of prepared rows; without a GP these are the class frequencies. `rows` are all rows that leaves were trained on.
    pub(super) fn scores(
        &self,
        params: &LeafGpParams,
        kernel: &LeafKernel,
        x: ArrayView2<'_, f32>,
        rows: ArrayView2<'_, f32>,
    ) -> Array2<f64> {
        let mut scores = if let Some(gp) = &self.gp {
            gp.latent(kernel, x, rows).mapv(|latent| params.learner.score(latent))
        } else {
            let frequencies = self.frequencies(None);
            Array2::from_shape_fn((x.nrows(), frequencies.len()), |(_, class)| frequencies[class])
        };
        scores.rows_mut().into_iter().for_each(|row| fuse(params.fusion, row));
        scores
    }

    /// Leave-one-out scores of its rows by class frequencies.
    pub(super) fn loo_frequencies(&self, fusion: Fusion, labels: &[ClassId]) -> Array2<f64> {
        let by_class: Vec<(u16, Vec<f64>)> =
            self.counts.iter().map(|(class, _)| (*class, self.frequencies(Some(*class)))).collect();
        let mut out = Array2::from_elem((self.rows.len(), self.counts.len()), -1.0);
        for (&row, mut out) in self.rows.iter().zip(out.rows_mut()) {
            let class = labels[row as usize].0 as u16;
            if let Ok(at) = by_class.binary_search_by_key(&class, |(class, _)| *class) {
                out.iter_mut().zip(&by_class[at].1).for_each(|(to, score)| *to = *score);
                fuse(fusion, out);
            }
        }
        out
    }

    /// Class frequencies as scores, of all rows or all but one of a class.
    fn frequencies(&self, but: Option<u16>) -> Vec<f64> {
        let less = |class: u16| u32::from(but == Some(class));
        let n: u32 = self.counts.iter().map(|(class, n)| n.saturating_sub(less(*class))).sum();
        let frequency = |(class, count): &(u16, u32)| {
            if n == 0 {
                return -1.0;
            }
            2.0 * f64::from(count.saturating_sub(less(*class))) / f64::from(n) - 1.0
        };
        self.counts.iter().map(frequency).collect()
    }

    /// Trains a GP on at most so many of its rows; none for one class, and if numbers fail.
    pub(super) fn train(&self, with: &LeafTraining<'_>, most_rows: usize, seed: u64) -> Option<Trained> {
        if self.is_pure() {
            return None;
        }
        let (gp, learnt, places) = self.best_gp(with, most_rows, seed)?;
        let params = with.params;
        let mut loo = learnt.without_each.mapv(|latent| params.learner.score(latent));
        loo.rows_mut().into_iter().for_each(|row| fuse(params.fusion, row));
        if places.len() < self.rows.len() {
            let all: Vec<usize> = self.rows.iter().map(|&row| row as usize).collect();
            let whole = Self { gp: Some(Arc::new(gp.clone())), ..Self::default() };
            let x = with.x.select(Axis(0), &all);
            let own = std::mem::replace(&mut loo, whole.scores(params, &with.kernel, x.view(), with.x));
            places.iter().zip(own.rows()).for_each(|(&place, from)| loo.row_mut(place).assign(&from));
        }
        let n_right = self.n_right(&loo, with.labels);
        Some(Trained { gp: Arc::new(gp.without_idle_rows()), loo: Arc::new(loo), n_right })
    }

    /// Rows whose scores are largest for their own class.
    pub(super) fn n_right(&self, scores: &Array2<f64>, labels: &[ClassId]) -> usize {
        let is_right = |(row, scores): &(&u32, ArrayView1<'_, f64>)| {
            let best = largest(scores.iter()).and_then(|best| self.counts.get(best));
            best.is_some_and(|(class, _)| u32::from(*class) == labels[**row as usize].0)
        };
        self.rows.iter().zip(scores.rows()).filter(is_right).count()
    }

    /// The GP, what it learnt, and the places in the leaf of the rows that it was given; none if numbers fail it.
    fn best_gp(
        &self,
        with: &LeafTraining<'_>,
        most_rows: usize,
        seed: u64,
    ) -> Option<(Gp, Learnt, Vec<usize>)> {
        let drawn = Rng::new(seed, Purpose::Sample, 7).sample(self.rows.len(), most_rows);
        let places = drawn.unwrap_or_else(|| (0..self.rows.len()).collect());
        let rows: Vec<usize> = places.iter().map(|&place| self.rows[place] as usize).collect();
        let classes = self.classes();
        let y = signs(&rows, &classes, with.labels);
        let squares = squares_within(with.x.select(Axis(0), &rows).view());
        let tries = if with.params.sharing == Sharing::Shared { &OWN_LENGTHS[..1] } else { &OWN_LENGTHS };
        let mut best: Option<(f64, f64, Learnt)> = None;
        for share in tries {
            let kernel = LeafKernel { length_scale: with.kernel.length_scale * share, ..with.kernel };
            let Some(learnt) = learn(with.params, &kernel, &squares, &y, seed) else { continue };
            let scores = learnt.without_each.mapv(|latent| with.params.learner.score(latent));
            let loss = scores.iter().zip(&y).map(|(score, y)| (score - y).powi(2)).sum::<f64>();
            if best.as_ref().is_none_or(|(least, ..)| loss < *least) {
                best = Some((loss, kernel.length_scale, learnt));
            }
        }
        let (_, length_scale, learnt) = best?;
        let gp = Gp {
            rows: rows.iter().map(|&row| row as u32).collect(),
            classes,
            weights: learnt.weights.clone(),
            offsets: learnt.offsets.clone(),
            length_scale,
        };
        Some((gp, learnt, places))
    }
}

impl Gp {
    /// Latent values of prepared rows: a column for each of its classes.
    fn latent(&self, kernel: &LeafKernel, x: ArrayView2<'_, f32>, rows: ArrayView2<'_, f32>) -> Array2<f64> {
        let own: Vec<usize> = self.rows.iter().map(|&row| row as usize).collect();
        let kernel = LeafKernel { length_scale: self.length_scale, ..*kernel };
        let k = kernel.covariances(&squares(x, rows.select(Axis(0), &own).view()));
        k.dot(&self.weights) + &self.offsets
    }

    /// The same without rows whose weights are 0.
    fn without_idle_rows(self) -> Self {
        let counts = |i: &usize| self.weights.row(*i).iter().any(|w| *w != 0.0);
        let kept: Vec<usize> = (0..self.rows.len()).filter(counts).collect();
        if kept.len() == self.rows.len() {
            return self;
        }
        let rows = kept.iter().map(|&i| self.rows[i]).collect();
        Self { rows, weights: self.weights.select(Axis(0), &kept), ..self }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        4 * self.rows.len() + 8 * (self.weights.len() + self.offsets.len()) + 2 * self.classes.len()
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

/// Labels as ±1: a column for each class.
pub(super) fn signs(rows: &[usize], classes: &[u16], labels: &[ClassId]) -> Array2<f64> {
    Array2::from_shape_fn((rows.len(), classes.len()), |(i, c)| {
        if labels[rows[i]].0 == u32::from(classes[c]) { 1.0 } else { -1.0 }
    })
}

/// Makes the scores of a leaf's classes ready to be averaged over trees.
pub(super) fn fuse(fusion: Fusion, mut scores: ArrayViewMut1<'_, f64>) {
    let sound = |score: f64| if score.is_finite() { score } else { -1.0 };
    let best = largest(scores.iter());
    let sum: f64 = scores.iter().map(|s| (sound(*s).clamp(-1.0, 1.0) + 1.0) / 2.0).sum();
    for (i, score) in scores.iter_mut().enumerate() {
        let own = sound(*score);
        *score = match fusion {
            Fusion::Mean => own,
            Fusion::Clipped => own.clamp(-1.0, 1.0),
            Fusion::Vote if best == Some(i) => 1.0,
            Fusion::Normalized if sum > 0.0 => (own.clamp(-1.0, 1.0) + 1.0) / sum - 1.0,
            Fusion::Vote | Fusion::Normalized => -1.0,
        };
    }
}

/// Scores of some classes as scores of all: the others have −1.
pub(super) fn spread<'a>(classes: &[u16], scores: impl IntoIterator<Item = &'a f64>, out: &mut [f64]) {
    out.fill(-1.0);
    for (&class, score) in classes.iter().zip(scores) {
        if let Some(out) = out.get_mut(usize::from(class)) {
            *out = *score;
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn fusion_rules_by_hand() {
        let spread_by = |fusion| {
            let mut scores = array![0.6, 1.4];
            fuse(fusion, scores.view_mut());
            let mut row = [0.0; 4];
            spread(&[1, 3], &scores, &mut row);
            row
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
    fn class_frequencies_leave_a_row_out() {
        let labels = [0, 0, 1].map(ClassId);
        let leaf = |rows: Vec<u32>| {
            let mut leaf = Leaf { rows, ..Leaf::default() };
            leaf.count(&labels);
            leaf
        };
        let three = leaf(vec![0, 1, 2]);
        assert_eq!(three.counts, [(0, 2), (1, 1)]);
        let loo = three.loo_frequencies(Fusion::Mean, &labels);
        assert_eq!(loo, array![[0.0, 0.0], [0.0, 0.0], [1.0, -1.0]]);
        assert_eq!(leaf(vec![2]).loo_frequencies(Fusion::Mean, &labels), array![[-1.0]]);
    }
}

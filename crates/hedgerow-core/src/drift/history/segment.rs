//! Figures of some rows, class by class.

use super::most_classes;

/// Rows of each class, with the means and scatters of their figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Segment {
    pub(super) counts: Vec<f64>,
    /// For each class and figure the mean, and the sum of squared deviations.
    means: Vec<f64>,
    scatters: Vec<f64>,
}

crate::columns! {
    SegmentColumns of Segment {
        lists counts: f64 = |segment| segment.counts.iter().copied(),
        lists means: f64 = |segment| segment.means.iter().copied(),
        lists scatters: f64 = |segment| segment.scatters.iter().copied(),
    }
    |SegmentColumns { counts, means, scatters }| {
        let n = counts.n_lists();
        let segment = |((counts, means), scatters): ((&[f64], &[f64]), &[f64])| {
            Segment { counts: counts.to_vec(), means: means.to_vec(), scatters: scatters.to_vec() }
        };
        let fits = means.n_lists() == n && scatters.n_lists() == n;
        fits.then(|| counts.iter().zip(means.iter()).zip(scatters.iter()).map(segment).collect())
    }
}

/// One of the numbers that segments are compared by: the mean of a figure of a class, or the frequency of a class.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) class: usize,
    pub(super) figure: Option<usize>,
}

/// Such a number: the mean of so many values, with the sum of their squared deviations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mean {
    pub(super) n: f64,
    pub(super) value: f64,
    pub(super) scatter: f64,
}

impl Segment {
    /// Adds a row (Welford, 1962).
    pub(super) fn add(&mut self, class: usize, figures: &[f64]) {
        let n = figures.len();
        self.make_room(class + 1, n);
        self.counts[class] += 1.0;
        let count = self.counts[class];
        let places = class * n..(class + 1) * n;
        let sums = self.means[places.clone()].iter_mut().zip(&mut self.scatters[places]);
        for (value, (mean, scatter)) in figures.iter().zip(sums) {
            let before = value - *mean;
            *mean += before / count;
            *scatter += before * (value - *mean);
        }
    }

    /// Adds the rows of another segment (Chan et al., 1979).
    pub(super) fn join(&mut self, other: &Self) {
        let n = self.n_figures().max(other.n_figures());
        self.make_room(other.counts.len(), n);
        for (class, more) in other.counts.iter().copied().enumerate().filter(|(_, more)| *more > 0.0) {
            let count = self.counts[class] + more;
            for place in class * n..(class + 1) * n {
                let step = other.means[place] - self.means[place];
                self.scatters[place] +=
                    other.scatters[place] + step * step * self.counts[class] * more / count;
                self.means[place] += step * more / count;
            }
            self.counts[class] = count;
        }
    }

    /// Rows.
    pub(super) fn n_rows(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Figures of each class.
    pub(super) fn n_figures(&self) -> usize {
        self.means.len() / self.counts.len().max(1)
    }

    /// The number at a place.
    pub(super) fn at(&self, place: Place) -> Mean {
        let n = self.counts.get(place.class).copied().unwrap_or(0.0);
        match place.figure {
            Some(_) if n == 0.0 => Mean { n, value: 0.0, scatter: 0.0 },
            Some(figure) => {
                let at = place.class * self.n_figures() + figure;
                Mean { n, value: self.means[at], scatter: self.scatters[at] }
            }
            None => {
                let n_rows = self.n_rows();
                let share = n / n_rows.max(1.0);
                Mean { n: n_rows, value: share, scatter: n * (1.0 - share) }
            }
        }
    }

    fn make_room(&mut self, n_classes: usize, n_figures: usize) {
        let n_classes = n_classes.max(self.counts.len());
        self.counts.resize(n_classes, 0.0);
        self.means.resize(n_classes * n_figures, 0.0);
        self.scatters.resize(n_classes * n_figures, 0.0);
    }

    /// Whether what was read is possible.
    pub(super) fn is_valid(&self, n_figures: usize) -> bool {
        let n = self.counts.len() * n_figures;
        let is_positive = |value: &f64| (0.0..f64::INFINITY).contains(value);
        self.counts.len() <= most_classes(n_figures)
            && self.means.len() == n
            && self.scatters.len() == n
            && self.means.iter().all(|value| value.is_finite())
            && self.counts.iter().chain(&self.scatters).all(is_positive)
    }
}

/// Some segments as one.
pub(super) fn joined(segments: &[Segment]) -> Segment {
    let mut joined = Segment::default();
    segments.iter().for_each(|segment| joined.join(segment));
    joined
}

/// Half as many segments, each of two.
pub(super) fn two_by_two(segments: &[Segment]) -> Vec<Segment> {
    segments.chunks(2).map(joined).collect()
}

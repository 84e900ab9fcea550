//! Segments that do not differ, joined to stretches.

use std::ops::Range;

use super::segment::{Place, Segment, joined, two_by_two};
use super::{StreamHistory, pace};

/// Stretches differ if they do by so many standard deviations of what chance does, and by so much of the scatter of their rows.
const LEAST_SCORE: f64 = 5.0;
const LEAST_SIZE: f64 = 0.03;
/// They are of one concept if they differ less than that, or by little compared with the change before (squared).
const MOST_SCORE_OF_SAME: f64 = 2.5;
const MOST_SHARE_OF_SAME: f64 = 0.01;
/// A stretch is on the way between two others if its squared distances from both come to less than this share of theirs.
const ON_THE_WAY: f64 = 0.9;
/// Fewest rows that have a mean.
const LEAST_ROWS: f64 = 10.0;
/// Fewest pairs of segments that tell what chance does.
const LEAST_PAIRS: usize = 8;
/// Labels come in runs if so many more rows than by chance have the label of the row before.
const RUNS: f64 = 0.1;

/// The segments of a history, joined until each has rows enough of its classes.
pub(super) struct Segments {
    pub(super) all: Vec<Segment>,
    /// Rows of each.
    pub(super) len: u64,
    /// Whether class frequencies count: not where labels come in runs, since what changes then is the order of the rows.
    has_frequencies: bool,
    /// By how much segments side by side differ as a rule: the median of scores, and their deviation.
    usual: [f64; 2],
}

/// Segments that do not differ. Between two stretches there may be segments on the way from one to the other.
pub(super) struct Stretch {
    pub(super) segments: Range<usize>,
    pub(super) figures: Segment,
}

/// How much two segments differ.
#[derive(Clone, Copy)]
pub(super) struct Difference {
    /// About standard normal if they do not.
    score: f64,
    /// The mean square of the steps, in units of the scatter of the rows, less what chance explains.
    pub(super) square: f64,
}

/// A number that two segments have in common.
pub(super) struct Step {
    pub(super) place: Place,
    /// How far it is from the one to the other.
    pub(super) size: f64,
    /// Half way.
    pub(super) middle: f64,
    /// The variance of the values, and that of the size.
    pub(super) variance: f64,
    of_size: f64,
}

impl Segments {
    pub(super) fn of(history: &StreamHistory) -> Self {
        let (mut all, mut len) = (history.segments.clone(), history.len);
        let whole = joined(&all);
        let n = whole.n_rows().max(1.0);
        // The probability that two rows are of one class; as many classes of equal size would be as hard to tell apart.
        let same: f64 = whole.counts.iter().map(|count| count * count / (n * n)).sum();
        while (len as f64) * same < 1.5 * LEAST_ROWS && all.len() > 1 {
            (all, len) = (two_by_two(&all), 2 * len);
        }
        let has_frequencies = history.n_repeats as f64 / n < same + RUNS;
        let mut segments = Self { all, len, has_frequencies, usual: [0.0, 1.0] };
        segments.usual = segments.usual_scores();
        segments
    }

    fn usual_scores(&self) -> [f64; 2] {
        let mut scores: Vec<f64> =
            self.all.windows(2).map(|pair| self.difference(&pair[0], &pair[1]).score).collect();
        if scores.len() < LEAST_PAIRS {
            return [0.0, 1.0];
        }
        let median = |values: &mut [f64]| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let middle = median(&mut scores);
        let mut deviations: Vec<f64> = scores.iter().map(|score| (score - middle).abs()).collect();
        // The standard deviation of a normal distribution is 1.4826 times its median deviation.
        [middle.max(0.0), (1.4826 * median(&mut deviations)).max(1.0)]
    }

    /// The stretches, in order.
    pub(super) fn stretches(&self) -> Vec<Stretch> {
        let all = self.all.iter().enumerate();
        let mut stretches: Vec<Stretch> =
            all.map(|(i, figures)| Stretch { segments: i..i + 1, figures: figures.clone() }).collect();
        loop {
            self.join_alike(&mut stretches);
            // A single segment lies across a change: it goes to what it is more like.
            let single = (1..stretches.len().saturating_sub(1)).find(|&at| stretches[at].segments.len() == 1);
            let Some(at) = single else { break };
            let [before, after] = [at - 1, at + 1]
                .map(|other| self.difference(&stretches[other].figures, &stretches[at].figures).square);
            join(&mut stretches, if before <= after { at - 1 } else { at });
        }
        while let Some(at) =
            (1..stretches.len().saturating_sub(1)).find(|&at| self.is_on_the_way(&stretches, at))
        {
            stretches.remove(at);
        }
        stretches
    }

    /// Joins stretches side by side that do not differ, the most alike first.
    fn join_alike(&self, stretches: &mut Vec<Stretch>) {
        loop {
            let pairs = stretches.windows(2).map(|pair| self.difference(&pair[0].figures, &pair[1].figures));
            let alike = pairs.enumerate().filter(|(_, difference)| !difference.is_one());
            let Some((at, _)) = alike.min_by(|(_, a), (_, b)| a.score.total_cmp(&b.score)) else { return };
            join(stretches, at);
        }
    }

    /// Whether a stretch is but a part of a slow change from the one before to the one after.
    fn is_on_the_way(&self, stretches: &[Stretch], at: usize) -> bool {
        let [before, own, after] = [&stretches[at - 1], &stretches[at], &stretches[at + 1]];
        let square = |a: &Stretch, b: &Stretch| self.difference(&a.figures, &b.figures).square;
        square(before, own) + square(own, after) < ON_THE_WAY * square(before, after)
            && pace::is_slow_through(self, before, own, after)
    }

    /// Whether two stretches are of one concept, where a change of such a size lies between them.
    pub(super) fn is_same(&self, a: &Segment, b: &Segment, change: Difference) -> bool {
        let difference = self.difference(a, b);
        difference.score < MOST_SCORE_OF_SAME || difference.square < MOST_SHARE_OF_SAME * change.square
    }

    /// How much two segments differ.
    pub(super) fn difference(&self, a: &Segment, b: &Segment) -> Difference {
        let (mut errors, mut square, mut n) = (0.0, 0.0, 0.0);
        for step in self.steps(a, b) {
            errors += step.size * step.size / step.of_size;
            square += (step.size * step.size - step.of_size) / step.variance;
            n += 1.0;
        }
        if n == 0.0 {
            return Difference { score: 0.0, square: 0.0 };
        }
        // The cube root of χ² is about normal (Wilson & Hilferty, 1931).
        let spread = 2.0 / (9.0 * n);
        let normal = (libm::cbrt(errors / n) - (1.0 - spread)) / libm::sqrt(spread);
        Difference { score: (normal - self.usual[0]) / self.usual[1], square: f64::max(square / n, 0.0) }
    }

    /// The numbers that two segments have in common, as far as they have rows enough.
    pub(super) fn steps(&self, a: &Segment, b: &Segment) -> Vec<Step> {
        let n_figures = a.n_figures().max(b.n_figures());
        let of_class = |class: usize| {
            let frequency = self.has_frequencies.then_some(Place { class, figure: None });
            (0..n_figures).map(move |figure| Place { class, figure: Some(figure) }).chain(frequency)
        };
        let places = (0..a.counts.len().max(b.counts.len())).flat_map(of_class);
        places.filter_map(|place| step(a, b, place)).collect()
    }
}

impl Difference {
    fn is_one(self) -> bool {
        self.score >= LEAST_SCORE && self.square >= LEAST_SIZE * LEAST_SIZE
    }
}

/// Joins a stretch with the next one.
fn join(stretches: &mut Vec<Stretch>, at: usize) {
    let next = stretches.remove(at + 1);
    stretches[at].segments.end = next.segments.end;
    stretches[at].figures.join(&next.figures);
}

fn step(a: &Segment, b: &Segment, place: Place) -> Option<Step> {
    let (a, b) = (a.at(place), b.at(place));
    if a.n < LEAST_ROWS || b.n < LEAST_ROWS {
        return None;
    }
    let size = b.value - a.value;
    // What does not vary within a segment differs by much as soon as it differs at all.
    let least = 1e-9 * (a.value.abs() + b.value.abs());
    let variance = ((a.scatter + b.scatter) / (a.n + b.n - 2.0)).max(least * least);
    let middle = (a.value + b.value) / 2.0;
    let of_size = variance * (1.0 / a.n + 1.0 / b.n);
    (of_size > 0.0).then_some(Step { place, size, middle, variance, of_size })
}

//! How fast one concept gives way to the next.
//!
//! Between two stretches, the share of the new concept in a segment is where its figures lie on the line from the old ones to the new. A step is
//! fitted to these shares, and the sigmoid of a gradual change (Bifet, Holmes, Pfahringer, Kirkby & Gavaldà, 2009); the sigmoid is taken only
//! where it fits better by more than chance explains, for one change or for all of them.

use std::ops::Range;

use super::stretches::{Segments, Stretch};

/// By how much sigmoids must fit better than steps, in squared standard errors; and by how much one may fit worse than three levels.
const LEAST_GAIN: f64 = 7.0;
const SLACK: f64 = 8.0;
/// The narrowest sigmoid, in segments, how many widths are tried, and how often the best fit is refined.
const LEAST_WIDTH: f64 = 2.0;
const N_WIDTHS: i32 = 13;
const N_REFINED: i32 = 6;

/// A change, in segments from the first: its middle, and how many segments it took.
#[derive(Clone, Copy)]
pub(super) struct Fit {
    pub(super) middle: f64,
    pub(super) width: f64,
    error: f64,
}

/// The share of the new concept in a segment, and one by its variance.
struct Share {
    at: f64,
    value: f64,
    weight: f64,
}

/// How the concept of one stretch gave way to that of the next, at once or slowly, and by how much the second fits better.
struct Fits {
    step: Fit,
    slow: Fit,
    gain: f64,
}

/// How each stretch gave way to the next one.
pub(super) fn changes(segments: &Segments, stretches: &[Stretch]) -> Vec<Fit> {
    let all: Vec<Fits> = stretches.windows(2).map(|pair| fits(segments, &pair[0], &pair[1])).collect();
    // The changes of a stream are often alike: what each of them hardly shows, all of them may.
    let in_all: f64 = all.iter().map(|fits| fits.gain).sum();
    let least = if in_all > LEAST_GAIN { 0.0 } else { LEAST_GAIN };
    let chosen = |fits: &Fits| if fits.gain > least { fits.slow } else { fits.step };
    all.iter().map(chosen).collect()
}

fn fits(segments: &Segments, before: &Stretch, after: &Stretch) -> Fits {
    let shares = shares(segments, before, after);
    let (step, slow) = (best_step(&shares), best_sigmoid(&shares));
    Fits { step, slow, gain: (step.error - slow.error) / scale(&shares, slow.error) }
}

/// Whether shares rise slowly all the way from one stretch to another, rather than stay for a while in between.
pub(super) fn is_slow_through(
    segments: &Segments,
    before: &Stretch,
    between: &Stretch,
    after: &Stretch,
) -> bool {
    let shares = shares(segments, before, after);
    let of_level = |stretch: &Stretch| error_about_mean(&shares, &stretch.segments);
    let levels: f64 = [before, between, after].into_iter().map(of_level).sum();
    let slow = best_sigmoid(&shares).error;
    slow < levels + SLACK * scale(&shares, levels.min(slow))
}

fn shares(segments: &Segments, before: &Stretch, after: &Stretch) -> Vec<Share> {
    let steps = segments.steps(&before.figures, &after.figures);
    let range = before.segments.start..after.segments.end;
    let share = |i: usize| {
        let (mut along, mut weight) = (0.0, 0.0);
        for step in &steps {
            let own = segments.all[i].at(step.place);
            along += own.n * step.size * (own.value - step.middle) / step.variance;
            weight += own.n * step.size * step.size / step.variance;
        }
        let value = 0.5 + along / weight;
        // Which rows of a slow change follow the new concept is drawn.
        let drawn = value.clamp(0.0, 1.0) * (1.0 - value.clamp(0.0, 1.0)) / segments.all[i].n_rows();
        (weight > 0.0).then(|| Share { at: i as f64 + 0.5, value, weight: 1.0 / (1.0 / weight + drawn) })
    };
    range.filter_map(share).collect()
}

/// The variance of shares, where it is more than one squared standard error.
fn scale(shares: &[Share], error: f64) -> f64 {
    (error / shares.len().max(1) as f64).max(1.0)
}

fn error_about_mean(shares: &[Share], segments: &Range<usize>) -> f64 {
    let own: Vec<&Share> = shares.iter().filter(|share| segments.contains(&(share.at as usize))).collect();
    let weight: f64 = own.iter().map(|share| share.weight).sum();
    let mean =
        own.iter().map(|share| share.weight * share.value).sum::<f64>() / weight.max(f64::MIN_POSITIVE);
    own.iter().map(|share| share.weight * (share.value - mean) * (share.value - mean)).sum()
}

/// A change with such a middle and width. A segment across a step has its part of both concepts.
fn fit(shares: &[Share], middle: f64, width: f64) -> Fit {
    let of = |at: f64| {
        if width > 0.0 {
            1.0 / (1.0 + libm::exp(-4.0 * (at - middle) / width))
        } else {
            (at + 0.5 - middle).clamp(0.0, 1.0)
        }
    };
    let error = |share: &Share| share.weight * (share.value - of(share.at)) * (share.value - of(share.at));
    Fit { middle, width, error: shares.iter().map(error).sum() }
}

fn best_step(shares: &[Share]) -> Fit {
    let coarse = best(middles(shares).map(|middle| fit(shares, middle, 0.0)));
    refined(coarse, |fit_so_far, share| {
        let by = 0.5 * share;
        best([-by, by].into_iter().map(|by| fit(shares, fit_so_far.middle + by, 0.0)))
    })
}

fn best_sigmoid(shares: &[Share]) -> Fit {
    let n = shares.len() as f64;
    // Each width is 1.4 times the one before.
    let widths = (0..N_WIDTHS).map(|i| LEAST_WIDTH * libm::pow(2.0, f64::from(i) / 2.0));
    let widths = widths.filter(|width| *width <= LEAST_WIDTH.max(2.0 * n));
    let coarse = best(widths.flat_map(|width| middles(shares).map(move |middle| fit(shares, middle, width))));
    refined(coarse, |fit_so_far, share| {
        let (by, times) = (0.5 * share, libm::pow(2.0, share / 4.0));
        let near = [(-by, 1.0), (by, 1.0), (0.0, 1.0 / times), (0.0, times)];
        best(near.into_iter().map(|(by, times)| {
            fit(shares, fit_so_far.middle + by, (fit_so_far.width * times).max(LEAST_WIDTH))
        }))
    })
}

/// Where the middle of a change may be.
fn middles(shares: &[Share]) -> impl Iterator<Item = f64> {
    shares.iter().skip(1).map(|share| share.at - 0.5)
}

/// Moves a fit as long as a neighbour is better, then halves how far neighbours are away.
fn refined(mut fit: Fit, neighbor: impl Fn(Fit, f64) -> Fit) -> Fit {
    for round in 0..N_REFINED {
        let share = libm::pow(0.5, f64::from(round));
        loop {
            let next = neighbor(fit, share);
            if next.error >= fit.error || next.error.is_nan() {
                break;
            }
            fit = next;
        }
    }
    fit
}

fn best(fits: impl Iterator<Item = Fit>) -> Fit {
    let none = Fit { middle: 0.0, width: 0.0, error: f64::INFINITY };
    fits.min_by(|a, b| a.error.total_cmp(&b.error)).unwrap_or(none)
}

use ndarray::{array, s};

use super::*;
use crate::special::gamma::digamma;

fn evidence(concentrations: Array2<f64>, prior: f64) -> SecondOrder {
    SecondOrder::dirichlet(About::RelativeEvidence, concentrations, prior).unwrap()
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, not {expected}");
}

/// The expectation of something under Beta(a, b), by a sum of its density over many points.
fn expected(a: f64, b: f64, of: impl Fn(f64) -> f64) -> f64 {
    let n = 400_000;
    let point = |i: i32| (f64::from(i) + 0.5) / f64::from(n);
    // Powers of points that crowd at the ends, where the density of small parameters is infinite: x = s²(3 − 2s).
    let at = |s: f64| {
        let x = s * s * (3.0 - 2.0 * s);
        crate::special::beta::density(a, b, x) * of(x) * 6.0 * s * (1.0 - s)
    };
    (0..n).map(|i| at(point(i))).sum::<f64>() / f64::from(n)
}

#[test]
fn published_moments_of_beta_distributions() {
    // The prior of Jeffreys; a leaf of 1 artificial, 1 and 4 rows; the same with 4 artificial ones (Röder, 2013, section 3.5).
    let rows = array![[0.5, 0.5], [1.5, 4.5], [1.055_555_56, 2.722_222_22]];
    let all = evidence(rows, 0.5);
    let (mean, variance) = (all.mean(), all.variance());
    near(variance[(0, 0)], 0.125, 1e-15);
    near(mean[(1, 1)], 0.75, 1e-15);
    near(variance[(1, 1)], 0.026_785_71, 1e-8);
    near(mean[(2, 1)], 0.720_588_24, 1e-8);
    near(variance[(2, 1)], 0.042_141_10, 1e-8);
    assert_eq!(all.counts().row(1).to_vec(), [1.0, 4.0]);
    assert_eq!((all.about().name(), all.n_rows(), all.n_classes()), ("relative evidence", 3, 2));
}

#[test]
fn parts_of_the_entropy_like_sums_over_the_density() {
    for (a, b) in [(0.5, 0.5), (1.0, 3.0), (0.7, 12.0), (40.0, 60.0), (2000.0, 100.0)] {
        let parts = evidence(array![[a, b]], 0.0).entropies();
        let binary = |x: f64| entropy_of(&[x, 1.0 - x]);
        near(parts.total[0], binary(a / (a + b)), 1e-12);
        near(parts.aleatoric[0], expected(a, b, binary), 2e-6);
        near(parts.aleatoric[0] + parts.epistemic[0], parts.total[0], 1e-14);
    }
    // The closed form for any number of classes: ψ(A + 1) − Σ m ψ(α + 1).
    let alpha = array![0.3, 2.0, 5.5, 1e-6];
    let parts = evidence(alpha.clone().insert_axis(Axis(0)), 0.0).entropies();
    let own = |a: &f64| a / alpha.sum() * digamma(a + 1.0);
    near(parts.aleatoric[0], digamma(alpha.sum() + 1.0) - alpha.iter().map(own).sum::<f64>(), 1e-13);
}

fn entropy_of(p: &[f64]) -> f64 {
    p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}

#[test]
fn parts_of_the_variance() {
    let all = evidence(array![[0.5, 0.5], [3.0, 1.0], [30.0, 10.0]], 0.5);
    let parts = all.variances();
    near(parts.total[0], 0.5, 1e-15);
    near(parts.epistemic[0], 0.25, 1e-15);
    near(parts.epistemic[1], 0.375 / 5.0, 1e-15);
    near(parts.aleatoric[2], 0.375 * 40.0 / 41.0, 1e-14);
    assert!(parts.total[1] == parts.total[2] && parts.epistemic[1] > parts.epistemic[2]);
}

#[test]
fn numbers_of_any_size_give_finite_results() {
    let sizes = [1e-300, 1e-12, 1e-3, 0.5, 40.0, 1e8, 1e12];
    for (&a, &b) in sizes.iter().flat_map(|a| sizes.iter().map(move |b| (a, b))) {
        let all = evidence(array![[a, b]], 0.0);
        near(all.mean().sum(), 1.0, 1e-12);
        let [low, high] = all.interval(0.9).unwrap();
        assert!(low.iter().chain(&high).all(|q| (0.0..=1.0).contains(q)), "{a} {b}");
        assert!(low[(0, 0)] <= high[(0, 0)]);
        near(low[(0, 0)] + high[(0, 1)], 1.0, 1e-9);
        for parts in [all.entropies(), all.variances()] {
            let each = [parts.total[0], parts.aleatoric[0], parts.epistemic[0]];
            assert!(each.iter().all(|v| v.is_finite() && *v >= 0.0), "{a} {b}: {each:?}");
        }
        let drawn = all.sample(5, 1);
        assert!(drawn.iter().all(|p| (0.0..=1.0).contains(p)), "{a} {b}");
        assert!(drawn.lanes(Axis(2)).into_iter().all(|p| (p.sum() - 1.0).abs() < 1e-12));
    }
    // (K − 1)/2A, to many digits: differences of entropies would have two left.
    let parts = evidence(array![[3e7, 7e7]], 0.0).entropies();
    near(parts.epistemic[0] / 0.5e-8, 1.0, 1e-6);
}

#[test]
fn more_evidence_for_the_same_mean_is_less_epistemic() {
    let rows =
        Array2::from_shape_fn((30, 3), |(row, class)| [0.2, 0.3, 0.5][class] * 1.5_f64.powf(row as f64));
    let parts = evidence(rows, 0.0).entropies();
    assert!(parts.epistemic.windows(2).all(|pair| pair[1] < pair[0]));
    assert!(parts.aleatoric.windows(2).all(|pair| pair[1] > pair[0]));
}

#[test]
fn intervals_and_densities_of_one_class_are_those_of_its_beta_distribution() {
    let all = evidence(array![[2.0, 3.0, 4.0]], 0.0);
    let [low, high] = all.interval(0.8).unwrap();
    for class in 0..3 {
        let a = [2.0, 3.0, 4.0][class];
        near(crate::special::beta::cdf(a, 9.0 - a, low[(0, class)]), 0.1, 1e-12);
        near(crate::special::beta::cdf(a, 9.0 - a, high[(0, class)]), 0.9, 1e-12);
    }
    assert_eq!(all.quantile(0.0).unwrap(), array![[0.0, 0.0, 0.0]]);
    near(all.density(0, &[0.25]).unwrap()[(0, 0)], 56.0 * 0.25 * 0.75_f64.powi(6), 1e-12);
    for wrong in [0.0, 1.0, -0.1, f64::NAN] {
        let message = all.interval(wrong).unwrap_err().to_string();
        assert!(message.contains("level") && message.contains("between 0 and 1"), "{message}");
    }
    assert!(all.quantile(1.1).is_err() && all.density(3, &[0.5]).is_err());
    // A single class is certain.
    let one = evidence(array![[4.0]], 0.5);
    assert_eq!(
        (one.mean(), one.variance(), one.quantile(0.3).unwrap()),
        (array![[1.0]], array![[0.0]], array![[1.0]])
    );
    assert_eq!(one.density(0, &[0.3, 1.0]).unwrap(), array![[0.0, f64::INFINITY]]);
}

#[test]
fn impossible_distributions_are_refused() {
    for wrong in
        [array![[0.0, 1.0]], array![[f64::NAN, 1.0]], array![[1.0, f64::INFINITY]], array![[0.4, 1.0]]]
    {
        assert!(SecondOrder::dirichlet(About::RelativeEvidence, wrong, 0.5).is_err());
    }
    assert!(SecondOrder::dirichlet(About::RelativeEvidence, array![[1.0]], -1.0).is_err());
    let samples = |values: Array3<f64>| SecondOrder::samples(About::TrueProbability, values);
    assert!(samples(Array3::zeros((0, 2, 2))).is_err() && samples(Array3::zeros((1, 2, 2))).is_err());
    assert!(samples(Array3::from_elem((3, 2, 2), 0.5)).is_ok());
}

#[test]
fn draws_have_the_moments_of_their_distribution_and_repeat() {
    let all = evidence(array![[0.05, 0.4, 1.5], [20.0, 30.0, 50.0]], 0.0);
    let drawn = all.sample(20_000, 7);
    assert_eq!(drawn, all.sample(20_000, 7));
    assert_ne!(drawn.slice(s![..3, .., ..]), all.sample(3, 8));
    let sampled = SecondOrder::samples(About::RelativeEvidence, drawn).unwrap();
    let (mean, variance) = (all.mean(), all.variance());
    for ((row, class), m) in mean.indexed_iter() {
        let error = (variance[(row, class)] / 20_000.0).sqrt();
        near(sampled.mean()[(row, class)], *m, 5.0 * error);
        near(sampled.variance()[(row, class)] / variance[(row, class)], 1.0, 0.1);
        for level in [0.2, 0.5, 0.9] {
            let [closed, found] = [&all, &sampled].map(|of| of.quantile(level).unwrap()[(row, class)]);
            near(found, closed, 0.02);
        }
    }
    let [closed, found] = [&all, &sampled].map(SecondOrder::entropies);
    for row in 0..2 {
        near(found.aleatoric[row], closed.aleatoric[row], 0.01);
        near(found.epistemic[row], closed.epistemic[row], 0.01);
    }
    // The counts of samples stand for as much evidence.
    near(sampled.counts().row(1).sum(), 100.0, 4.0);
    let points = [0.2, 0.3, 0.4];
    let [closed, found] = [&all, &sampled].map(|of| of.density(1, &points).unwrap());
    (0..3).for_each(|i| near(found[(1, i)], closed[(1, i)], 0.1 * closed[(1, 1)]));
}

#[test]
fn samples_by_hand() {
    let samples = array![[[0.2, 0.8]], [[0.4, 0.6]], [[0.9, 0.1]]];
    let all = SecondOrder::samples(About::TrueProbability, samples.clone()).unwrap();
    assert_eq!((all.n_rows(), all.n_classes(), all.as_samples().unwrap()), (1, 2, samples.view()));
    near(all.mean()[(0, 0)], 0.5, 1e-15);
    near(all.variance()[(0, 0)], (0.09 + 0.01 + 0.16) / 3.0, 1e-15);
    near(all.quantile(0.25).unwrap()[(0, 0)], 0.3, 1e-15);
    near(all.quantile(1.0).unwrap()[(0, 0)], 0.9, 1e-15);
    let parts = all.variances();
    near(parts.aleatoric[0], 2.0 * (0.16 + 0.24 + 0.09) / 3.0, 1e-15);
    // The mass of the smoothed density is 1, although it is cut off at 0 and 1.
    let points: Vec<f64> = (0..1000).map(|i| (f64::from(i) + 0.5) / 1000.0).collect();
    near(all.density(0, &points).unwrap().sum() / 1000.0, 1.0, 1e-3);
    let alike = SecondOrder::samples(About::TrueProbability, Array3::from_elem((4, 1, 2), 0.5)).unwrap();
    assert_eq!(alike.density(0, &[0.5, 0.6]).unwrap(), array![[f64::INFINITY, 0.0]]);
    assert!(alike.counts().sum() > 1e11 && alike.concentrations().is_none());
}

#[test]
fn normal_log_odds_like_sums_over_quantiles() {
    let location = array![[-0.4, 0.4], [3.0, -3.0], [-6.0, 6.0]];
    let deviation = array![[1.3, 1.3], [0.2, 0.2], [4.0, 4.0]];
    let all = SecondOrder::logit_normal(About::TrueProbability, location, deviation, 0.0).unwrap();
    let (mean, variance, parts) = (all.mean(), all.variance(), all.entropies());
    let n = 20_000;
    for row in 0..3 {
        // Equal shares of the distribution, each by its middle.
        let form = |level: f64| all.quantile(level).unwrap()[(row, 1)];
        let draws: Vec<f64> = (0..n).map(|i| form((f64::from(i) + 0.5) / f64::from(n))).collect();
        let expected = |of: &dyn Fn(f64) -> f64| draws.iter().map(|q| of(*q)).sum::<f64>() / f64::from(n);
        near(mean[(row, 1)], expected(&|q| q), 2e-5);
        near(mean.row(row).sum(), 1.0, 1e-12);
        let m = mean[(row, 1)];
        near(variance[(row, 1)], expected(&|q| (q - m) * (q - m)), 2e-5);
        near(parts.aleatoric[row], expected(&|q| entropy_of(&[q, 1.0 - q])), 2e-5);
        // The density is the slope of the distribution function.
        let [low, high] = [0.3, 0.300_1].map(form);
        near(all.density(1, &[0.5 * (low + high)]).unwrap()[(row, 0)] * (high - low) / 1e-4, 1.0, 1e-3);
    }
    assert!(all.concentrations().is_none() && all.as_samples().is_none());
    let draws = all.sample(4000, 7);
    near(draws.mean_axis(Axis(0)).unwrap()[(0, 1)], mean[(0, 1)], 0.02);
    assert!(draws.sum_axis(Axis(2)).iter().all(|sum| (sum - 1.0).abs() < 1e-12));
    assert_eq!([0.0, 1.0].map(|level| all.quantile(level).unwrap()[(0, 0)]), [0.0, 1.0]);
}

#[test]
fn known_probabilities_and_impossible_log_odds() {
    let about = About::TrueProbability;
    let known = SecondOrder::logit_normal(about, array![[0.0, 0.0]], array![[0.0, 0.0]], 0.0).unwrap();
    assert_eq!(known.interval(0.9).unwrap(), [array![[0.5, 0.5]], array![[0.5, 0.5]]]);
    assert_eq!((known.variance().sum(), known.entropies().epistemic[0]), (0.0, 0.0));
    assert!(known.counts().sum() > 1e11 && known.density(0, &[0.5, 0.7]).unwrap()[(0, 1)] == 0.0);
    for wrong in [f64::NAN, f64::INFINITY] {
        assert!(SecondOrder::logit_normal(about, array![[wrong]], array![[1.0]], 0.0).is_err());
        assert!(SecondOrder::logit_normal(about, array![[1.0]], array![[wrong]], 0.0).is_err());
    }
    assert!(SecondOrder::logit_normal(about, array![[1.0]], array![[-1.0]], 0.0).is_err());
    assert!(SecondOrder::logit_normal(about, array![[1.0]], array![[1.0, 1.0]], 0.0).is_err());
    assert!(SecondOrder::logit_normal(about, array![[1.0]], array![[1.0]], 0.5).is_err());
}

#[test]
fn ends_that_cannot_be_told_from_none_are_none() {
    let about = About::TrueProbability;
    let (location, deviation) = (array![[-4.0, 4.0], [0.0, 0.0]], array![[0.5, 0.5], [0.1, 0.1]]);
    let fine = SecondOrder::logit_normal(about, location.clone(), deviation.clone(), 0.0).unwrap();
    let coarse = SecondOrder::logit_normal(about, location, deviation, 0.02).unwrap();
    let ([low, high], [fine_low, fine_high]) = (coarse.interval(0.9).unwrap(), fine.interval(0.9).unwrap());
    assert!(fine_low[(0, 0)] > 0.005 && low[(0, 0)] == 0.0 && high[(0, 1)] == 1.0);
    assert_eq!((high[(0, 0)], low[(0, 1)]), (fine_high[(0, 0)], fine_low[(0, 1)]), "the other ends stay");
    assert_eq!((low.row(1), high.row(1)), (fine_low.row(1), fine_high.row(1)));
}

//! Against the published numbers, and against the same without shortcuts.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::special::beta;
use hedgerow_core::testing::blobs;
use hedgerow_core::{About, ClassId, Par};
use ndarray::{Array2, Array3, array};

use super::counts::{DensityKernel, LabelCounts, square};
use super::*;
use crate::pool::Pool;

/// a, b, the losses of taking the first class for the second and the other way round, the training utility.
#[test]
fn training_utilities_of_beta_distributions() {
    let table = [
        ([0.5, 0.5], [1.0, 1.0], std::f64::consts::FRAC_1_PI),
        ([1.0, 1.0], [1.0, 1.0], 0.25),
        ([2.0, 1.0], [1.0, 1.0], 0.083_333_33),
        ([1.5, 0.5], [1.0, 1.0], 0.068_309_89),
        ([2.0, 2.0], [1.0, 1.0], 0.187_5),
        ([10.0, 10.0], [1.0, 1.0], 0.088_098_53),
        ([50.0, 50.0], [1.0, 1.0], 0.039_794_62),
        ([10.5, 0.5], [1.0, 1.0], 0.000_013_60),
        ([0.5, 0.5], [1.0, 4.0], 0.193_868_92),
        ([0.5, 1.5], [1.0, 4.0], 0.371_842_03),
        ([1.0, 4.0], [1.0, 4.0], 0.327_68),
    ];
    for ([a, b], losses, expected) in table {
        let found = beta_utility([a, b], losses);
        assert!((found - expected).abs() < 6e-9, "{a} {b} {losses:?}: {found}, not {expected}");
    }
    // Two classes of a density estimate in two dimensions: a label at the row, and one at a squared distance of 2.
    let kernel = DensityKernel { bandwidth: 1.0, dimensions: 2 };
    let [a, b] = [0.5 + kernel.at(0.0), 0.5 + kernel.at(2.0)];
    assert!((a - 2.5).abs() < 1e-12 && (b - 1.235_758_88).abs() < 1e-8);
    assert!((beta_utility([a, b], [1.0, 1.0]) - 0.067_181_32).abs() < 1e-8);
}

#[test]
fn utilities_fall_with_evidence_and_do_not_depend_on_the_names_of_classes() {
    for (a, b) in [(0.5, 0.5), (3.0, 1.0), (200.0, 190.0), (5e4, 5e4)] {
        let [one, other] = [[a, b], [b, a]].map(|pair| beta_utility(pair, [1.0, 1.0]));
        assert!((one - other).abs() <= 1e-12 * one.abs() + 1e-300, "{one} {other}");
        let more = beta_utility([2.0 * a, 2.0 * b], [1.0, 1.0]);
        assert!(one >= 0.0 && more < one, "{a} {b}");
    }
    assert!(beta_utility([1e6, 1.0], [1.0, 1.0]) >= 0.0);
}

/// Loss now less loss if the probability were known, by sums over a fine grid.
#[test]
fn utilities_are_differences_of_losses() {
    for ([a, b], [first, second]) in
        [([2.0, 3.0], [1.0, 1.0]), ([4.0, 1.5], [1.0, 3.0]), ([9.0, 30.0], [2.0, 5.0])]
    {
        let theta = first / (first + second);
        let mean: f64 = a / (a + b);
        let now = (mean * second).min((1.0 - mean) * first);
        let n = 200_000;
        let ideal: f64 = (0..n)
            .map(|i| {
                let q = (i as f64 + 0.5) / n as f64;
                let loss = if q <= theta { q * second } else { (1.0 - q) * first };
                beta::density(a, b, q) * loss / n as f64
            })
            .sum();
        let found = beta_utility([a, b], [first, second]);
        assert!((found - (now - ideal)).abs() < 1e-7, "{found} {}", now - ideal);
    }
}

#[test]
fn several_classes_are_those_of_two_and_of_draws() {
    // A third class that weighs nothing changes nothing.
    for [b, a] in [[0.5, 0.5], [2.0, 3.0], [40.0, 38.0], [1000.0, 1010.0]] {
        let two = beta_utility([a, b], [1.0, 2.0]);
        let three = dirichlet_utility(&[b, a, 1e-9], &[1.0, 2.0, 1.0]);
        assert!((three - two).abs() < 1e-5 * two + 1e-12, "{a} {b}: {three} {two}");
    }
    for (alpha, losses) in [
        (vec![1.0 / 3.0; 3], vec![1.0; 3]),
        (vec![2.2, 1.2, 0.2, 0.2, 0.2], vec![1.0; 5]),
        (vec![30.0, 25.0, 28.0], vec![1.0, 2.0, 1.0]),
    ] {
        let found = dirichlet_utility(&alpha, &losses);
        let row = Array2::from_shape_vec((1, alpha.len()), alpha.clone()).unwrap();
        let known = SecondOrder::dirichlet(About::RelativeEvidence, row, 0.0).unwrap();
        let draws = known.sample(200_000, 1);
        let drawn = utility::of_draws(draws.slice(ndarray::s![.., 0, ..]), &losses);
        assert!((found - drawn).abs() < 2e-3, "{alpha:?}: {found} {drawn}");
    }
    assert_eq!(dirichlet_utility(&[3.0], &[1.0]), 0.0);
}

/// Röder, section 4.4.2: half of the mass at 0.2, half at 0.9.
#[test]
fn samples_are_taken_as_they_are() {
    let samples = Array3::from_shape_vec((2, 1, 2), vec![0.8, 0.2, 0.1, 0.9]).unwrap();
    let known = SecondOrder::samples(About::RelativeEvidence, samples).unwrap();
    assert!((of_second_order(&known, &[1.0, 1.0], 0)[0] - 0.30).abs() < 1e-12);
    let normal =
        SecondOrder::logit_normal(About::RelativeEvidence, array![[0.1, -0.1]], array![[1.0, 1.0]], 0.0);
    let drawn = of_second_order(&normal.unwrap(), &[1.0, 1.0], 0)[0];
    assert!(drawn > 0.05 && drawn < 0.2, "{drawn}");
}

#[test]
fn counts_kept_up_to_date_are_those_counted_anew() {
    let data = blobs(300, 3, 3, 7);
    let (x, par) = (data.features.to_array(0..300), Par::new(2).unwrap());
    let kernel = DensityKernel { bandwidth: 0.7, dimensions: 3 };
    let mut pool = Pool::new(data.schema.clone(), data.features.clone(), vec![None; 300]).unwrap();
    let mut counts = LabelCounts::new(300, 3);
    let mut rng = Rng::new(1, Purpose::Data, 0);
    for step in 0..60 {
        match step % 7 {
            5 => drop(pool.take_label(pool.labelled()[step % pool.labelled().len()])),
            6 => pool.set_label(pool.labelled()[0], ClassId(rng.below(3))).unwrap(),
            _ => pool.set_label(rng.index(300), ClassId(rng.below(3))).unwrap(),
        }
        counts.update(&pool, x.view(), kernel, &par);
        let mut anew = LabelCounts::new(300, 3);
        anew.update(&pool, x.view(), kernel, &Par::sequential());
        assert!(counts == anew, "step {step}");
    }
    for row in [0, 17, 299] {
        for class in 0..3 {
            let naive: f64 = (0..300)
                .filter(|other| pool.label(*other) == Some(ClassId(class)))
                .map(|other| 2f64.powf(1.5) * (-square(x.row(row), x.row(other)) / (2.0 * 0.49)).exp())
                .sum();
            assert!((counts.row(row)[class as usize] - naive).abs() < 1e-9 * (1.0 + naive));
        }
    }
}

use super::*;
use crate::params::Params as _;

fn made(problem: Problem, n_features: usize, seed: u64) -> Generator {
    Generator::known(problem, &KnownParams { n_features, seed }.check().unwrap()).unwrap()
}

/// Labels are as frequent as the probabilities say: in ten bands of probability, and per class.
#[test]
fn labels_follow_their_probabilities() {
    let n = 20_000;
    for &problem in Problem::ALL.iter().filter(|problem| !problem.name().starts_with("odd")) {
        let mut generator = made(problem, 0, 5);
        let n_classes = generator.schema().n_classes();
        let (mut row, mut bands) = (Vec::new(), vec![[0.0_f64; 3]; 10 * n_classes]);
        for _ in 0..n {
            let class = generator.next_into(&mut row);
            let truth = generator.probabilities(&row).unwrap();
            assert_eq!(truth.len(), n_classes);
            assert!((truth.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{problem:?}");
            for (c, p) in truth.iter().enumerate() {
                assert!((0.0..=1.0).contains(p));
                let band = &mut bands[10 * c + ((10.0 * p) as usize).min(9)];
                band[0] += f64::from(u8::from(class.index() == c)) - p;
                band[1] += p * (1.0 - p);
                band[2] += 1.0;
            }
        }
        for [error, variance, _] in bands.iter().filter(|band| band[2] > 50.0) {
            // One of two hundred such sums is beyond four deviations once in a hundred runs; the seed is fixed.
            assert!(error.abs() < 4.0 * variance.sqrt() + 0.5, "{problem:?}: {error} of {variance}");
        }
    }
}

#[test]
fn published_values() {
    let at = |problem, row: &[f32]| made(problem, row.len(), 0).probabilities(row).unwrap()[1];
    // Röder (2013, section 3.5): 0.07 at 20, far to the right.
    assert!((at(Problem::Bumps, &[20.0]) - 0.0714).abs() < 5e-5);
    // Of normal classes at ±μ the logit is linear: 2 μ·x.
    let logistic = |z: f64| 1.0 / (1.0 + (-z).exp());
    assert!((at(Problem::Gaussians, &[0.3, -0.5]) - logistic(0.4)).abs() < 1e-6);
    assert!((at(Problem::RareGaussians, &[0.0, 0.0]) - 0.1).abs() < 1e-12);
    let a = 2.0 / 20.0_f64.sqrt();
    assert!((at(Problem::Twonorm, &[0.1; 20]) - logistic(-4.0 * a)).abs() < 1e-6);
    // In the center of a ring of d columns: 1/(1 + 2^-d exp(a² d/2)).
    assert!((at(Problem::Ringnorm, &[0.0; 5]) - logistic(5.0 * 2.0_f64.ln() - 0.5)).abs() < 1e-12);
    assert!((at(Problem::Xor, &[0.0, 0.0]) - 0.5).abs() < 1e-12 && at(Problem::Xor, &[3.0, -3.0]) > 0.999);
    let thirds = made(Problem::Triangle, 0, 0).probabilities(&[0.0, 0.0]).unwrap();
    assert!(thirds.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-3), "{thirds:?}");
}

/// The integral over the share of a triangle, by a sum over many shares.
#[test]
fn waveforms_like_a_sum_over_shares() {
    let mut generator = made(Problem::Waveform, 0, 2);
    let mut row = Vec::new();
    let heights = |middle: f64| -> Vec<f64> {
        (1..=21).map(|i| f64::max(6.0 - (f64::from(i) - middle).abs(), 0.0)).collect()
    };
    let h = [11.0, 7.0, 15.0].map(heights);
    for _ in 0..20 {
        generator.next_into(&mut row);
        let density = |[a, b]: [usize; 2]| -> f64 {
            let of = |u: f64| {
                let square = |i: usize| {
                    let mean = u * h[a][i] + (1.0 - u) * h[b][i];
                    (f64::from(row[i]) - mean).powi(2)
                };
                (-0.5 * (0..21).map(square).sum::<f64>()).exp()
            };
            (0..4_000).map(|i| of((f64::from(i) + 0.5) / 4_000.0)).sum()
        };
        let densities = [[0, 1], [0, 2], [1, 2]].map(density);
        let found = generator.probabilities(&row).unwrap();
        for (density, p) in densities.iter().zip(&found) {
            assert!((density / densities.iter().sum::<f64>() - p).abs() < 1e-6);
        }
    }
    // Far away one class is certain, and nothing is lost to rounding.
    let far = generator.probabilities(&[1e3; 21]).unwrap();
    assert!(far.iter().all(|p| p.is_finite()));
}

#[test]
fn odd_rows_lie_where_no_others_do() {
    for (problem, period) in [
        (Problem::OddCube, 200),
        (Problem::OddNormal, 200),
        (Problem::OddSquare, 1_000),
        (Problem::OddHole, 1_000),
    ] {
        let mut generator = made(problem, 0, 3);
        let mut row = Vec::new();
        for i in 0..4_000 {
            let class = generator.next_into(&mut row);
            assert_eq!(class.index() == 1, i % period == 0, "{problem:?}, row {i}");
            assert_eq!(generator.probabilities(&row).unwrap()[class.index()], 1.0, "{problem:?}: {row:?}");
        }
    }
}

#[test]
fn columns_can_be_added_and_not_too_many_taken_away() {
    for &problem in Problem::ALL {
        let generator = made(problem, 120, 1);
        assert_eq!(generator.schema().n_features(), 120);
        let [usual, least] = problem.widths();
        assert_eq!(made(problem, 0, 1).schema().n_features(), usual);
        if least > 1 {
            let params = KnownParams { n_features: least - 1, seed: 0 }.check().unwrap();
            let message = Generator::known(problem, &params).err().unwrap().to_string();
            assert!(message.contains("n_features") && message.contains(&least.to_string()), "{message}");
        }
        let name = serde_json::to_value(problem).unwrap();
        assert_eq!(name, problem.name());
    }
    let sea = crate::synth::SeaParams::default().check().unwrap();
    assert_eq!(Generator::sea(&sea, Schedule::none()).probabilities(&[1.0, 2.0, 3.0]), None);
}

use super::output::soft_max;
use super::*;
use crate::rng::{Purpose, Rng};

/// Mean log-losses of the mixture and of each member over a stream of made predictions.
fn log_losses(
    n: usize,
    n_classes: usize,
    members: &dyn Fn(usize, usize, &mut Rng) -> Vec<f64>,
) -> (f64, Vec<f64>) {
    let mut rng = Rng::new(1, Purpose::Data, 0);
    let n_members = members(0, 0, &mut rng).len() / n_classes;
    let mut mixture = Mixture::new(n_members);
    let (mut ours, mut theirs) = (0.0, vec![0.0; n_members]);
    for row in 0..n {
        let label = rng.index(n_classes);
        let predicted = members(row, label, &mut rng);
        let mixed = mixture.predict(&predicted, n_classes);
        assert!((mixed.proba.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        ours -= libm::log(mixed.proba[label]) / n as f64;
        for (loss, p) in theirs.iter_mut().zip(predicted.chunks(n_classes)) {
            *loss -= libm::log(p[label].max(FLOOR)) / n as f64;
        }
        mixture.learn(&mixed, label, 1.0);
        assert!(mixture.is_valid(n_members));
    }
    (ours, theirs)
}

/// Probabilities that give the label so much in the log of the odds, with noise.
fn leaning(label: usize, n_classes: usize, strength: f64, rng: &mut Rng) -> Vec<f64> {
    let mut scores: Vec<f64> = (0..n_classes).map(|_| rng.normal()).collect();
    scores[label] += strength;
    soft_max(&mut scores);
    scores
}

#[test]
fn a_mixture_follows_the_better_member_when_they_change_places() {
    // The members change places every 500 rows. Each alone is bad half of the time.
    let (ours, theirs) = log_losses(10_000, 3, &|row, label, rng| {
        let is_first = row / 500 % 2 == 0;
        let strength = |leads: bool| if leads { 4.0 } else { 0.0 };
        let mut members = leaning(label, 3, strength(is_first), rng);
        members.extend(leaning(label, 3, strength(!is_first), rng));
        members
    });
    let best_in_hindsight = 0.10;
    assert!(theirs.iter().all(|loss| *loss > 0.5), "{theirs:?}");
    assert!(ours < best_in_hindsight + 0.05, "{ours}");
}

#[test]
fn one_member_is_calibrated() {
    // Far too sure: four times the log odds that would be right.
    let (ours, theirs) = log_losses(4_000, 4, &|_, label, rng| {
        let mut p = leaning(label, 4, 1.0, rng);
        p.iter_mut().for_each(|p| *p = libm::pow(*p, 4.0));
        let sum: f64 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= sum);
        p
    });
    assert!(ours < 0.7 * theirs[0], "{ours} {theirs:?}");
    // What is calibrated already stays as it is.
    let (ours, theirs) = log_losses(4_000, 4, &|_, label, rng| leaning(label, 4, 1.0, rng));
    assert!(ours < theirs[0] + 0.01, "{ours} {theirs:?}");
}

/// A mixture of two members that has learnt something.
fn example() -> Mixture {
    let output = |loss, power, contrast, exponents: &[f64]| Output {
        loss,
        power,
        contrast,
        exponents: exponents.to_vec(),
    };
    let outputs = vec![
        output(0.55, 1.0, 0.0, &[]),
        output(0.5, 1.2, -0.3, &[]),
        output(0.4, 0.8, 0.5, &[]),
        output(0.6, 0.7, 1.5, &[]),
        output(0.3, 1.3, 0.0, &[]),
        output(0.2, 1.1, -0.4, &[0.1, -0.2]),
        output(0.1, 0.9, 0.7, &[0.4, 0.0]),
    ];
    Mixture { losses: vec![0.3, 0.1], log_losses: vec![0.5], outputs, ..Mixture::new(2) }
}

#[test]
fn predictions_are_those_of_the_formulae() {
    let p = [[0.7, 0.3], [0.4, 0.6]];
    let w = [3.0 * libm::exp(-0.98 * 0.3), libm::exp(-0.98 * 0.1)];
    let w = [0.99 * w[0] / (w[0] + w[1]) + 0.01 * 0.75, 0.99 * w[1] / (w[0] + w[1]) + 0.01 * 0.25];
    let pool = [0, 1].map(|c| w[0] * p[0][c] + w[1] * p[1][c]);
    let normal = |p: [f64; 2]| p.map(|x| x / (p[0] + p[1]));
    let (pow, exp) = (libm::pow, libm::exp);
    let outputs = [
        p[0],
        [0, 1].map(|c| pow(p[0][c], 1.2) * exp(-0.3 * p[0][c])),
        [0, 1].map(|c| pow(p[0][c], 0.8) * exp(0.5 * p[0][c])),
        [0, 1].map(|c| pow(p[0][c], 0.7) * exp(1.5 * p[0][c])),
        pool.map(|q| pow(q, 1.3)),
        [0, 1].map(|c| pow(pool[c], 1.1) * exp(-0.4 * pool[c]) * pow(p[0][c], 0.1) * pow(p[1][c], -0.2)),
        [0, 1].map(|c| pow(pool[c], 0.9) * exp(0.7 * pool[c]) * pow(p[0][c], 0.4)),
    ];
    let outputs = outputs.map(normal);
    // Four paces of the first member count as one, then come three outputs and the other member.
    let shared = |losses: &[f64], priors: &[f64]| {
        let v: Vec<f64> = losses.iter().zip(priors).map(|(loss, prior)| prior * exp(-0.98 * loss)).collect();
        let (sum, all): (f64, f64) = (v.iter().sum(), priors.iter().sum());
        v.iter().zip(priors).map(|(v, prior)| 0.98 * v / sum + 0.02 * prior / all).collect::<Vec<f64>>()
    };
    let v = shared(&[0.55, 0.5, 0.4, 0.6, 0.3, 0.2, 0.1, 0.5], &[0.25, 0.25, 0.25, 0.25, 1.0, 1.0, 1.0, 1.0]);
    let all: Vec<&[f64; 2]> = outputs.iter().chain([&p[1]]).collect();
    let mean = |v: &[f64], c: usize| all.iter().zip(v).map(|(output, v)| v * output[c]).sum::<f64>();
    let expected = [0, 1].map(|c| mean(&v, c));
    let of_first = shared(&[0.55, 0.5, 0.4, 0.6], &[1.0; 4]);
    let mixed = example().predict(&p.concat(), 2);
    for (ours, expected) in mixed.proba.iter().zip(expected) {
        assert!((ours - expected).abs() < 1e-12, "{ours} {expected}");
    }
    assert!(mixed.pool.iter().zip(pool).all(|(ours, pool)| (ours - pool).abs() < 1e-12));
    assert!(mixed.first.iter().zip([0, 1]).all(|(ours, c)| (ours - mean(&of_first, c)).abs() < 1e-12));
}

#[test]
fn gradients_are_those_of_the_log_loss() {
    let before = example();
    let members = [0.7, 0.2, 0.1, 0.3, 0.3, 0.4];
    let mut after = before.clone();
    after.learn(&before.predict(&members, 3), 1, 2.0);
    // The loss of one output by itself, as a function of one parameter.
    let loss = |mixture: &Mixture, output: usize| -libm::log(mixture.predict(&members, 3).outputs[output][1]);
    let h = 1e-6;
    let check = |output: usize, step: f64, at: &dyn Fn(&mut Mixture) -> &mut f64| {
        let mut moved = before.clone();
        *at(&mut moved) += h;
        let slope = (loss(&moved, output) - loss(&before, output)) / h;
        let (mut before, mut after) = (before.clone(), after.clone());
        let change = *at(&mut after) - *at(&mut before);
        assert!((change + 2.0 * step * slope).abs() < 1e-6, "{output} {change} {slope}");
    };
    for output in 0..7 {
        let pace = PACES.get(output).copied().unwrap_or(1.0);
        check(output, 0.01 * pace, &|mixture| &mut mixture.outputs[output].power);
        check(output, 0.1 * pace, &|mixture| &mut mixture.outputs[output].contrast);
    }
    for (output, member) in [(5, 0), (5, 1), (6, 0), (6, 1)] {
        let step = STEPS[output - PACES.len()];
        check(output, step, &|mixture| &mut mixture.outputs[output].exponents[member]);
    }
    let gain = after.gain();
    assert_eq!((gain.rows, gain.log_loss_before), (1, -libm::log(0.2)));
}

#[test]
fn what_power_and_contrast_can_describe_is_calibrated() {
    let truth = Output { power: 0.4, contrast: 2.5, ..Output::new(0) };
    let probable = |p: f64| truth.predict([&[p, 1.0 - p], &[libm::log(p), libm::log(1.0 - p)]], &[])[0];
    let mut rng = Rng::new(2, Purpose::Data, 0);
    let (mut mixture, mut ours, mut best, n) = (Mixture::new(1), 0.0, 0.0, 20_000);
    for row in 0..n {
        let p = 0.02 + 0.96 * rng.unit();
        let label = usize::from(rng.unit() > probable(p));
        let mixed = mixture.predict(&[p, 1.0 - p], 2);
        if row >= n / 2 {
            ours -= 2.0 / f64::from(n) * libm::log(mixed.proba[label]);
            best -= 2.0 / f64::from(n) * libm::log([probable(p), 1.0 - probable(p)][label]);
        }
        mixture.learn(&mixed, label, 1.0);
    }
    assert!(ours < best + 0.002, "{ours} {best}");
}

#[test]
fn a_restart_lets_the_first_member_lead() {
    let mut mixture = Mixture::new(3);
    for _ in 0..50 {
        let mixed = mixture.predict(&[0.1, 0.9, 0.9, 0.1, 0.5, 0.5], 2);
        mixture.learn(&mixed, 0, 1.0);
    }
    assert!(mixture.weights(3)[1] > 0.9);
    mixture.restart(5.0);
    assert!(mixture.weights(3)[0] > 0.9);
    let mixed = mixture.predict(&[0.1, 0.9, 0.9, 0.1, 0.5, 0.5], 2);
    assert!((mixed.proba[0] - mixed.first[0]).abs() < 0.05, "{:?} {:?}", mixed.proba, mixed.first);
}

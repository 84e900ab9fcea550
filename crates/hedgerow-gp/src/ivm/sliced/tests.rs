//! Slices against work in one go.

use std::sync::Arc;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::testing::blobs;
use hedgerow_core::{Budget, Classifier as _, Dataset, Par, Params as _, Silent, Training};

use super::*;
use crate::ivm::{IvmClassifier, IvmParams, SearchKind};

const KERNEL: [f64; 2] = [0.8, 9.0];

fn params(n_active: usize) -> IvmParams {
    let [length_scale, signal_variance] = KERNEL;
    IvmParams { n_active, length_scale, signal_variance, ..IvmParams::default() }
}

fn judges(n: usize) -> Vec<bool> {
    let mut rng = Rng::new(1, Purpose::Judge, 0);
    (0..n).map(|_| rng.unit() < 0.2).collect()
}

fn part_of(data: &Dataset, rows: std::ops::Range<usize>) -> Dataset {
    data.select(&rows.collect::<Vec<_>>())
}

/// Trains machines of all classes, a few rows at a time.
fn machines(ground: &Ground, params: &IvmParams, most: usize) -> Vec<Option<Arc<Part>>> {
    let par = Par::sequential();
    let all = ground.has_machine().iter().enumerate();
    all.map(|(class, has)| {
        has.then(|| {
            let mut machine = Machine::new(class, KERNEL, params);
            loop {
                let part = machine.slice(ground, most, &par).unwrap();
                if part.is_done {
                    return Arc::new(part);
                }
            }
        })
    })
    .collect()
}

#[test]
fn slices_choose_the_rows_of_one_go() {
    let data = blobs(900, 3, 3, 5);
    let ground = Ground::new(&data, Vec::new());
    let training = Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent };
    for balance in [false, true] {
        let params = IvmParams { refit: false, balance, ..params(40) };
        let whole =
            IvmClassifier::fit(&data, &params.clone().check().unwrap(), &training).unwrap().classifier;
        for most in [1, 7, 64] {
            for (class, part) in machines(&ground, &params, most).iter().enumerate() {
                let part = part.as_ref().unwrap();
                let machine = whole.machine(class, &Par::sequential()).unwrap().unwrap();
                assert_eq!(part.active.len(), 40);
                let (means, precisions) = machine.sites();
                let rows = machine.active_rows();
                for (i, &row) in part.active.iter().enumerate() {
                    assert!(ground.x.row(row).iter().zip(rows.row(i)).all(|(a, b)| f64::from(*a) == *b));
                    assert!((part.means[i] - means[i]).abs() < 1e-9 * means[i].abs().max(1.0));
                    assert!((part.precisions[i] - precisions[i]).abs() < 1e-9);
                }
            }
        }
    }
}

#[test]
fn judges_are_never_chosen_and_their_scores_are_those_of_the_classifier() {
    let data = blobs(900, 3, 3, 5);
    let ground = Ground::new(&data, judges(900));
    let parts = machines(&ground, &params(30), 8);
    assert!(parts.iter().flatten().all(|part| part.active.iter().all(|row| !ground.is_judge[*row])));
    assert!(parts.iter().flatten().all(|part| part.accuracy > 0.9));
    let par = Par::sequential();
    let mut regression = Regression::new(&ground, parts.clone(), KERNEL[0], &par).unwrap();
    while !regression.slice(&ground, &par) {}
    assert_eq!(regression.progress()[0], regression.progress()[1]);
    let fit = regression.finish(&ground, &par).unwrap();
    let x = data.features.select(ground.judges()).to_array(0..ground.judges().len());
    for (scores, is_fit) in [(Scores::Machines, false), (Scores::Fit(&fit), true)] {
        let Assembled { classifier, proba, ratings } =
            assemble(&ground, &params(30), KERNEL, &parts, scores).unwrap();
        assert!(ratings.iter().all(|(row, rating)| *rating > 0.0 && !ground.is_judge[*row]));
        assert!(!classifier.can_learn() && classifier.clone().remembering(&data, &ratings).can_learn());
        let answers = classifier.predict_proba(x.view(), &par).unwrap();
        let (mut close, mut right) = (0, 0);
        for ((said, expected), label) in
            answers.rows().into_iter().zip(proba.rows()).zip(ground.judge_labels())
        {
            // A regression doubts itself far from its rows; machines know that themselves.
            close += usize::from(said.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3));
            right += usize::from(hedgerow_core::traits::largest(said) == Some(label.index()));
        }
        let n = ground.judges().len();
        assert!(close * 100 >= n * if is_fit { 95 } else { 100 }, "{close} of {n}");
        assert!(right * 100 > n * 90, "{right} of {n}");
    }
}

#[test]
fn rows_that_come_later_know_what_the_machine_knows() {
    let data = blobs(900, 3, 3, 5);
    let is_judge = judges(900);
    let early = part_of(&data, 0..500);
    let first = Ground::new(&early, is_judge[..500].to_vec());
    let all = first.grown(&data, is_judge.clone());
    let par = Par::sequential();
    let mut machine = Machine::new(1, KERNEL, &params(40));
    for _ in 0..4 {
        machine.slice(&first, 6, &par).unwrap();
    }
    let before = machine.n_active();
    let part = machine.slice(&all, 6, &par).unwrap();
    assert!(part.active.len() > before && part.scores.len() == all.judges().len());
    // The scores of judges, new ones too, are what a machine of these sites says.
    let mut parts = vec![None; 3];
    parts[1] = Some(Arc::new(part.clone()));
    let classifier = assemble(&all, &params(40), KERNEL, &parts, Scores::Machines).unwrap().classifier;
    let ivm = classifier.machine(1, &par).unwrap().unwrap();
    let x = all.x.select(ndarray::Axis(0), all.judges()).mapv(f64::from);
    let latent = ivm.latent(x.view(), &par).unwrap();
    for (i, score) in part.scores.iter().enumerate() {
        let noise = params(40).noise_variance;
        let expected = (latent.mean[i] + ivm.bias()) / (1.0 + latent.variance[i] + noise).sqrt();
        assert!((score - expected).abs() < 1e-3, "{score} {expected}");
    }
    // With all places taken, new rows still get their chance.
    let mut full = Machine::new(1, KERNEL, &params(20));
    while !full.slice(&first, 64, &par).unwrap().is_done {}
    let mut part = full.slice(&all, 64, &par).unwrap();
    while !part.is_done {
        part = full.slice(&all, 64, &par).unwrap();
    }
    assert_eq!(part.active.len(), 20);
    assert!(part.active.iter().any(|row| *row >= 500), "{:?}", part.active);
}

#[test]
fn trials_find_the_kernel_of_the_search() {
    let data = blobs(300, 3, 3, 2);
    let par = Par::sequential();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    for search in [SearchKind::Grid, SearchKind::Cma] {
        let open =
            IvmParams { n_active: 10, signal_variance: 8.0, search, n_trials: 14, ..IvmParams::default() };
        let fitted = IvmClassifier::fit(&data, &open.clone().check().unwrap(), &training).unwrap();
        let trials = Trials::new(&Ground::new(&data, Vec::new()), &open, &par);
        let mut tried: Vec<Option<f64>> = Vec::new();
        // The last of those that are known first: their order must not matter.
        loop {
            let kernels = trials.kernels(&tried);
            let is_open = |at: &usize| tried.get(*at).is_none_or(Option::is_none);
            let Some(at) = (0..kernels.len()).rev().find(is_open) else { break };
            tried.resize(tried.len().max(at + 1), None);
            tried[at] = Some(trials.value(kernels[at], &par).unwrap());
        }
        assert_eq!(trials.best(&tried), fitted.kernel, "{search:?}");
        assert_eq!(tried.len(), if search == SearchKind::Cma { 14 } else { 9 });
        assert!(trials.bytes() > 0);
    }
    assert_eq!(Trials::new(&Ground::new(&data, Vec::new()), &params(5), &par).kernels(&[]), [KERNEL]);
}

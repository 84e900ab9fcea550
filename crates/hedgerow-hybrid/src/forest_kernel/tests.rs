//! What a GP with the kernel of a forest promises.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::testing::{
    blobs, check_distributions, check_prediction_is_pure, check_shapes, learn_in_calls,
};
use hedgerow_core::{
    Budget, Dataset, Effort, JobState, LabelTable, OnlineModel as _, Rows, Silent, Source, Step, StopFlag,
    StopReason, Training, TrainingRun,
};
use hedgerow_forest::ForestParams;
use hedgerow_forest::proximity::proximities;
use hedgerow_gp::{Kernel, LabelRegression};
use ndarray::s;

use super::conjugate_gradients::ConjugateGradients;
use super::leaves::Leaves;
use super::*;
use crate::testing::{fit, right, stripes};

fn small() -> ForestKernelParams {
    ForestKernelParams {
        n_active: 20,
        max_rows: 300,
        forest: ForestParams { n_trees: 15, ..ForestParams::default() },
        ..ForestKernelParams::default()
    }
}

fn forest(data: &Dataset, n_trees: usize) -> Forest {
    let par = Par::sequential();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    let params = ForestParams { n_trees, ..ForestParams::default() };
    Forest::fit(data, &params.check().unwrap(), &training).unwrap().forest
}

#[test]
fn sums_over_leaves_are_the_gp_with_the_matrix_of_matches() {
    let (data, test) = (stripes(150, 1.6, 1), stripes(40, 1.6, 2));
    let par = Par::new(2).unwrap();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    let forest = forest(&data, 21);
    let (x, at) = (data.features.to_array(0..150), test.features.to_array(0..40));
    let places = [&x, &at].map(|x| forest.leaf_places(x.view(), &par).unwrap());
    let leaves = Leaves::new(&forest, &data.features, &par).unwrap();
    let all: Vec<usize> = (0..150).collect();
    // The kernel in three ways: counted pair by pair, from small numbers, and as the kernel of hedgerow-gp.
    let matrix = proximities(&places[0], &places[0], &par).unwrap();
    assert_eq!(matches::shares(&leaves, &all, &all, &par), matrix);
    let numbers = places.each_ref().map(|places| places.mapv(f64::from));
    let matches = Kernel::Matches.cross(numbers[0].view(), numbers[0].view(), &par);
    assert!((&matches - &matrix).iter().all(|d| d.abs() < 1e-12));
    let y = training::centered_signs(data.labels(), 3);
    let by_leaves = product::product(&leaves, &y, &par);
    assert!((&by_leaves - &matrix.dot(&y)).iter().all(|d| d.abs() < 1e-9));
    // The GP: conjugate gradients against a factor of the matrix.
    let noise = 0.5;
    let exact = LabelRegression::fit(Kernel::Matches, noise, numbers[0].view(), y.view(), &par).unwrap();
    let mut found = ConjugateGradients::new(&leaves, &y, noise, None, &par);
    let stop = StopFlag::default();
    stop.stop();
    while !found.is_done(training.budget) {
        assert!(found.step(&leaves, &par.until(&stop)).is_err(), "which changes nothing");
        found.step(&leaves, &par).unwrap();
    }
    // No eigenvalue of the matrix is below the noise, so the residual bounds the error.
    let most = 1e-3 * y.iter().map(|v| v * v).sum::<f64>().sqrt() / noise;
    assert!((&found.alpha - exact.weights()).iter().all(|d| d.abs() < most));
    let scores = LeafScores::new(&leaves, &all, exact.weights(), &par).unwrap();
    let from_leaves = scores.of(&forest, at.view(), &par).unwrap();
    let expected = exact.scores(numbers[1].view(), &par).unwrap();
    assert!((&from_leaves - &expected).iter().all(|d| d.abs() < 1e-4));
    // With all rows as inducing rows, the sparse regression is the GP too.
    let sums = sparse::Sums::new(&leaves, &all, &y, &training).unwrap();
    let weights = sums.solve(noise, &training).unwrap();
    let sparse = LeafScores::new(&leaves, &all, &weights, &par).unwrap();
    let from_sums = sparse.of(&forest, at.view(), &par).unwrap();
    assert!((&from_sums - &expected).iter().all(|d| d.abs() < 1e-3));
}

#[test]
fn the_gp_is_as_good_as_its_forest_and_keeps_the_contract() {
    let (train, test) = (stripes(600, 1.6, 1), stripes(500, 1.6, 2));
    let (par, x) = (Par::sequential(), test.features.to_array(0..500));
    for learner in [KernelLearner::Gp, KernelLearner::Ivm] {
        let model = fit(&train, ForestKernelParams { learner, ..small() }, 1);
        let alone = model.forest().predict_proba(x.view(), &par).unwrap();
        let both = model.predict_proba(x.view(), &par).unwrap();
        let (alone, both) = (right(&alone, test.labels()), right(&both, test.labels()));
        let least = if learner == KernelLearner::Gp { alone - 10 } else { 450 };
        assert!(both >= least, "{learner:?}: {alone} alone, {both} with the GP");
        let n_active = model.n_active();
        assert_eq!(n_active == 600, learner == KernelLearner::Gp, "{n_active}");
        assert!(model.noise_variance().is_some() && model.bytes() > 1000);
        let asked = x.slice(s![..40, ..]);
        check_distributions(&model, asked);
        check_prediction_is_pure(&model, asked);
        check_shapes(&model);
        assert!(fit(&train, ForestKernelParams { learner, ..small() }, 3) == model, "threads change nothing");
    }
    let wrong = |params: ForestKernelParams| params.check().unwrap_err().to_string();
    assert!(wrong(ForestKernelParams { n_active: 0, ..small() }).contains("n_active"));
    assert!(wrong(ForestKernelParams { noise_variance: -1.0, ..small() }).contains("noise_variance"));
    assert!(wrong(ForestKernelParams { max_rows: 5, ..small() }).contains("max_rows"));
}

#[test]
fn an_interrupted_fit_is_the_forest_and_memory_is_limited() {
    let data = blobs(400, 3, 3, 1);
    let par = Par::sequential();
    let budget = Budget::open();
    budget.stop.stop();
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let params = small().check().unwrap();
    let fitted = hedgerow_core::fit(&data, &params, &training).unwrap();
    assert_eq!((fitted.stop, fitted.model.n_active()), (StopReason::Interrupted, 0));
    let x = data.features.to_array(0..400);
    let of_forest = fitted.model.forest().predict_proba(x.view(), &par).unwrap();
    assert_eq!(fitted.model.predict_proba(x.view(), &par).unwrap(), of_forest);
    let budget = Budget::open().with_time(std::time::Duration::ZERO);
    let fitted = hedgerow_core::fit(&data, &params, &Training { budget: &budget, ..training }).unwrap();
    assert_eq!((fitted.stop, fitted.model.n_active()), (StopReason::Time, 0));
    let limited = |bytes: u64| {
        let budget = Budget::open().with_bytes(bytes);
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        hedgerow_core::fit(&data, &params, &training)
    };
    assert_eq!(limited(100_000_000).unwrap().model.n_active(), 400);
    assert!(limited(20_000).unwrap_err().to_string().contains("n_trees"));
}

fn new(data: &Dataset, params: ForestKernelParams) -> ForestKernelClassifier {
    ForestKernelParams::new_model(&data.schema, &params.check().unwrap()).unwrap()
}

#[test]
fn batches_and_threads_change_nothing_while_it_learns() {
    let data = stripes(500, 1.6, 4);
    for learner in [KernelLearner::Gp, KernelLearner::Ivm] {
        let params = ForestKernelParams { learner, ..small() };
        let mut models: Vec<ForestKernelClassifier> = (0..3).map(|_| new(&data, params.clone())).collect();
        let whole = learn_in_calls(&mut models[0], &data, 500, 1);
        assert_eq!(whole, learn_in_calls(&mut models[1], &data, 11, 1));
        assert_eq!(whole, learn_in_calls(&mut models[2], &data, 100, 3));
        assert!(models[0] == models[1] && models[0] == models[2]);
        let right = right(&whole.slice(s![300.., ..]).to_owned(), &data.labels()[300..]);
        assert!(right > 150, "{learner:?}: {right} of 200");
        assert_eq!((models[0].n_seen(), models[0].n_retained()), (500, 500));
        assert_eq!(models[0].retained_rows(&data.schema).unwrap().unwrap().n_rows(), 500);
        check_distributions(&models[0], data.features.to_array(0..50).view());
    }
}

#[test]
fn a_fitted_model_goes_on_late_classes_come_and_frozen_ones_learn_no_more() {
    let all = stripes(700, 1.6, 5);
    let mut schema = all.schema.clone();
    schema.labels = LabelTable::from(vec!["0".to_string(), "1".to_string()]);
    let early: Vec<usize> = (0..400).filter(|row| all.labels()[*row].0 < 2).collect();
    let first = all.select(&early).under(&schema).unwrap();
    let mut model = fit(&first, small(), 1);
    let late = all.select(&(400..700).collect::<Vec<_>>());
    let predictions = learn_in_calls(&mut model, &late, 60, 1);
    let first_late = late.labels().iter().position(|class| class.0 == 2).unwrap();
    let of_late = predictions[(first_late, 2)];
    assert!(of_late > 0.0 && of_late < 0.1, "{}", predictions.row(first_late));
    let found = right(&predictions.slice(s![200.., ..]).to_owned(), &late.labels()[200..]);
    assert!(found > 70, "{found} of 100");
    let (par, x) = (Par::sequential(), late.features.to_array(0..50));
    check_distributions(&model, x.view());
    let before = model.predict_proba(x.view(), &par).unwrap();
    let mut frozen = model.clone().frozen();
    assert_eq!(frozen.predict_proba(x.view(), &par).unwrap(), before);
    assert!(!frozen.can_learn() && frozen.bytes() < model.bytes());
    let rows = Rows::new(x.view(), &late.labels()[..50], None);
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    assert!(matches!(frozen.learn(&late.schema, rows, &training), Err(hedgerow_core::Error::Frozen)));
    check_distributions(&new(&all, small()), x.view());
}

/// Slices of the ready jobs in an order drawn at random, some of them at work side by side, some interrupted.
fn in_slices(run: &mut ForestKernelRun, seed: u64, training: &Training<'_>) {
    let mut rng = Rng::new(seed, Purpose::Data, 3);
    let mut steps: Vec<(usize, Step)> = Vec::new();
    let stopped = Budget::open();
    stopped.stop.stop();
    loop {
        let jobs = run.jobs();
        let is_free = |job: &usize| steps.iter().all(|(at_work, _)| at_work != job);
        let ready: Vec<usize> =
            (0..jobs.len()).filter(|job| jobs[*job].state == JobState::Ready && is_free(job)).collect();
        if !ready.is_empty() && (steps.is_empty() || rng.unit() < 0.6) {
            let job = ready[rng.index(ready.len())];
            steps.push((job, run.begin(&[job], Effort::Slice)));
        } else if steps.is_empty() {
            return;
        } else {
            let (job, step) = steps.swap_remove(rng.index(steps.len()));
            let is_interrupted = ["folds", "gp"].contains(&jobs[job].kind) && rng.unit() < 0.3;
            let budget = if is_interrupted { &stopped } else { training.budget };
            run.merge(step.run(&Training { budget, ..*training })).unwrap();
        }
    }
}

#[test]
fn slices_in_any_order_give_the_model_of_a_fit() {
    let (data, test) = (stripes(400, 1.6, 1), stripes(2_000, 1.6, 2));
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let x = test.features.to_array(0..2_000);
    for (seed, learner) in [KernelLearner::Gp, KernelLearner::Ivm, KernelLearner::Gp].into_iter().enumerate()
    {
        let params = ForestKernelParams { learner, ..small() }.check().unwrap();
        let fitted = hedgerow_core::fit(&data, &params, &training).unwrap().model;
        let mut run = ForestKernelRun::new(&data, &params, 3, &training).unwrap();
        assert!(run.model().is_none() && !run.has_model());
        in_slices(&mut run, seed as u64, &training);
        let jobs = run.jobs();
        assert!(jobs.iter().all(|job| job.state == JobState::Done), "{jobs:?}");
        assert_eq!(jobs.iter().map(|job| job.kind).collect::<Vec<_>>()[3..], ["calibration", "folds", "gp"]);
        let made = run.model().unwrap().run(&training).unwrap();
        let [a, b] = [&made.model, &fitted].map(|model| model.predict_proba(x.view(), &par).unwrap());
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9), "{learner:?}");
        assert_eq!((made.model.n_active() > 0, made.model.n_seen()), (true, 400));
        let validation = made.validation.unwrap();
        assert_eq!((validation.source, validation.len()), (Source::OutOfFold, 400));
        // One standard error of 400 rows that are nine in ten right is 0.015.
        let share = right(&a, test.labels()) as f64 / 2_000.0;
        assert!((validation.accuracy(None) - share).abs() < 0.04, "{share} {:?}", validation.quality());
    }
}

#[test]
fn without_folds_the_forest_predicts_alone() {
    let data = stripes(400, 1.6, 1);
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let mut run = ForestKernelRun::new(&data, &small().check().unwrap(), 2, &training).unwrap();
    let folds = run.begin(&[3], Effort::Slice);
    run.drop_job(3);
    drop(folds);
    in_slices(&mut run, 1, &training);
    assert!(run.jobs().iter().all(|job| job.state == JobState::Done), "{:?}", run.jobs());
    let made = run.model().unwrap().run(&training).unwrap();
    assert_eq!((made.model.n_active(), made.model.forest()), (0, &forest(&data, 15)));
    assert_eq!(made.validation.unwrap().source, Source::OutOfBag);
}

#[test]
fn a_forest_without_end_has_a_gp_whenever_it_has_doubled() {
    let data = stripes(200, 1.6, 1);
    let par = Par::sequential();
    let params =
        ForestKernelParams { forest: ForestParams { n_trees: 0, ..ForestParams::default() }, ..small() };
    let params = params.check().unwrap();
    let open = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    assert!(hedgerow_core::fit(&data, &params, &open).unwrap_err().to_string().contains("n_trees"));
    let mut run = ForestKernelRun::new(&data, &params, 1, &open).unwrap();
    let [trees, folds, gp] = [0, 2, 3];
    let work = |run: &mut ForestKernelRun, job: usize, effort: Effort| {
        let step = run.begin(&[job], effort);
        run.merge(step.run(&open)).unwrap();
    };
    work(&mut run, folds, Effort::Whole);
    let mut sizes = Vec::new();
    for n_trees in 1..=70 {
        work(&mut run, trees, Effort::Slice);
        if run.jobs()[gp].state == JobState::Ready {
            sizes.push(n_trees);
            work(&mut run, gp, Effort::Whole);
        }
    }
    assert_eq!(sizes, [30, 60]);
    run.hurry(StopReason::Time);
    assert!(run.jobs().iter().all(|job| job.state == JobState::Done), "{:?}", run.jobs());
    let model = run.model().unwrap().run(&open).unwrap().model;
    assert_eq!((model.forest().trees().len(), model.n_active()), (60, 200));
}

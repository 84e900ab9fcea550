//! Runs in slices give the model of a fit.

use hedgerow_core::testing::{blobs, check_distributions};
use hedgerow_core::{Budget, Candidate, Classifier as _, Delta, Features, OnlineModel as _, Silent, Source};
use ndarray::Array2;

use super::super::LeafLearner;
use super::*;

fn params() -> LeafGpParams {
    LeafGpParams { n_trees: 4, leaf_rows: 30, ..LeafGpParams::default() }
}

/// Rows that overlap, so that leaves are mixed.
fn mixed(n: usize, seed: u64) -> Dataset {
    let mut data = blobs(n, 3, 3, seed);
    let mut rng = hedgerow_core::rng::Rng::new(seed, hedgerow_core::rng::Purpose::Data, 5);
    let x = data.features.to_array(0..n).mapv(|v| v + 3.0 * rng.unit() as f32);
    data.edit(|data| data.features = Features::from_view(x.view())).unwrap();
    data
}

fn ready(run: &LeafGpRun) -> Vec<usize> {
    let jobs = run.jobs();
    (0..jobs.len()).filter(|&job| jobs[job].state == JobState::Ready).collect()
}

/// Slices of all ready jobs side by side, merged from the last to the first, until nothing is ready.
fn in_slices(run: &mut LeafGpRun, training: &Training<'_>) {
    loop {
        let jobs = ready(run);
        if jobs.is_empty() {
            return;
        }
        let steps: Vec<Step> = jobs.iter().map(|&job| run.begin(&[job], Effort::Slice)).collect();
        let deltas: Vec<Delta> = steps.into_iter().map(|step| step.run(training)).collect();
        deltas.into_iter().rev().for_each(|delta| run.merge(delta).unwrap());
    }
}

fn worst_difference(a: &LeafGp, b: &LeafGp, data: &Dataset) -> f64 {
    let x = data.features.to_array(0..data.n_rows());
    let [a, b]: [Array2<f64>; 2] = [a, b].map(|m| m.predict_proba(x.view(), &Par::sequential()).unwrap());
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn slices_in_any_order_give_the_model_of_a_fit() {
    let data = mixed(400, 1);
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let each = [
        (params(), Source::OutOfFold, 400),
        (
            LeafGpParams { learner: LeafLearner::Ivm, n_active: 8, blend: false, ..params() },
            Source::LeaveOneOut,
            400,
        ),
        (LeafGpParams { max_rows: 250, ..params() }, Source::OutOfFold, 250),
    ];
    for (params, source, n_rows) in each {
        let params = params.check().unwrap();
        let whole = hedgerow_core::fit(&data, &params, &training).unwrap().model;
        let mut run = LeafGpRun::new(&data, &params, 3, &training).unwrap();
        assert!(run.model().is_none() && !run.has_model());
        in_slices(&mut run, &training);
        assert!(run.jobs().iter().all(|job| job.state == JobState::Done), "{:?}", run.jobs());
        let Candidate { model, validation, .. } = run.model().unwrap().run(&training).unwrap();
        assert_eq!((model.kernel(), model.blend().is_some()), (whole.kernel(), whole.blend().is_some()));
        let worst = worst_difference(&model, &whole, &data);
        assert!(worst < 1e-9, "{worst}");
        let validation = validation.unwrap();
        assert_eq!((validation.source, validation.len()), (source, n_rows));
        let label = |row: &usize| data.labels()[*row];
        assert!(validation.rows.iter().map(label).eq(validation.labels().iter().copied()));
        assert!(validation.accuracy(None) > 0.8, "{:?}", validation.quality());
    }
}

#[test]
fn there_is_a_model_from_the_first_tree_on() {
    let data = mixed(400, 2);
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let mut run = LeafGpRun::new(&data, &params().check().unwrap(), 2, &training).unwrap();
    let x = data.features.to_array(0..400);
    let mut losses = Vec::new();
    while let Some(&job) = ready(&run).first() {
        let step = run.begin(&[job], Effort::Slice);
        run.merge(step.run(&training)).unwrap();
        let Candidate { model, validation, .. } = run.model().unwrap().run(&training).unwrap();
        check_distributions(&model, x.view());
        losses.push((model.size().n_trees, model.size().n_gps, validation.unwrap().quality().log_loss()));
    }
    assert_eq!((losses[0].0, losses[0].1), (1, 0));
    assert!(losses[0].2 < 1.0 && losses.last().unwrap().2 < losses[0].2, "{losses:?}");
}

#[test]
fn a_dropped_lane_does_not_hold_up_the_rest() {
    let data = mixed(300, 3);
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let mut run = LeafGpRun::new(&data, &params().check().unwrap(), 2, &training).unwrap();
    // A lane that was growing the first tree.
    let lost = run.begin(&[0], Effort::Slice);
    let kept = run.begin(&[1], Effort::Slice);
    run.merge(kept.run(&training)).unwrap();
    run.drop_job(0);
    drop(lost);
    assert_eq!(run.jobs()[1].state, JobState::Ready);
    // A lane that was choosing leaves for the search, and one tree whose leaves are not trained.
    let lost = run.begin(&[2], Effort::Slice);
    run.drop_job(2);
    drop(lost);
    run.drop_job(4 + 3);
    in_slices(&mut run, &training);
    assert!(run.jobs().iter().all(|job| job.state == JobState::Done), "{:?}", run.jobs());
    let Candidate { model, validation, .. } = run.model().unwrap().run(&training).unwrap();
    let size = model.size();
    assert!(size.n_trees == 3 && size.n_gps > 5 && model.kernel().is_some(), "{size:?}");
    let trained = |number: usize| run.trees[number].grown().unwrap().trained.iter().flatten().count();
    assert!(trained(1) > 0 && trained(2) > 0 && trained(3) == 0);
    assert_eq!(validation.unwrap().source, Source::OutOfFold);
}

#[test]
fn a_spent_budget_leaves_what_there_is() {
    let data = mixed(2500, 4);
    let par = Par::sequential();
    let interrupted = Budget::open();
    interrupted.stop.stop();
    let late = Budget::open().with_time(Duration::ZERO);
    let few = LeafGpParams { max_rows: 2400, ..params() }.check().unwrap();
    for (budget, reason, n_rows) in
        [(interrupted, StopReason::Interrupted, 800), (late, StopReason::Time, 2400)]
    {
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let mut run = LeafGpRun::new(&data, &few, 2, &training).unwrap();
        assert_eq!(hedgerow_core::drive(&mut run, &training).unwrap(), reason);
        let Candidate { model, validation, .. } = run.model().unwrap().run(&training).unwrap();
        assert_eq!((model.size().n_trees, model.size().n_gps, model.n_retained()), (4, 0, n_rows));
        let validation = validation.unwrap();
        assert!(
            validation.rows.iter().zip(validation.labels()).all(|(row, label)| data.labels()[*row] == *label)
        );
        assert!(validation.accuracy(None) > 0.7, "{:?}", validation.quality());
    }
    // A fold that is stopped is not counted, and can be done later.
    let budget = Budget::open();
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let mut run = LeafGpRun::new(&data, &few, 1, &training).unwrap();
    while ready(&run).iter().all(|&job| run.jobs()[job].kind != "folds") {
        let step = run.begin(&ready(&run)[..1], Effort::Slice);
        run.merge(step.run(&training)).unwrap();
    }
    let folds = ready(&run);
    let stopped = Budget::open();
    stopped.stop.stop();
    let step = run.begin(&folds, Effort::Slice);
    run.merge(step.run(&Training { budget: &stopped, ..training })).unwrap();
    assert_eq!((run.jobs()[folds[0]].points, run.jobs()[folds[0]].state), (0, JobState::Ready));
}

//! Training in slices, in jobs, and in one go.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::testing::blobs;
use hedgerow_core::{Classifier as _, Par, Params as _, Silent, Source};

use super::super::{SearchKind, SecondPass};
use super::active_sets::SLICE;
use super::*;

/// A slice for each ready job in turn, the last job first.
fn in_slices(run: &mut IvmRun, training: &Training<'_>) {
    loop {
        let jobs = run.jobs();
        let ready = |place: &usize| jobs[*place].state == JobState::Ready;
        let Some(job) = (0..jobs.len()).rev().find(ready) else { return };
        let step = run.begin(&[job], Effort::Slice);
        run.merge(step.run(training)).unwrap();
    }
}

#[test]
fn slices_give_the_classifier_of_a_fit() {
    let data = blobs(600, 3, 3, 5);
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let base = IvmParams { n_active: 20, length_scale: 0.8, signal_variance: 9.0, ..Default::default() };
    let each = [
        IvmParams { length_scale: 0.0, ..base.clone() },
        IvmParams { search: SearchKind::Cma, n_trials: 12, length_scale: 0.0, ..base.clone() },
        IvmParams { refit: false, balance: true, ..base.clone() },
        IvmParams { refit: false, second_pass: SecondPass::Ep, ..base.clone() },
        IvmParams { class_kernels: true, length_scale: 0.0, ..base },
    ];
    for params in each {
        let checked = params.clone().check().unwrap();
        let fitted = hedgerow_core::fit(&data, &checked, &training).unwrap();
        let mut run = IvmRun::new(&data, &checked, None, 3, &training).unwrap();
        assert!(run.model().is_none() && !run.has_model());
        in_slices(&mut run, &training);
        assert_eq!(run.kernel(), fitted.model.kernel(), "{params:?}");
        let made = run.model().unwrap().run(&training).unwrap();
        let x = data.features.to_array(0..600);
        let [a, b] = [&made.model, &fitted.model].map(|m| m.predict_proba(x.view(), &par).unwrap());
        let worst = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-6, "{worst} {params:?}");
        let quality = made.validation.unwrap().quality();
        assert!(quality.accuracy() > Some(0.9), "{quality:?}");
    }
}

#[test]
fn classes_are_jobs_and_one_that_is_dropped_stays_unknown() {
    let data = blobs(400, 3, 3, 1);
    let training = Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent };
    let params = IvmParams { n_active: 30, length_scale: 1.0, signal_variance: 8.0, ..Default::default() };
    let mut run = IvmRun::new(&data, &params.check().unwrap(), None, 1, &training).unwrap();
    let sets: Vec<usize> =
        (0..run.jobs().len()).filter(|job| run.jobs()[*job].kind == "active set").collect();
    assert_eq!(sets.len(), 3);
    let step = run.begin(&sets[..1], Effort::Slice);
    run.merge(step.run(&training)).unwrap();
    assert_eq!(run.jobs()[sets[0]].points, SLICE.min(8), "the first slice looks ahead by a few");
    run.drop_job(sets[1]);
    in_slices(&mut run, &training);
    assert!(!run.has_model(), "a class has no classifier");
    assert_eq!((run.jobs()[sets[0]].points, run.jobs()[sets[1]].points), (30, 0));
}

#[test]
fn out_of_fold_validation_is_there_where_it_is_wanted() {
    let data = blobs(400, 3, 2, 1);
    let training = Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent };
    let params = IvmParams { n_active: 30, length_scale: 1.0, signal_variance: 8.0, ..Default::default() };
    for (refit, wants, source) in [
        (true, false, Source::LeaveOneOut),
        (true, true, Source::OutOfFold),
        (false, false, Source::OutOfFold),
    ] {
        let params = IvmParams { refit, ..params.clone() }.check().unwrap();
        let run = IvmRun::new(&data, &params, None, 1, &training).unwrap();
        let run = if wants { run.with_folds() } else { run };
        let fitted = hedgerow_core::kind::finish(Box::new(run), &training).unwrap();
        assert_eq!(fitted.validation.unwrap().source, source);
    }
}

#[test]
fn out_of_fold_scores_know_nothing_of_their_own_labels() {
    let mut data = blobs(300, 3, 2, 2);
    let training = Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent };
    let params = IvmParams { n_active: 60, ..Default::default() }.check().unwrap();
    let quality = |data: &Dataset| {
        let mut run = IvmRun::new(data, &params, None, 2, &training).unwrap().with_folds();
        assert!(run.folds_anew());
        in_slices(&mut run, &training);
        let validation = run.model().unwrap().run(&training).unwrap().validation.unwrap();
        assert_eq!((validation.source, validation.len()), (Source::OutOfFold, 300));
        validation.quality()
    };
    let known = quality(&data);
    assert!(known.accuracy() > Some(0.85), "two blobs that overlap: {known:?}");
    // Labels that have nothing to do with the rows.
    let mut rng = Rng::new(9, Purpose::Data, 1);
    data.edit(|data| data.labels_mut().iter_mut().for_each(|label| label.0 = rng.below(2))).unwrap();
    let noise = quality(&data);
    let is_chance = noise.accuracy().is_some_and(|accuracy| (0.38..0.62).contains(&accuracy));
    assert!(is_chance && noise.log_loss() > 0.66, "{noise:?}");
}

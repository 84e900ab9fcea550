//! What every kind of model promises behind the one type.
#![allow(clippy::unwrap_used)]

mod models;

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::testing::{check_distributions, check_prediction_is_pure, check_shapes};
use hedgerow::core::{About, Column, ColumnKind, Error, Par};
use hedgerow::forest::ForestParams;
use hedgerow::gp::{GpParams, IvmParams};
use hedgerow::hybrid::{ForestIvmParams, ForestKernelParams, LeafGpParams};
use hedgerow::neighbors::{KdeParams, KnnMethod, KnnParams};
use hedgerow::rvm::RvmParams;
use hedgerow::{Fit, Kind, Model, ModelParams};
use models::{changed, edited, fit_any, learn_all, more_rows, random_rows};

/// Small models of every kind.
fn params(kind: Kind) -> ModelParams {
    match kind {
        Kind::Forest => ForestParams { n_trees: 4, ..Default::default() }.into(),
        Kind::Ivm => ivm(),
        Kind::Gp => gp(),
        Kind::LeafGp => leaf_gp(),
        Kind::ForestIvm => forest_ivm(),
        Kind::Rvm => rvm(),
        Kind::ForestKernel => forest_kernel(),
        Kind::Kde => KdeParams { max_rows: 120, ..Default::default() }.into(),
        Kind::Knn => KnnParams { max_rows: 120, ..Default::default() }.into(),
        other => ModelParams::new(other),
    }
}

fn gp() -> ModelParams {
    let given =
        GpParams { length_scale: 1.0, signal_variance: 2.0, noise_variance: 0.1, ..Default::default() };
    given.into()
}

fn forest_ivm() -> ModelParams {
    let forest = ForestParams { n_trees: 4, ..Default::default() };
    let ivm = IvmParams {
        n_active: 10,
        max_rows: 100,
        length_scale: 1.0,
        signal_variance: 8.0,
        ..Default::default()
    };
    ForestIvmParams { forest, ivm, ..Default::default() }.into()
}

fn forest_kernel() -> ModelParams {
    let forest = ForestParams { n_trees: 4, ..Default::default() };
    ForestKernelParams { forest, max_rows: 200, ..Default::default() }.into()
}

fn leaf_gp() -> ModelParams {
    LeafGpParams { n_trees: 2, leaf_rows: 30, length_scale: 1.0, noise_variance: 0.05, ..Default::default() }
        .into()
}

fn rvm() -> ModelParams {
    RvmParams { length_scale: 1.0, partition_size: 20, max_rows: 120, ..Default::default() }.into()
}

fn ivm() -> ModelParams {
    IvmParams { n_active: 12, length_scale: 1.0, signal_variance: 8.0, ..Default::default() }.into()
}

#[test]
fn every_kind_keeps_the_contract_of_a_classifier() {
    for &kind in Kind::ALL {
        let model = fit_any(&params(kind), 2);
        assert_eq!((model.kind(), model.params()), (kind, params(kind)));
        let x = random_rows(&model, 40, 1);
        check_distributions(model.classifier().unwrap(), x.view());
        check_prediction_is_pure(model.classifier().unwrap(), x.view());
        check_shapes(model.classifier().unwrap());
        let (one, par) = (fit_any(&params(kind), 1), Par::sequential());
        let predictions = [&model, &one].map(|m| m.predict_proba_par(x.view(), &par).unwrap());
        assert_eq!(predictions[0], predictions[1], "{kind}: threads change nothing");
        assert!(model.bytes() > 0);
        assert_eq!(model.as_forest().is_some(), kind == Kind::Forest);
        assert_eq!(model.downcast::<hedgerow::gp::IvmClassifier>().is_some(), kind == Kind::Ivm);
        assert_eq!(model.downcast::<hedgerow::gp::GpClassifier>().is_some(), kind == Kind::Gp);
        assert_eq!(model.downcast::<hedgerow::rvm::RvmClassifier>().is_some(), kind == Kind::Rvm);
    }
}

#[test]
fn an_ivm_tells_its_kernel_and_its_active_rows() {
    let model = fit_any(&ivm(), 1);
    let kernel = model.kernel();
    assert_eq!(kernel, [("length_scale".to_string(), 1.0), ("signal_variance".to_string(), 8.0)]);
    assert_eq!(model.active_rows().unwrap().ncols(), model.n_features());
    let forest = fit_any(&params(Kind::Forest), 1);
    assert!(forest.kernel().is_empty() && forest.active_rows().is_none());
}

#[test]
fn parameters_out_of_range_are_refused_before_anything_else() {
    let par = Par::sequential();
    let budget = hedgerow::core::Budget::open();
    let training = hedgerow::core::Training { par: &par, budget: &budget, observer: &hedgerow::core::Silent };
    let wrong = [
        ModelParams::from(IvmParams { n_active: 0, ..Default::default() }),
        ModelParams::from(ForestParams { min_leaf_rows: 0, ..Default::default() }),
    ];
    for params in wrong {
        let error = Model::fit(&more_rows(), &params, &training).unwrap_err();
        assert!(matches!(error, Error::Param { .. }), "{error}");
        assert!(matches!(Model::new(more_rows().schema.clone(), &params), Err(Error::Param { .. })));
    }
}

#[test]
fn only_forests_are_merged() {
    let (forest, ivm) = (fit_any(&params(Kind::Forest), 1), fit_any(&self::ivm(), 1));
    let message = hedgerow::merge(&[&ivm, &ivm]).unwrap_err().to_string();
    assert!(message.contains("ivm cannot be merged") && message.contains("forest"), "{message}");
    let message = hedgerow::merge(&[&forest, &ivm]).unwrap_err().to_string();
    assert!(message.contains("kinds differ: forest and ivm"), "{message}");
    assert!(hedgerow::merge(&[&forest]).is_err() && hedgerow::merge(&[]).is_err());
}

#[test]
fn a_loaded_model_is_the_saved_one() {
    Kind::ALL.iter().for_each(|kind| check_saved(*kind));
}

fn check_saved(kind: Kind) {
    let fitted = fit_any(&params(kind), 1);
    for model in [fitted.clone(), fitted.without_rows()] {
        let bytes = model.to_bytes().unwrap();
        assert_eq!(bytes.len() as u64, model.file_len().unwrap());
        let loaded = Model::from_bytes(&bytes).unwrap();
        assert!(loaded.to_bytes().unwrap() == bytes, "{kind}: something else came back");
        assert_eq!((loaded.kind(), loaded.params()), (model.kind(), model.params()));
        assert_eq!((loaded.n_seen(), loaded.n_retained()), (model.n_seen(), model.n_retained()));
        let (x, par) = (random_rows(&model, 100, 2), Par::sequential());
        let predictions = [&model, &loaded].map(|m| m.predict_proba_par(x.view(), &par).unwrap());
        assert_eq!(predictions[0], predictions[1]);
    }
}

#[test]
fn a_changed_file_of_a_process_never_panics() {
    check_changed(&fit_any(&gp(), 1), 1_000);
}

#[test]
fn a_changed_file_of_an_ivm_never_panics() {
    check_changed(&fit_any(&ivm(), 1), 1_000);
    check_changed(&fit_any(&ivm(), 1).without_rows(), 1_000);
    check_changed(&fit_any(&rvm(), 1), 1_000);
}

fn check_changed(model: &Model, rounds: u64) {
    let mut rng = Rng::new(3, Purpose::Data, 0);
    let (mut n_loaded, more) = (0, more_rows());
    let sound = model.to_bytes().unwrap();
    for round in 0..rounds {
        match Model::from_bytes(&changed(&sound, round, &mut rng)) {
            Ok(mut loaded) => {
                n_loaded += 1;
                check_distributions(loaded.classifier().unwrap(), random_rows(&loaded, 9, round).view());
                if round % 16 == 0 && loaded.check_can_learn().is_ok() {
                    // It may refuse, since columns or classes may be others now, but it must not panic or hang.
                    let _ = learn_all(&mut loaded, &more);
                }
            }
            Err(error) => assert!(matches!(error, Error::ModelFile { .. }), "{error:?}"),
        }
    }
    assert!(n_loaded > 30, "only {n_loaded} changed files loaded: the test no longer reaches prediction");
}

#[test]
fn a_changed_file_of_trees_with_processes_never_panics() {
    check_changed(&fit_any(&leaf_gp(), 1), 1_000);
    check_changed(&fit_any(&leaf_gp(), 1).without_rows(), 1_000);
}

#[test]
fn a_changed_file_of_a_forest_with_ivms_never_panics() {
    check_changed(&fit_any(&forest_ivm(), 1), 600);
    check_changed(&fit_any(&forest_ivm(), 1).without_rows(), 600);
    check_changed(&fit_any(&forest_kernel(), 1), 600);
    check_changed(&fit_any(&forest_kernel(), 1).without_rows(), 600);
}

#[test]
fn a_changed_file_of_the_rows_nearby_never_panics() {
    let artificial = KnnParams { method: KnnMethod::DataDriven, max_rows: 120, ..Default::default() };
    for params in [params(Kind::Kde), params(Kind::Knn), artificial.into()] {
        check_changed(&fit_any(&params, 1), 600);
        check_changed(&fit_any(&params, 1).without_rows(), 600);
    }
}

#[test]
fn all_kinds_tell_their_evidence() {
    let par = Par::sequential();
    let confidence = ForestParams { n_trees: 8, confidence: true, ..Default::default() };
    let all = Kind::ALL.iter().map(|&kind| params(kind)).chain([confidence.into()]);
    for params in all {
        let model = fit_any(&params, 1);
        let (kind, x) = (model.kind(), random_rows(&model, 20, 3));
        let evidence = model.predict_evidence_par(x.view(), &par).unwrap();
        assert!(kind.tells_evidence());
        assert_eq!((evidence.n_rows(), evidence.n_classes()), (20, model.n_classes()));
        assert_eq!(evidence.about(), About::RelativeEvidence);
        assert!(
            evidence.counts().iter().all(|count| *count >= 0.0) && evidence.counts().sum() > 1.0,
            "{kind}"
        );
        let again = model.clone().predict_evidence_par(x.view(), &Par::new(3).unwrap()).unwrap();
        assert_eq!(again, evidence, "{kind}: whatever the threads");
        let alone = model.predict_evidence_par(x.slice(ndarray::s![7..8, ..]), &par).unwrap();
        assert_eq!(
            alone.concentrations().unwrap().row(0),
            evidence.concentrations().unwrap().row(7),
            "{kind}"
        );
        let frozen = model.clone().without_rows().predict_evidence_par(x.view(), &par);
        match kind {
            Kind::Kde | Kind::Knn | Kind::Gp => assert_eq!(frozen.unwrap(), evidence),
            Kind::Forest if params != self::params(Kind::Forest) => assert_eq!(frozen.unwrap(), evidence),
            _ => assert!(frozen.unwrap_err().to_string().contains("without its rows"), "{kind}"),
        }
        let wide = ndarray::Array2::zeros((1, model.n_features() + 1));
        assert!(matches!(model.predict_evidence(wide.view()), Err(Error::Shape { .. })));
        if kind.learns() {
            let mut empty = Model::new(model.schema().clone(), &params).unwrap();
            let nothing = empty.predict_evidence_par(x.view(), &par).unwrap();
            assert!(nothing.counts().iter().all(|count| *count == 0.0), "{kind}: the prior before any row");
            learn_all(&mut empty, &more_rows()).unwrap();
            let learnt = empty.predict_evidence_par(x.view(), &par).unwrap();
            assert!(learnt.counts().sum() > 1.0, "{kind}: rows count once they were learnt");
        }
    }
}

#[test]
fn kinds_tell_where_true_probabilities_lie_after_learning_and_from_files() {
    let par = Par::sequential();
    let more = more_rows();
    for &kind in Kind::ALL {
        let mut model = fit_any(&params(kind), 1);
        let x = random_rows(&model, 20, 3);
        assert!(kind.tells_true_probability(), "{kind}");
        let found = model.predict_true_probability_par(x.view(), &par).unwrap();
        assert_eq!((found.n_rows(), found.n_classes()), (20, model.n_classes()));
        assert_eq!(found.about(), About::TrueProbability);
        let [low, high] = model.predict_interval(x.view(), 0.9).unwrap();
        assert!(low.iter().zip(&high).all(|(low, high)| 0.0 <= *low && low <= high && *high <= 1.0));
        for level in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(matches!(model.predict_interval(x.view(), level), Err(Error::Param { .. })));
        }
        let wide = ndarray::Array2::zeros((1, model.n_features() + 1));
        assert!(matches!(model.predict_interval(wide.view(), 0.9), Err(Error::Shape { .. })));
        // What was made by asking is not saved, and made again.
        let bytes = model.to_bytes().unwrap();
        assert!(bytes == fit_any(&params(kind), 1).to_bytes().unwrap(), "{kind}");
        let read = Model::from_bytes(&bytes).unwrap();
        assert_eq!(
            read.predict_true_probability_par(x.view(), &Par::new(2).unwrap()).unwrap(),
            found,
            "{kind}"
        );
        let frozen = model.clone().without_rows();
        assert!(matches!(frozen.predict_interval(x.view(), 0.9), Err(Error::NoIntervals)), "{kind}");
        // What was kept is saved.
        let mut kept = model.clone();
        kept.keep_true_probability(&par).unwrap();
        let kept = Model::from_bytes(&kept.without_rows().to_bytes().unwrap()).unwrap();
        assert_eq!(kept.predict_true_probability_par(x.view(), &par).unwrap(), found, "{kind}");
        if kind.learns() {
            learn_all(&mut model, &more).unwrap();
            let learnt = model.predict_true_probability_par(x.view(), &par).unwrap();
            assert_ne!(learnt, found, "{kind}: rows that were learnt count");
            let read = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
            assert_eq!(read.predict_true_probability_par(x.view(), &par).unwrap(), learnt, "{kind}");
        }
    }
}

#[test]
fn rows_that_were_retained_because_they_were_wrong_tell_no_intervals() {
    let params = ModelParams::new(Kind::Forest).with_settings([("keep", "wrong"), ("n_trees", "5")]).unwrap();
    let model = fit_any(&params, 1);
    let x = random_rows(&model, 2, 3);
    let message = model.predict_interval(x.view(), 0.9).unwrap_err().to_string();
    assert!(message.contains("keep") && message.contains("all"), "{message}");
}

#[test]
fn a_process_learns_nothing_row_by_row() {
    let mut model = fit_any(&gp(), 1);
    let message = learn_all(&mut model, &more_rows()).unwrap_err().to_string();
    assert!(
        message.contains("gp cannot learn row by row")
            && message.contains("forest, ivm, leaf-gp, forest-ivm, rvm, forest-kernel"),
        "{message}"
    );
    assert_eq!((model.n_seen(), model.n_retained()), (None, None));
    assert!(matches!(Model::new(more_rows().schema.clone(), &gp()), Err(Error::Unable { .. })));
    assert_eq!(model.kernel().iter().find(|(name, _)| name == "length_scale").unwrap().1, 1.0);
}

#[test]
fn an_ivm_under_another_schema_is_refused() {
    let sound = fit_any(&ivm(), 1).to_bytes().unwrap();
    for (from, to) in [
        (r#"\"labels\":[\"a\",\"b\",\"c\"]"#, r#"\"labels\":[\"a\",\"b\"]"#),
        (r#"{\"name\":\"x\",\"kind\":\"numeric\"},"#, ""),
    ] {
        let error = Model::from_bytes(&edited(&sound, from, to)).unwrap_err();
        assert!(matches!(error, Error::ModelFile { .. }), "{error:?}");
    }
}

#[test]
fn every_kind_that_learns_goes_on_after_save_and_load_as_if_nothing_had_happened() {
    let data = more_rows();
    let rows = |range: std::ops::Range<usize>| data.select(&range.collect::<Vec<_>>());
    let kinds = Kind::ALL.iter().filter(|kind| kind.learns());
    // Rows that come again make leaves whose rows are alike but for their classes.
    let pairs = [(0..150, 150..300), (0..200, 0..60), (0..300, 0..300)];
    for (&kind, (first, second)) in kinds.flat_map(|kind| pairs.iter().map(move |pair| (kind, pair))) {
        let (n_first, first, second) = (first.len() as u64, rows(first.clone()), rows(second.clone()));
        let mut model = Model::new(data.schema.clone(), &params(kind)).unwrap();
        check_distributions(model.classifier().unwrap(), random_rows(&model, 9, 1).view());
        learn_all(&mut model, &first).unwrap();
        assert_eq!(model.n_seen(), Some(n_first));
        // A kind that sets no limit may keep sums only, and no rows.
        assert!(model.n_retained().is_some_and(|n| n > 0 || params(kind).max_retained() == Some(0)));
        let mut loaded = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        learn_all(&mut model, &second).unwrap();
        learn_all(&mut loaded, &second).unwrap();
        assert!(model.to_bytes().unwrap() == loaded.to_bytes().unwrap(), "{kind} {n_first}");
        let mut frozen = model.without_rows();
        assert!(matches!(learn_all(&mut frozen, &second), Err(Error::Frozen)));
        assert_eq!((frozen.n_seen(), frozen.n_retained()), (None, None));
    }
}

#[test]
fn models_without_rows_predict_the_same_before_and_after_they_have_learnt_more() {
    let data = more_rows();
    let x = data.features.to_array(0..data.n_rows());
    let par = Par::sequential();
    for &kind in Kind::ALL {
        let fitted = fit_any(&params(kind), 1);
        let mut models = vec![fitted.clone()];
        if kind.learns() {
            let mut learnt = fitted;
            learn_all(&mut learnt, &data).unwrap();
            models.push(learnt);
        }
        for model in models {
            let expected = model.predict_proba_par(x.view(), &par).unwrap();
            let frozen = model.without_rows();
            assert_eq!(frozen.predict_proba_par(x.view(), &par).unwrap(), expected, "{kind}");
            assert!(frozen.check_can_learn().is_err(), "{kind}");
        }
    }
}

#[test]
fn every_kind_that_learns_keeps_what_its_stream_was_like() {
    let data = more_rows();
    for kind in Kind::ALL.iter().copied().filter(|kind| kind.learns()) {
        let mut model = Model::new(data.schema.clone(), &params(kind)).unwrap();
        assert!(model.stream_summary().is_none(), "{kind}");
        let rows: Vec<usize> = (0..data.n_rows()).collect();
        for part in rows.chunks(170) {
            learn_all(&mut model, &data.select(part)).unwrap();
            model = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        }
        let mut whole = Model::new(data.schema.clone(), &params(kind)).unwrap();
        learn_all(&mut whole, &data).unwrap();
        let summary = whole.stream_summary().unwrap();
        assert_eq!((summary.rows, summary.drift()), (300, "stationary"), "{kind}");
        assert_eq!(model.stream_summary(), Some(summary), "{kind}");
        assert!(model.to_bytes().unwrap() == whole.to_bytes().unwrap(), "{kind}");
    }
}

#[test]
fn classes_and_categories_that_come_late_need_no_announcement() {
    let column = |name: &str, kind| Column { name: name.into(), kind };
    let colors = ColumnKind::Categorical { categories: ["red", "blue"].map(String::from).to_vec() };
    let columns = [column("x", ColumnKind::Numeric), column("color", colors)];
    let value = |(row, column): (usize, usize)| {
        if column == 0 { ((row * 37) % 101) as f32 / 101.0 } else { (row % 2) as f32 }
    };
    let x = ndarray::Array2::from_shape_fn((120, 2), value);
    let label = |x: f32| if x < 0.5 { "low" } else { "high" };
    let labels: Vec<&str> = x.column(0).iter().map(|x| label(*x)).collect();
    // Categories 2 and 3, and a class of their own.
    let mut later = x.clone();
    later.column_mut(1).mapv_inplace(|color| color + 2.0);
    let late = vec!["late"; 120];
    for &kind in Kind::ALL.iter().filter(|kind| kind.learns()) {
        let fit = Fit::new(params(kind)).threads(1).columns(columns.to_vec());
        let fitted = fit.fit(x.view(), &labels).unwrap().model;
        let [whole, cut] = [120, 7].map(|batch| {
            let mut model = fitted.clone();
            for (rows, labels) in later.axis_chunks_iter(ndarray::Axis(0), batch).zip(late.chunks(batch)) {
                model.learn(rows, labels).unwrap();
            }
            model
        });
        assert_eq!(whole.classes(), ["high", "low", "late"], "{kind}");
        assert_eq!(whole.schema().columns[1].kind.n_categories(), 4, "{kind}");
        assert!(whole == cut, "{kind}: batches change what is learnt");
        assert_eq!(whole.predict_proba(later.view()).unwrap().ncols(), 3, "{kind}");
    }
}

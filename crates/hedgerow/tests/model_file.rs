//! What a model file promises: the same model back, a small file, a safe replacement, no surprise from damaged bytes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod models;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::testing::check_distributions;
use hedgerow::core::{Error, ModelProblem, Par};
use hedgerow::forest::{Calibration, Forest, ForestModel, ForestParams};
use hedgerow::{FORMAT_VERSION, Kind, Learner, Model, ModelParams, is_model_file};
use models::{
    changed, digits, fit, fit_data, learn_all, learner, more_rows, names_in, plain, random_rows, rich,
    shipped, write,
};
use ndarray::Array2;

/// The message of a file that must not load, after checking that it is one about a model file and names the file.
#[track_caller]
fn refusal(path: &Path) -> String {
    let error = Model::load(path).expect_err("a damaged file must not load");
    assert!(matches!(error, Error::ModelFile { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.starts_with(&path.display().to_string()), "{message}");
    message
}

#[test]
fn a_loaded_model_is_the_saved_one() {
    let folder = tempfile::tempdir().unwrap();
    for (name, model) in [("rich", rich()), ("plain", plain()), ("learner", learner())] {
        let path = folder.path().join(name);
        let length = model.save(&path).unwrap();
        assert!(is_model_file(&path));
        let bytes = fs::read(&path).unwrap();
        assert_eq!((length, bytes.len() as u64), (model.file_len().unwrap(), length));
        assert!(model.to_bytes().unwrap() == bytes, "{name}: other bytes in memory than in the file");
        let loaded = Model::load(&path).unwrap();
        assert!(loaded == model, "{name}: something else came back");
        assert!(loaded.to_bytes().unwrap() == bytes, "{name}: saving again gave other bytes");
        let x = random_rows(&model, 300, 5);
        let par = Par::sequential();
        assert_eq!(
            loaded.predict_proba_par(x.view(), &par).unwrap(),
            model.predict_proba_par(x.view(), &par).unwrap()
        );
    }
}

#[test]
fn a_model_that_was_saved_and_loaded_goes_on_as_if_it_had_not_been() {
    let mut model = learner();
    let mut loaded = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    learn_all(&mut model, &more_rows()).unwrap();
    learn_all(&mut loaded, &more_rows()).unwrap();
    assert!(model.to_bytes().unwrap() == loaded.to_bytes().unwrap());
}

#[test]
fn a_fitted_model_learns_more_if_it_has_its_rows() {
    let data = more_rows();
    let params = ForestParams { n_trees: 4, ..Default::default() };
    let mut model = fit(&data, &params, 1);
    assert!(matches!(learn_all(&mut model.clone().without_rows(), &data), Err(Error::Frozen)));
    learn_all(&mut model, &data).unwrap();
    assert_eq!(model.retained_rows().unwrap().unwrap().n_rows(), 2 * data.n_rows());
    let without_rows = model.clone().without_rows();
    let x = random_rows(&model, 50, 1);
    let par = Par::sequential();
    let both = [&model, &without_rows].map(|m| m.predict_proba_par(x.view(), &par).unwrap());
    assert_eq!(both[0], both[1]);
    assert!(without_rows.file_len().unwrap() < model.file_len().unwrap());
}

#[test]
fn merged_models_that_have_their_rows_learn_on_with_all_of_them() {
    let params = ForestParams { n_trees: 4, ..Default::default() };
    let data = more_rows();
    let [one, two] = [(0..150), (150..300)].map(|rows| data.select(&rows.collect::<Vec<_>>()));
    let parts = [one, two].map(|data| fit(&data, &params, 1));
    let mut merged = hedgerow::merge(&parts.each_ref()).unwrap();
    assert_eq!(merged.retained_rows().unwrap().unwrap().labels(), data.labels());
    learn_all(&mut merged, &data).unwrap();
    assert_eq!(merged.n_retained(), Some(600));
}

#[test]
fn numbers_come_back_to_the_last_bit() {
    let model = plain();
    let forest = model.as_forest().unwrap();
    let mut rng = Rng::new(4, Purpose::Data, 0);
    for _ in 0..300 {
        let calibration = Calibration { pseudo_votes: rng.unit(), sharpness: 3.0 * rng.unit() };
        let (params, trees, gains) =
            (forest.params().clone(), forest.trees().to_vec(), forest.gains().to_vec());
        let prior_shift = vec![rng.unit(), 9.0 * rng.unit()];
        let forest = Forest::from_parts(params, 2, trees, Some(calibration), gains)
            .with_prior_shift(prior_shift.clone());
        let bytes =
            Model::from_parts(model.schema().clone(), Learner::Forest(Box::new(ForestModel::Frozen(forest))))
                .unwrap()
                .to_bytes()
                .unwrap();
        let loaded = Model::from_bytes(&bytes).unwrap();
        assert_eq!(loaded.as_forest().unwrap().calibration(), Some(&calibration));
        assert_eq!(loaded.as_forest().unwrap().prior_shift(), prior_shift);
    }
}

#[test]
fn the_same_seed_gives_the_same_file_for_any_number_of_threads() {
    let data = shipped("banana", "label");
    let params = ForestParams { n_trees: 13, seed: 9, ..Default::default() };
    let one = fit(&data, &params, 1).to_bytes().unwrap();
    for threads in [2, 3] {
        assert!(fit(&data, &params, threads).to_bytes().unwrap() == one, "{threads} threads");
    }
    let other = ForestParams { seed: 10, ..params };
    assert!(fit(&data, &other, 1).to_bytes().unwrap() != one, "the seed must matter");
}

#[test]
fn a_deep_forest_takes_at_most_16_bytes_a_node() {
    // One column and many classes that overlap make trees far deeper than most data do.
    for data in [digits(), hedgerow::core::testing::blobs(6_000, 1, 40, 3)] {
        let model = fit(&data, &ForestParams { n_trees: 20, ..Default::default() }, 2).without_rows();
        let forest = model.as_forest().unwrap();
        let nodes = forest.n_nodes() as f64;
        let (memory, file) = (model.bytes() as f64 / nodes, model.file_len().unwrap() as f64 / nodes);
        assert!(memory <= 16.0 && file <= 16.0, "{memory:.1} bytes a node in memory, {file:.1} in the file");
    }
}

#[test]
fn a_failed_save_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.hedgerow");
    plain().save(&path).unwrap();
    let old = fs::read(&path).unwrap();

    let nowhere = folder.path().join("missing").join("m.hedgerow");
    let message = rich().save(&nowhere).unwrap_err().to_string();
    assert!(message.contains("missing"), "{message}");
    let taken = folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    let message = rich().save(&taken).unwrap_err().to_string();
    assert!(message.contains("taken"), "{message}");

    assert!(fs::read(&path).unwrap() == old, "the old file was touched");
    assert_eq!(names_in(folder.path()), ["m.hedgerow", "taken"]);

    rich().save(&path).unwrap();
    assert!(fs::read(&path).unwrap() == rich().to_bytes().unwrap(), "the new file is not whole");
    assert_eq!(names_in(folder.path()), ["m.hedgerow", "taken"]);
}

#[test]
#[cfg(unix)]
fn a_full_device_is_an_error_that_names_it() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        println!("skipped: this system has no /dev/full");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link.hedgerow");
    std::os::unix::fs::symlink(full, &link).unwrap();
    let error = plain().save(&link).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("link.hedgerow"), "{error}");
    assert_eq!(names_in(folder.path()), ["link.hedgerow"]);
}

#[test]
fn what_a_killed_process_left_long_ago_goes_with_the_next_save() {
    let folder = tempfile::tempdir().unwrap();
    let left = ["old", "new"].map(|name| folder.path().join(format!(".m.hedgerow.unfinished-{name}")));
    for (path, hours) in left.iter().zip([2, 0]) {
        let file = fs::File::create(path).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3600 * hours))
            .unwrap();
    }
    plain().save(folder.path().join("m.hedgerow")).unwrap();
    // Somebody may still be writing the other one.
    assert_eq!(names_in(folder.path()), [".m.hedgerow.unfinished-new", "m.hedgerow"]);
}

#[test]
fn saves_of_one_file_at_the_same_time_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.hedgerow");
    let model = rich();
    std::thread::scope(|scope| {
        let saves: Vec<_> =
            (0..8).map(|_| scope.spawn(|| (0..20).try_for_each(|_| model.save(&path).map(|_| ())))).collect();
        for save in saves {
            save.join().unwrap().unwrap();
        }
    });
    assert!(fs::read(&path).unwrap() == model.to_bytes().unwrap(), "the file is not whole");
    assert_eq!(names_in(folder.path()), ["m.hedgerow"]);
}

#[test]
fn a_cut_off_file_is_refused_wherever_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(1, Purpose::Data, 0);
    for model in [rich(), plain()] {
        let bytes = model.to_bytes().unwrap();
        for _ in 0..200 {
            let end = rng.index(bytes.len());
            refusal(&write(&folder, "cut.hedgerow", &bytes[..end]));
            assert!(Model::from_bytes(&bytes[..end]).is_err());
        }
    }
}

#[test]
fn a_damaged_file_is_refused_wherever_the_damage_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(2, Purpose::Data, 0);
    for model in [rich(), plain()] {
        let sound = model.to_bytes().unwrap();
        for round in 0..500 {
            let mut bytes = sound.clone();
            let at = rng.index(bytes.len());
            bytes[at] ^= if round % 2 == 0 { 1 << rng.below(8) } else { 1 + rng.below(255) as u8 };
            refusal(&write(&folder, "damaged.hedgerow", &bytes));
        }
        let longer = [sound.as_slice(), b"more"].concat();
        refusal(&write(&folder, "longer.hedgerow", &longer));
    }
}

#[test]
fn wrong_contents_behind_a_right_checksum_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(3, Purpose::Data, 0);
    let mut n_loaded = 0;
    let more = more_rows();
    for model in [rich(), plain(), learner()] {
        let sound = model.to_bytes().unwrap();
        for round in 0..2_000 {
            let bytes = changed(&sound, round, &mut rng);
            match Model::from_bytes(&bytes) {
                Ok(mut loaded) => {
                    n_loaded += 1;
                    check_distributions(loaded.classifier().unwrap(), random_rows(&loaded, 9, round).view());
                    if round % 8 == 0 && loaded.check_can_learn().is_ok() {
                        // It may refuse, since columns or classes may be others now, but it must not panic or hang.
                        let _ = learn_all(&mut loaded, &more);
                    }
                }
                Err(_) => {
                    refusal(&write(&folder, "wrong.hedgerow", &bytes));
                }
            }
        }
    }
    assert!(n_loaded > 100, "only {n_loaded} changed files loaded: the test no longer reaches prediction");
}

#[test]
fn contents_out_of_range_are_refused_with_the_name_of_the_part() {
    let folder = tempfile::tempdir().unwrap();
    let sound = plain().to_bytes().unwrap();
    for (from, to, wanted) in [
        (r#"\"n_thresholds\":1"#, r#"\"n_thresholds\":0"#, "params"),
        (r#"\"min_leaf_rows\":1"#, r#"\"min_leaf_rows\":0"#, "params"),
        (r#"\"criterion\":\"gini\""#, r#"\"criterion\":\"gine\""#, "gine"),
        (r#"\"learner\":{\"forest\""#, r#"\"learner\":{\"florist\""#, "florist"),
        (r#"\"learner\":"#, r#"\"lerner\":"#, "learner"),
        (r#""model":"#, r#""modes":"#, "model"),
        (r#"\"labels\":[\"-1\",\"1\"]"#, r#"\"labels\":[\"-1\",\"-1\"]"#, "schema"),
        (r#"\"roots\":0"#, r#"\"roots\":1"#, "array 1"),
        (r#"\"roots\":0"#, r#"\"roots\":99"#, "array 99"),
        (r#""0":{"dtype""#, r#""zero":{"dtype""#, "0"),
        (r#""checksum":{"#, r#""chequesum":{"#, "checksum"),
        (r#""dtype":"F32""#, r#""dtype":"I32""#, "F32"),
        (r#""dtype":"F32""#, r#""dtype":"U32""#, "F32"),
    ] {
        let path = write(&folder, "wrong.hedgerow", &models::edited(&sound, from, to));
        let message = refusal(&path);
        assert!(message.contains(wanted), "{message:?} lacks {wanted:?}");
    }
}

#[test]
fn another_version_is_refused_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let ours = format!(r#""format_version":"{FORMAT_VERSION}""#);
    let sound = plain().to_bytes().unwrap();
    for version in ["1", "2", "17", "banana"] {
        let newer = models::edited(&sound, &ours, &format!(r#""format_version":"{version}""#));
        let message = refusal(&write(&folder, "newer.hedgerow", &newer));
        assert!(
            message.contains(&format!("format version {version}")) && message.contains("update"),
            "{message}"
        );
    }
}

#[test]
fn other_files_are_not_model_files() {
    let folder = tempfile::tempdir().unwrap();
    let gz = fs::read(models::data_file("digits.csv.gz")).unwrap();
    let long_text = "Dear diary, ".repeat(100);
    for (name, content) in [
        ("text", long_text.as_bytes()),
        ("empty", b""),
        ("short", b"abc"),
        ("packed.gz", &gz),
        ("json", b"{}"),
    ] {
        let path = write(&folder, name, content);
        assert!(refusal(&path).contains("not a hedgerow model file"), "{name}");
        assert!(!is_model_file(&path), "{name}");
        let problem = Model::from_bytes(content).unwrap_err();
        assert!(matches!(problem, Error::ModelFile { path: None, problem: ModelProblem::NotAModel { .. } }));
    }
    let missing = Model::load(folder.path().join("nowhere")).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }) && missing.to_string().contains("nowhere"), "{missing}");
    assert!(Model::load(folder.path()).is_err(), "a folder is no model");
}

/// Files written by released versions must load forever. This one keeps its rows and goes on learning as it always did.
#[test]
fn a_file_of_version_3_predicts_and_learns_as_it_always_did() {
    let mut model = old_model("forest-v3.hedgerow");
    assert_eq!(titanic_predictions(&model), old_predictions("forest-v3.csv"));
    assert_eq!(model.n_retained(), Some(2201));
    learn_all(&mut model, &shipped("titanic", "Survived")).unwrap();
    assert_eq!(titanic_predictions(&model), old_predictions("forest-v3-later.csv"));
}

/// Kernels are summed in another order on another processor, so predictions may differ in their last digits.
#[test]
fn files_of_other_kinds_predict_as_they_always_did() {
    for &kind in Kind::ALL.iter().filter(|kind| **kind != Kind::Forest) {
        let model = Model::load(old_file(&format!("{kind}-v3.hedgerow"))).unwrap();
        assert_eq!(
            (model.kind(), model.schema().labels.names()),
            (kind, &["No", "Yes"].map(String::from)[..])
        );
        let (got, wanted) = (titanic_predictions(&model), old_predictions(&format!("{kind}-v3.csv")));
        assert_eq!(got.lines().next(), wanted.lines().next());
        assert_eq!(got.lines().count(), wanted.lines().count());
        for (got, wanted) in got.lines().zip(wanted.lines()).skip(1) {
            let numbers = |line: &str| line.split(',').map(|n| n.parse::<f64>().unwrap()).collect::<Vec<_>>();
            let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6 || (a.is_nan() && b.is_nan());
            assert!(numbers(got).iter().zip(&numbers(wanted)).all(is_near), "{kind}: {got}, once {wanted}");
        }
    }
    let mut model = Model::load(old_file("forest-kernel-v3.hedgerow")).unwrap();
    assert_eq!(model.n_retained(), Some(2201));
    learn_all(&mut model, &shipped("titanic", "Survived")).unwrap();
    assert_eq!(model.n_seen(), Some(4402));
}

/// Writes the files of this version and what they predict. They are written once, when a version of the format is new.
#[test]
#[ignore = "writes into tests/data"]
fn write_a_file_of_every_kind() {
    let data = shipped("titanic", "Survived");
    for kind in Kind::ALL {
        let settings: &[(&str, &str)] = match kind {
            Kind::Forest | Kind::ForestKernel => &[("n_trees", "6"), ("max_height", "4")],
            Kind::Ivm => &[("n_active", "10")],
            Kind::LeafGp => &[("n_trees", "2"), ("leaf_rows", "100")],
            Kind::ForestIvm => &[("n_trees", "6"), ("max_height", "4"), ("n_active", "10")],
            Kind::Kde | Kind::Knn => &[("max_rows", "150")],
            _ => &[],
        };
        let params = ModelParams::new(*kind).with_settings(settings.iter().copied()).unwrap().with_seed(1);
        let step = if *kind == Kind::Gp { 15 } else { 1 };
        let rows = data.select(&(0..data.n_rows()).step_by(step).collect::<Vec<_>>());
        let fitted = fit_data(&rows, &params, 1);
        let keeps_rows = [Kind::Forest, Kind::ForestKernel].contains(kind);
        let mut model = if keeps_rows { fitted } else { fitted.without_rows() };
        model.save(old_file(&format!("{kind}-v{FORMAT_VERSION}.hedgerow"))).unwrap();
        fs::write(old_file(&format!("{kind}-v{FORMAT_VERSION}.csv")), titanic_predictions(&model)).unwrap();
        if *kind == Kind::Forest {
            learn_all(&mut model, &data).unwrap();
            fs::write(old_file(&format!("forest-v{FORMAT_VERSION}-later.csv")), titanic_predictions(&model))
                .unwrap();
        }
    }
}

fn old_model(name: &str) -> Model {
    let model = Model::load(old_file(name)).unwrap();
    assert_eq!(model.schema().labels.names(), ["No", "Yes"]);
    let names: Vec<&str> = model.schema().columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["Class", "Sex", "Age"]);
    let params = model.as_forest().unwrap().params();
    assert_eq!((params.n_trees, params.max_height, params.seed), (6, 4, 1));
    model
}

fn old_file(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// What an old file predicted when it was written.
fn old_predictions(name: &str) -> String {
    fs::read_to_string(old_file(name)).unwrap()
}

/// What a model says about every row there can be.
fn titanic_predictions(model: &Model) -> String {
    let mut rows = Vec::new();
    for class in [0.0, 1.0, 2.0, 3.0, f32::NAN] {
        for sex in [0.0, 1.0, f32::NAN] {
            for age in [0.0, 1.0, f32::NAN] {
                rows.extend([class, sex, age]);
            }
        }
    }
    let x = Array2::from_shape_vec((rows.len() / 3, 3), rows).unwrap();
    let proba = model.predict_proba_par(x.view(), &Par::sequential()).unwrap();
    let mut got = "class,sex,age,p_No,p_Yes\n".to_string();
    for (row, p) in x.rows().into_iter().zip(proba.rows()) {
        writeln!(got, "{},{},{},{},{}", row[0], row[1], row[2], p[0], p[1]).unwrap();
    }
    got
}

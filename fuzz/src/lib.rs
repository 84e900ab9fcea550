//! What the fuzz targets share.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use hedgerow::{Model, ModelParams};
use hedgerow::core::{Budget, ClassId, Column, ColumnKind, Dataset, Features, LabelTable, Par, Rows, Schema, Silent, Task, Training};
use hedgerow::forest::ForestParams;
use hedgerow::gp::{GpParams, IvmParams};
use hedgerow::io::{Format, ReadOptions, RowReader, read_dataset, summarize};
use ndarray::Array2;

/// Asks a model that has loaded about some rows: ordinary, extreme and missing values.
pub fn ask(model: &Model) {
    let n = model.schema().n_features();
    // A damaged schema may name tens of thousands of columns or classes; the table of predictions is then kept small.
    let rows = if n.max(model.schema().n_classes()) > 4096 { 1 } else { 9 };
    let values = [0.0, 1.0, -3.5, 40.0, f32::NAN, f32::MAX, f32::MIN, 1e-40, 65_535.0];
    let x = Array2::from_shape_fn((rows, n), |(row, column)| values[(row + column * row) % values.len()]);
    if model.task() == Task::Regression {
        let values = model.predict_values(x.view()).expect("the shapes are right");
        assert!(values.variance.iter().all(|variance| *variance >= 0.0), "a variance below 0");
    } else {
        let proba = model.predict_proba_par(x.view(), &Par::sequential()).expect("the shapes are right");
        for row in proba.rows() {
            let sum: f64 = row.sum();
            assert!((sum - 1.0).abs() < 1e-6, "probabilities sum to {sum}");
        }
    }
    let bytes = model.to_bytes().expect("a loaded model can be saved");
    assert!(Model::from_bytes(&bytes).is_ok(), "a saved model can be loaded");
}

/// Reads bytes as a file of a format, in every way there is. Only a panic is a failure.
pub fn read_as(format: Format, bytes: &[u8]) {
    let path = scratch_file(format);
    fs::write(&path, bytes).expect("the scratch folder is writable");
    for target in
        [None, Some("0".parse().expect("any text is a column")), Some("1".parse().expect("the same"))]
    {
        let options = ReadOptions { format: Some(format), target, ..ReadOptions::default() };
        let _ = summarize(&path, &options);
        if let Ok(mut reader) = RowReader::open(&path, &options) {
            while let Ok(Some(_)) = reader.next_batch(7) {}
        }
        if let Ok(data) = read_dataset(&path, &options, Some(64 << 20))
            && let Ok(mut reader) = RowReader::open_with(&path, &options, &data.schema)
        {
            while let Ok(Some(_)) = reader.next_batch(7) {}
        }
    }
}

/// A file of this process's own, in memory where the system has such a folder.
fn scratch_file(format: Format) -> PathBuf {
    let shared_memory = PathBuf::from("/dev/shm");
    let folder = if shared_memory.is_dir() { shared_memory } else { std::env::temp_dir() };
    folder.join(format!("hedgerow-fuzz-{}-{format}", std::process::id()))
}

/// Sound model files: one that ships with the tests, keeps its rows and learns on, one with large category sets,
/// missing values and classes that came with a merge, one that has learnt row by row and forgotten some, and
/// kernel models.
pub fn sound_models() -> &'static [Vec<u8>] {
    static MODELS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    MODELS.get_or_init(|| {
        let old_learner = include_bytes!("../../crates/hedgerow/tests/data/forest-v3.hedgerow").to_vec();
        let parts = [grown(&["a", "b"]), grown(&["b", "c", "d"])];
        let merged = hedgerow::merge(&parts.each_ref()).expect("the columns are the same");
        let bytes = |model: &Model| model.to_bytes().expect("a model can be saved");
        let mut models = vec![old_learner, bytes(&merged), bytes(&trained_further())];
        models.extend(kernel_models().iter().map(bytes));
        models
    })
}

/// Lets a model that has loaded learn a few rows, if it keeps rows. It may refuse.
pub fn learn_all(model: &mut Model) {
    let n = model.schema().n_features();
    if model.check_can_learn().is_err() || n.max(model.schema().n_classes()) > 4096 {
        return;
    }
    let x = Array2::from_shape_fn((5, n), |(row, column)| ((row + column) % 3) as f32);
    let labels: Vec<ClassId> = (0..5).map(|row| ClassId(row % model.schema().n_classes().max(1) as u32)).collect();
    let par = Par::sequential();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    let schema = model.schema().clone();
    let _ = model.learn_rows(&schema, Rows::new(x.view(), labels.as_slice(), None), &training);
}

/// A model that has learnt row by row, with more rows than it may keep.
fn trained_further() -> Model {
    let data = data(&["a", "b", "c"]);
    let params = ForestParams { n_trees: 3, pool_rows: 90, ..Default::default() };
    let mut model = Model::new(data.schema.clone(), &params.into()).expect("there are trees");
    let par = Par::sequential();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    let x = data.features.to_array(0..data.n_rows());
    let rows = Rows::new(x.view(), data.labels(), None);
    model.learn_rows(&data.schema, rows, &training).expect("the rows are sound");
    model
}

/// An Informative Vector Machine that keeps learning, one that is frozen, and an exact Gaussian process.
fn kernel_models() -> [Model; 3] {
    let ivm = IvmParams { n_active: 10, length_scale: 1.0, signal_variance: 8.0, ..Default::default() };
    let gp = GpParams { length_scale: 1.0, noise_variance: 0.1, ..Default::default() };
    let par = Par::sequential();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    let fit = |params: ModelParams| {
        Model::fit(&data(&["a", "b", "c"]), &params, &training).expect("the data are sound").model
    };
    let ivm = fit(ivm.into());
    [ivm.clone(), ivm.without_rows(), fit(gp.into())]
}

fn grown(labels: &[&str]) -> Model {
    let params = ForestParams { n_trees: 3, max_height: 6, ..Default::default() }.into();
    let par = Par::sequential();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    Model::fit(&data(labels), &params, &training).expect("the data are sound").model
}

fn data(labels: &[&str]) -> Dataset {
    const CATEGORIES: usize = 70;
    let categories = (0..CATEGORIES).map(|i| format!("k{i}")).collect();
    let columns = vec![
        Column::numeric("x"),
        Column { name: "kind".into(), kind: ColumnKind::Categorical { categories } },
        Column { name: "flag".into(), kind: ColumnKind::Boolean { no: "no".into(), yes: "yes".into() } },
    ];
    let mut table = LabelTable::default();
    labels.iter().for_each(|label| {
        table.get_or_add(label).expect("there are few labels");
    });
    let schema = Schema { columns, named: true, target: Some("y".into()), labels: table, ..Schema::default() };
    let mut features = Features::new(3);
    let mut classes = Vec::new();
    for i in 0..140_usize {
        let x = if i % 9 == 0 { f32::NAN } else { (i * 37 % 101) as f32 / 7.0 };
        let kind = if i % 11 == 0 { f32::NAN } else { (i * 13 % CATEGORIES) as f32 };
        features.push(&[x, kind, (i / 3 % 2) as f32]);
        classes.push(ClassId(((i * 13 % CATEGORIES / 5 + i * 37 % 101 / 30) % labels.len()) as u32));
    }
    Dataset::new(schema, features, classes, None).expect("the parts fit")
}

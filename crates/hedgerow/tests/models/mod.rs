//! Models to save, and ways to change their files.
#![allow(dead_code, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::{
    Budget, ClassId, Column, ColumnKind, Dataset, Features, LabelTable, Par, Rows, Schema, Silent, Training,
    Update,
};
use hedgerow::forest::ForestParams;
use hedgerow::io::{ReadOptions, read_dataset};
use hedgerow::{Model, ModelParams};
use ndarray::Array2;

/// A data file that ships with the project.
pub(crate) fn data_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

/// A data set that ships with the project.
pub(crate) fn shipped(name: &str, target: &str) -> Dataset {
    let options = ReadOptions { target: Some(target.parse().unwrap()), ..Default::default() };
    read_dataset(&data_file(&format!("{name}.csv.gz")), &options, None).unwrap()
}

pub(crate) fn digits() -> Dataset {
    shipped("digits", "digit")
}

pub(crate) fn fit(data: &Dataset, params: &ForestParams, threads: usize) -> Model {
    let par = Par::new(threads).unwrap();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    Model::fit(data, &params.clone().into(), &training).unwrap().model
}

/// Numbers only.
pub(crate) fn plain() -> Model {
    fit(&shipped("banana", "label"), &ForestParams { n_trees: 3, max_height: 8, ..Default::default() }, 1)
}

/// Numbers, a flag, categories (more than fit a split), missing values, and classes that came with a merge.
pub(crate) fn rich() -> Model {
    let parts = [mixed(&["a", "b"], 1), mixed(&["b", "c", "d"], 2)];
    let params = ForestParams { n_trees: 4, ..Default::default() };
    let parts = parts.map(|data| fit(&data, &params, 1));
    hedgerow::merge(&parts.each_ref()).unwrap()
}

/// A model that goes on learning, stopped between two looks around, with rows that have been forgotten.
pub(crate) fn learner() -> Model {
    let data = mixed(&["a", "b", "c"], 3);
    let params = ForestParams { n_trees: 4, pool_rows: 200, ..Default::default() };
    let mut model = Model::new(data.schema.clone(), &params.into()).unwrap();
    learn_all(&mut model, &data).unwrap();
    model
}

/// Learns all rows of a data set.
pub(crate) fn learn_all(model: &mut Model, data: &Dataset) -> hedgerow::core::Result<Update> {
    let par = Par::sequential();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    let x = data.features.to_array(0..data.n_rows());
    let rows = Rows::new(x.view(), data.labels(), data.weights.as_deref());
    model.learn_rows(&data.schema, rows, &training)
}

/// Some rows with the schema of [`learner`].
pub(crate) fn more_rows() -> Dataset {
    mixed(&["a", "b", "c"], 4)
}

fn mixed(labels: &[&str], seed: u64) -> Dataset {
    const CATEGORIES: usize = 70;
    let categories = (0..CATEGORIES).map(|i| format!("k{i}")).collect();
    let columns = vec![
        Column::numeric("x"),
        Column { name: "kind".into(), kind: ColumnKind::Categorical { categories } },
        Column { name: "flag".into(), kind: ColumnKind::Boolean { no: "no".into(), yes: "yes".into() } },
    ];
    let labels = LabelTable::from(labels.iter().map(ToString::to_string).collect::<Vec<_>>());
    let schema = Schema { columns, named: true, target: Some("y".into()), labels, ..Schema::default() };
    let mut rng = Rng::new(seed, Purpose::Data, 1);
    let mut features = Features::new(3);
    let mut classes = Vec::new();
    for _ in 0..300 {
        let (x, kind) = (rng.below(1000) as f32 / 8.0, rng.index(CATEGORIES));
        let class = (kind / 5 + x as usize / 30) % schema.n_classes();
        let or_missing = |value: f32, rng: &mut Rng| if rng.below(10) == 0 { f32::NAN } else { value };
        let row = [or_missing(x, &mut rng), or_missing(kind as f32, &mut rng), rng.below(2) as f32];
        features.push(&row);
        classes.push(ClassId(class as u32));
    }
    Dataset::new(schema, features, classes, None).unwrap()
}

/// A model of any kind, fitted to rows with numbers, a flag, categories and gaps.
pub(crate) fn fit_any(params: &ModelParams, threads: usize) -> Model {
    fit_data(&more_rows(), params, threads)
}

/// A model of any kind.
pub(crate) fn fit_data(data: &Dataset, params: &ModelParams, threads: usize) -> Model {
    let par = Par::new(threads).unwrap();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    Model::fit(data, params, &training).unwrap().model
}

/// The bytes of a sound file with a few of them changed, in its header in even rounds and behind it in others, and the checksum
/// put right.
pub(crate) fn changed(sound: &[u8], round: u64, rng: &mut Rng) -> Vec<u8> {
    let header = 8 + u64::from_le_bytes(std::array::from_fn(|i| sound[i])) as usize;
    let mut bytes = sound.to_vec();
    for _ in 0..=rng.below(3) {
        let at = if round.is_multiple_of(2) {
            rng.index(header)
        } else {
            header + rng.index(bytes.len() - 4 - header)
        };
        bytes[at] = match rng.below(3) {
            0 => bytes[at] ^ (1 << rng.below(8)),
            1 => rng.below(256) as u8,
            _ => *b"0129\"{}[],:\xff".get(rng.index(12)).unwrap(),
        };
    }
    resummed(bytes)
}

/// Rows with ordinary, odd and missing values.
pub(crate) fn random_rows(model: &Model, n: usize, seed: u64) -> Array2<f32> {
    let mut rng = Rng::new(seed, Purpose::Data, 2);
    Array2::from_shape_fn((n, model.n_features()), |_| match rng.below(8) {
        0 => f32::NAN,
        1 => f32::MAX,
        2 => -1.0,
        3 => rng.below(80) as f32,
        _ => rng.below(1000) as f32 / 8.0,
    })
}

/// The bytes with the checksum at their end put right.
pub(crate) fn resummed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// A model file with a text of its header replaced, its lengths and checksum put right.
pub(crate) fn edited(sound: &[u8], from: &str, to: &str) -> Vec<u8> {
    let length = u64::from_le_bytes(std::array::from_fn(|i| sound[i])) as usize;
    let (header, rest) = sound[8..].split_at(length);
    let header = std::str::from_utf8(header).unwrap();
    assert!(header.contains(from), "{from} is not in the header");
    let mut header = header.replacen(from, to, 1).trim_end().as_bytes().to_vec();
    header.resize(header.len().next_multiple_of(8), b' ');
    resummed([&(header.len() as u64).to_le_bytes(), header.as_slice(), rest].concat())
}

/// A file in a folder.
pub(crate) fn write(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// The names of all files of a folder, hidden ones too.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().to_string_lossy().into()).collect();
    names.sort();
    names
}

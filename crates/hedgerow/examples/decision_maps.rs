//! What different models make of the same rows: a picture each.
//!
//! The rows are the two-class toy set of Denninger 2017: 600 rows around (0, 0) and 600 around (1, 1), each at a random angle and
//! at a normally distributed distance of deviation 0.3.
//!
//! ```text
//! cargo run --release --example decision_maps                  # into docs/pictures
//! cargo run --release --example decision_maps -- FOLDER
//! ```

#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::{
    Budget, ClassId, Classifier as _, Column, Dataset, Features, LabelTable, Par, Result, Schema, Silent,
    Training,
};
use hedgerow::forest::ForestParams;
use hedgerow::gp::IvmParams;
use hedgerow::report::{DecisionMap, MapRows};
use hedgerow::{Model, ModelParams};

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("docs/pictures"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let (train, test) = (toy(1)?, toy(2)?);
    for (file, title, params) in models() {
        let par = Par::new(0)?;
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let model = Model::fit(&train, &params, &training)?.model;
        let map = map(&model, &train, &par)?;
        let path = folder.join(format!("toy-{file}.svg"));
        std::fs::write(&path, map.to_svg(title))?;
        println!("{}: {:.2} % right on other rows", path.display(), 100.0 * accuracy(&model, &test, &par)?);
    }
    Ok(())
}

/// The name of each picture's file, its title, and what it is about.
fn models() -> Vec<(&'static str, &'static str, ModelParams)> {
    let ivm = IvmParams { n_active: 28, ..Default::default() };
    vec![
        ("forest", "Forest of 100 trees", ForestParams::default().into()),
        ("ivm", "Informative Vector Machine, 28 active rows", ivm.into()),
    ]
}

fn map(
    model: &Model,
    data: &Dataset,
    par: &Par,
) -> std::result::Result<DecisionMap, Box<dyn std::error::Error>> {
    let x = data.features.to_array(0..data.n_rows());
    let active = model.active_rows();
    let rows = MapRows { x: x.view(), labels: &data.labels, active: active.as_ref().map(|rows| rows.view()) };
    Ok(DecisionMap::new(model, &model.schema, &rows, par)?.ok_or("there is nothing to draw")?)
}

fn accuracy(model: &Model, data: &Dataset, par: &Par) -> Result<f64> {
    let answers = model.predict(data.features.to_array(0..data.n_rows()).view(), par)?;
    let n_right = answers.iter().zip(&data.labels).filter(|(a, b)| a == b).count();
    Ok(n_right as f64 / data.n_rows() as f64)
}

fn toy(seed: u64) -> Result<Dataset> {
    const ROWS_A_CLASS: usize = 600;
    let mut rng = Rng::new(seed, Purpose::Data, 0);
    let mut features = Features::new(2);
    let mut labels = Vec::new();
    for class in 0..2 {
        for _ in 0..ROWS_A_CLASS {
            let (angle, radius) = (std::f64::consts::TAU * rng.unit(), 0.3 * rng.normal());
            let center = f64::from(class);
            features.push(&[(center + radius * angle.cos()) as f32, (center + radius * angle.sin()) as f32]);
            labels.push(ClassId(class));
        }
    }
    let schema = Schema {
        columns: vec![Column::numeric("x"), Column::numeric("y")],
        labels: LabelTable::from(vec!["first".to_string(), "second".to_string()]),
        ..Schema::default()
    };
    Dataset::new(schema, features, labels, None)
}

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
    Budget, ClassId, Classifier, Column, Dataset, Features, LabelTable, Par, Result, Schema, Silent, Training,
};
use hedgerow::forest::proximity::ForestKernel;
use hedgerow::forest::{Forest, ForestParams};
use hedgerow::gp::classifier::GpMethod;
use hedgerow::gp::{BinaryGp, GpParams, IvmParams, Kernel, Likelihood};
use hedgerow::report::{DecisionMap, MapRows};
use hedgerow::{Model, ModelParams};
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("docs/pictures"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let (train, test) = (toy(1)?, toy(2)?);
    let par = Par::new(0)?;
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    let draw = |file: &str, title: &str, model: &dyn Classifier, active: Option<Array2<f32>>| {
        let x = train.features.to_array(0..train.n_rows());
        let rows =
            MapRows { x: x.view(), labels: train.labels(), active: active.as_ref().map(|rows| rows.view()) };
        let map = DecisionMap::new(model, &train.schema, &rows, &par)?.ok_or("there is nothing to draw")?;
        let path = folder.join(format!("toy-{file}.svg"));
        std::fs::write(&path, map.to_svg(title))?;
        println!("{}: {:.2} % right on other rows", path.display(), 100.0 * accuracy(model, &test, &par)?);
        Ok::<(), Box<dyn std::error::Error>>(())
    };
    for (file, title, params) in models() {
        let model = Model::fit(&train, &params, &training)?.model;
        draw(file, title, model.classifier()?, model.active_rows())?;
    }
    let forest = Model::fit(&train, &ForestParams::default().into(), &training)?.model;
    let forest = forest.as_forest().ok_or("a forest was fitted")?;
    draw("forest-kernel", "Gaussian process, kernel of a forest", &Sharing::fit(forest, &train, &par)?, None)
}

/// The name of each picture's file, its title, and what it is about.
fn models() -> Vec<(&'static str, &'static str, ModelParams)> {
    // With the variance left open, the evidence favors one so large that no prediction is sure.
    let gp = GpParams { method: GpMethod::Laplace, signal_variance: 100.0, ..Default::default() };
    let ivm = IvmParams { n_active: 28, refit: false, ..Default::default() };
    vec![
        ("forest", "Forest of 100 trees", ForestParams::default().into()),
        ("gp", "Gaussian process of all rows", gp.into()),
        ("ivm", "Informative Vector Machine, 28 active rows", ivm.into()),
    ]
}

/// A Gaussian process in whose eyes rows are alike if they share places in the trees of a forest.
struct Sharing<'a> {
    kernel: ForestKernel<'a>,
    process: BinaryGp,
}

impl<'a> Sharing<'a> {
    fn fit(forest: &'a Forest, data: &Dataset, par: &Par) -> Result<Self> {
        let kernel = ForestKernel::new(forest, 0);
        let places = kernel.places(data.features.to_array(0..data.n_rows()).view(), par)?.mapv(f64::from);
        let y: Vec<f64> = data.labels().iter().map(|class| 2.0 * class.index() as f64 - 1.0).collect();
        let shares = Kernel::Matches.scaled(10.0) + Kernel::white(0.01);
        let process = BinaryGp::laplace(shares, Likelihood::Logistic, places.view(), &y, par)?;
        Ok(Self { kernel, process })
    }
}

impl Classifier for Sharing<'_> {
    fn n_features(&self) -> usize {
        2
    }

    fn n_classes(&self) -> usize {
        2
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        let places = self.kernel.places(x, par).map(|places| places.mapv(f64::from));
        let second = places.and_then(|places| self.process.probability(places.view(), par));
        // The columns are right, so nothing else can go wrong.
        for (mut row, p) in out.rows_mut().into_iter().zip(second.unwrap_or_default()) {
            (row[0], row[1]) = (1.0 - p, p);
        }
    }
}

fn accuracy(model: &dyn Classifier, data: &Dataset, par: &Par) -> Result<f64> {
    let predictions = model.predict(data.features.to_array(0..data.n_rows()).view(), par)?;
    let n_right = predictions.iter().zip(data.labels()).filter(|(a, b)| a == b).count();
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

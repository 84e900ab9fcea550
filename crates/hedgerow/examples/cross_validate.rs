//! Cross-validates kinds of model with settings on several tables: what defaults are chosen by.
//!
//! ```text
//! cargo run --release --example cross_validate -- SETS KIND[,NAME=VALUE...] ...
//! ```
//!
//! `SETS` names tables in the folder `tabular` of `HEDGEROW_DATA` and their targets, with commas between: `pima/diabetes,spam/type:2000`, where the number
//! takes so many rows, spread over all. A line is printed for each table and model: accuracy in percent, log-loss and expected calibration error of out-of-fold probabilities, the log-loss of the mean
//! of the relative evidence where there is one, and the seconds that fits and predictions took. Every fold is a fifth of the rows.

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use hedgerow::core::metrics::Report;
use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::{Budget, ClassId, ClassQuality, Dataset, Folds, Par, Silent, Training};
use hedgerow::io::{ColumnRef, ReadOptions, read_dataset};
use hedgerow::{Kind, Model, ModelParams};
use ndarray::{Array2, Axis, concatenate};

const FOLDS: usize = 5;

#[expect(clippy::print_stdout, reason = "this is a program")]
fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [sets, models @ ..] = &args[..] else { return Err("expected SETS KIND[,NAME=VALUE...] ...".into()) };
    let folder = PathBuf::from(std::env::var("HEDGEROW_DATA")?).join("tabular");
    let mut sums = vec![[0.0; 4]; models.len()];
    let names: Vec<&str> = sets.split(',').collect();
    for set in &names {
        let (name, most) = set.split_once(':').unwrap_or((set, ""));
        let (table, target) = name.split_once('/').ok_or("expected TABLE/TARGET")?;
        let options = ReadOptions { target: Some(ColumnRef::Name(target.into())), ..Default::default() };
        let all = read_dataset(&folder.join(format!("{table}.csv.gz")), &options, None)?;
        let step = most.parse().map_or(1, |most: usize| all.n_rows().div_ceil(most));
        let data = all.select(&(0..all.n_rows()).step_by(step.max(1)).collect::<Vec<_>>());
        for (model, sums) in models.iter().zip(&mut sums) {
            let start = Instant::now();
            let found = out_of_fold(&data, &params(model)?)?;
            let seconds = start.elapsed().as_secs_f64();
            println!("{set:16} {model:50} {} {seconds:6.1} s", line(found));
            sums.iter_mut().zip(found).for_each(|(sum, value)| *sum += value / names.len() as f64);
        }
    }
    for (model, mean) in models.iter().zip(sums) {
        println!("{:16} {model:50} {}", "mean", line(mean));
    }
    Ok(())
}

fn line([accuracy, log_loss, ece, of_evidence]: [f64; 4]) -> String {
    format!("{accuracy:6.2} % log-loss {log_loss:.4} ece {ece:.4} evidence {of_evidence:.4}")
}

fn params(model: &str) -> Result<ModelParams, Box<dyn Error>> {
    let mut parts = model.split(',');
    let kind: Kind = parts.next().unwrap_or_default().parse()?;
    let settings: Option<Vec<(&str, &str)>> = parts.map(|part| part.split_once('=')).collect();
    Ok(ModelParams::new(kind).with_settings(settings.ok_or("expected NAME=VALUE")?)?)
}

/// Accuracy, log-loss and calibration error of predictions by the models of the other folds.
fn out_of_fold(data: &Dataset, params: &ModelParams) -> Result<[f64; 4], Box<dyn Error>> {
    let (par, budget) = (Par::shared(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let folds = Folds::new(data.n_rows(), FOLDS, Rng::new(1, Purpose::Validation, 0));
    let (mut labels, mut proba, mut means): (Vec<ClassId>, Vec<Array2<f64>>, Vec<Array2<f64>>) =
        Default::default();
    for fold in 0..FOLDS {
        let [kept, left] = folds.cut(fold);
        let (train, test) = (data.select(&kept), data.select(&left));
        let model = Model::fit(&train, params, &training)?.model;
        let x = test.features.to_array(0..test.n_rows());
        let predicted = model.predict_proba_par(x.view(), &par)?;
        means.push(
            model.predict_evidence_par(x.view(), &par).map_or(predicted.clone(), |evidence| evidence.mean()),
        );
        proba.push(predicted);
        labels.extend(test.labels());
    }
    let whole = |parts: &[Array2<f64>]| {
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        concatenate(Axis(0), &views)
    };
    let (proba, means) = (whole(&proba)?, whole(&means)?);
    let [quality, of_evidence] = [&proba, &means].map(|proba| ClassQuality::new(proba, &labels));
    let ece = Report::new(proba.view(), &labels, None)?.ece;
    Ok([100.0 * quality.accuracy, quality.log_loss, ece, of_evidence.log_loss])
}

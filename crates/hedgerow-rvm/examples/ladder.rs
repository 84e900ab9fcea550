//! Error, relevant rows and time over the number of rows: Sinc, or two classes in ten dimensions.
//!
//! `cargo run --release --example ladder -- sinc|classes SEEDS N,N,... [name=value ...]`
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{
    Budget, ClassId, Classifier as _, Dataset, Features, LabelTable, Par, Params as _, Regressor as _,
    Result, Schema, Silent, Training,
};
use hedgerow_rvm::{RvmClassifier, RvmParams, RvmRegressor};
use ndarray::Array2;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seeds: u64 = words[1].parse().unwrap();
    let sizes: Vec<usize> = words[2].split(',').map(|n| n.parse().unwrap()).collect();
    let settings: Vec<(&str, &str)> = words[3..].iter().filter_map(|word| word.split_once('=')).collect();
    let params = RvmParams::default().with_settings(settings)?;
    let mut logs = Vec::new();
    for n in sizes {
        let mut each = Vec::new();
        for seed in 0..seeds {
            let params = RvmParams { seed, ..params.clone() };
            each.push(if words[0] == "sinc" { sinc(n, seed, params)? } else { classes(n, seed, params)? });
        }
        let mean = |part: usize| each.iter().map(|e| e[part]).sum::<f64>() / each.len() as f64;
        println!("{n:7} error {:.5} relevant {:6.1} seconds {:.4}", mean(0), mean(1), mean(2));
        logs.push(((n as f64).ln(), mean(2).ln()));
    }
    if logs.len() > 1 {
        let n = logs.len() as f64;
        let [mx, my] = [logs.iter().map(|l| l.0).sum::<f64>() / n, logs.iter().map(|l| l.1).sum::<f64>() / n];
        let slope = logs.iter().map(|l| (l.0 - mx) * (l.1 - my)).sum::<f64>()
            / logs.iter().map(|l| (l.0 - mx).powi(2)).sum::<f64>();
        println!("time grows as N^{slope:.2}");
    }
    Ok(())
}

fn clean(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { x.sin() / x }
}

fn sinc(n: usize, seed: u64, params: RvmParams) -> Result<[f64; 3]> {
    let mut rng = Rng::new(seed, Purpose::Data, n as u64);
    let x = Array2::from_shape_fn((n, 1), |(i, _)| (20.0 * i as f64 / (n - 1) as f64 - 10.0) as f32);
    let targets: Vec<_> = x.iter().map(|v| clean(f64::from(*v)) + 0.1 * rng.normal()).collect();
    let data = Dataset::new(Schema::unnamed(1), Features::from_view(x.view()), targets, None)?;
    let (par, budget) = (Par::new(0)?, Budget::open());
    let start = Instant::now();
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let fitted = RvmRegressor::fit(&data, &params.check()?, &training)?;
    let seconds = start.elapsed().as_secs_f64();
    if seed == 0 {
        println!("  {:?} {:?} length {:?}", fitted.log.profile, fitted.log.notes, fitted.rvm.lengths());
        fitted.log.trace.iter().for_each(|p| println!("  {p:?}"));
    }
    let test = Array2::from_shape_fn((1000, 1), |(i, _)| (20.0 * i as f64 / 999.0 - 10.0) as f32);
    let predictions = fitted.rvm.predict_values(test.view(), &par)?;
    let squares: f64 =
        test.iter().zip(&predictions.mean).map(|(x, y)| (clean(f64::from(*x)) - y).powi(2)).sum();
    Ok([(squares / 1000.0).sqrt(), fitted.rvm.n_relevant() as f64, seconds])
}

/// Two classes parted by a bent surface in ten dimensions, a tenth of the labels drawn at random.
fn classes(n: usize, seed: u64, params: RvmParams) -> Result<[f64; 3]> {
    let mut rng = Rng::new(seed, Purpose::Data, n as u64);
    let mut draw = |n: usize| {
        let x = Array2::from_shape_fn((n, 10), |_| (3.5 * rng.unit() - 1.75) as f32);
        let labels = x
            .rows()
            .into_iter()
            .map(|row| {
                let value = row[0] * row[1] + row[2].sin() * 2.0 + row[3] - 0.5 * row[4] * row[4] + 0.5;
                let is_one = if rng.unit() < 0.1 { rng.unit() < 0.5 } else { value > 0.0 };
                ClassId(u32::from(is_one))
            })
            .collect::<Vec<_>>();
        (x, labels)
    };
    let ((x, labels), (test, truth)) = (draw(n), draw(5000));
    let schema =
        Schema { labels: LabelTable::from(vec!["0".to_string(), "1".into()]), ..Schema::unnamed(10) };
    let data = Dataset::new(schema, Features::from_view(x.view()), labels, None)?;
    let (par, budget) = (Par::new(0)?, Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let start = Instant::now();
    let fitted = RvmClassifier::fit(&data, &params.check()?, &training)?;
    let seconds = start.elapsed().as_secs_f64();
    if seed == 0 {
        println!("  {:?} {:?} length {:?}", fitted.log.profile, fitted.log.notes, fitted.rvm.lengths());
        fitted.log.trace.iter().for_each(|p| println!("  {p:?}"));
    }
    let predicted = fitted.rvm.predict(test.view(), &par)?;
    let wrong = predicted.iter().zip(&truth).filter(|(a, b)| a != b).count();
    Ok([wrong as f64 / 5000.0, fitted.rvm.n_relevant() as f64, seconds])
}

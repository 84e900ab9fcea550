//! Measures whether relative evidence tells noise from a lack of rows, on rows whose true probabilities and densities are known.
//!
//! ```text
//! cargo run --release --example evidence -- [KIND[,NAME=VALUE...] ...]
//! ```
//!
//! For each kind a line in JSON, with these means over redrawn training sets of 2,000 rows: the rank correlation of the epistemic part (entropy) with
//! the noise of labels where the density is the same everywhere (`noise_rings`, `noise_slope`: at most 0.2 either way), that with 1/density (`density_slope`,
//! `density_normal`: 0.8 at least), and the least variance of the probability 5 deviations away from the mean of all rows, in any of 16 directions
//! (`far`: that of the prior is 0.125).
//!
//! ```text
//! cargo run --release --example evidence -- --cost FOLDER THREADS KIND[,NAME=VALUE...]
//! ```
//!
//! For a folder with the files of MNIST, the seconds of a fit, of plain predictions, and of predictions with evidence.

use std::error::Error;
use std::f64::consts::PI;
use std::path::Path;
use std::time::Instant;

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::synth::{Generator, KnownParams, Problem};
use hedgerow::core::{
    Budget, ClassId, Dataset, Features, LabelTable, Par, Params as _, Schema, Silent, Training,
};
use hedgerow::io::{ReadOptions, read_dataset};
use hedgerow::{Kind, Model, ModelParams};
use ndarray::{Array2, ArrayView2, s};

const ROWS: usize = 2000;
const REDRAWS: u64 = 3;

/// Rows to predict, with what is true of each.
struct Asked {
    x: Array2<f32>,
    noise: Vec<f64>,
    density: Vec<f64>,
}

#[expect(clippy::print_stdout, reason = "this is a program")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut models: Vec<String> = std::env::args().skip(1).collect();
    if let [cost, folder, threads, model] = &models[..]
        && cost == "--cost"
    {
        return measure_cost(Path::new(folder), threads.parse()?, model);
    }
    if models.is_empty() {
        models = Kind::ALL.iter().map(|kind| kind.name().to_string()).collect();
        models.insert(1, "forest,confidence=true".into());
    }
    for model in models {
        let params = params(&model)?;
        let mut sums = [0.0; 5];
        for seed in 0..REDRAWS {
            let found = measure(&params, seed)?;
            sums.iter_mut().zip(found).for_each(|(sum, value)| *sum += value / REDRAWS as f64);
        }
        let names = ["noise_rings", "noise_slope", "density_slope", "density_normal", "far"];
        let values: Vec<String> = names.iter().zip(sums).map(|(n, v)| format!("\"{n}\": {v:.3}")).collect();
        println!("{{\"model\": \"{model}\", {}}}", values.join(", "));
    }
    Ok(())
}

fn params(model: &str) -> Result<ModelParams, Box<dyn Error>> {
    let mut parts = model.split(',');
    let kind: Kind = parts.next().unwrap_or_default().parse()?;
    let settings: Option<Vec<(&str, &str)>> = parts.map(|part| part.split_once('=')).collect();
    Ok(ModelParams::new(kind).with_settings(settings.ok_or("expected NAME=VALUE")?)?)
}

#[expect(clippy::print_stdout, reason = "this is a program")]
fn measure_cost(folder: &Path, threads: usize, model: &str) -> Result<(), Box<dyn Error>> {
    let read = |name: &str| {
        read_dataset(&folder.join(format!("{name}-images-idx3-ubyte.gz")), &ReadOptions::default(), None)
    };
    let (train, test) = (read("train")?, read("t10k")?);
    let (par, budget) = (Par::new(threads)?, Budget::open());
    let x = test.features.to_array(0..test.n_rows());
    let start = Instant::now();
    let model =
        Model::fit(&train, &params(model)?, &Training { par: &par, budget: &budget, observer: &Silent })?
            .model;
    let fit = start.elapsed().as_secs_f64();
    let start = Instant::now();
    model.predict_evidence_par(x.slice(s![..1, ..]), &par)?;
    let first = start.elapsed().as_secs_f64();
    let (mut plain, mut evidence) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..3 {
        let start = Instant::now();
        model.classifier()?.predict_proba(x.view(), &par)?;
        plain = plain.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        model.predict_evidence_par(x.view(), &par)?;
        evidence = evidence.min(start.elapsed().as_secs_f64());
    }
    let ratio = evidence / plain;
    println!(
        "{{\"fit\": {fit:.3}, \"predict\": {plain:.4}, \"first\": {first:.4}, \"evidence\": {evidence:.4}, \"ratio\": {ratio:.3}}}"
    );
    Ok(())
}

fn measure(params: &ModelParams, seed: u64) -> Result<[f64; 5], Box<dyn Error>> {
    let (rings, of_rings) = rings(seed)?;
    let (slope, of_slope) = slope(seed)?;
    let (normal, of_normal) = normal(seed)?;
    let noise_rings = spearman(&epistemic(&fit(&rings, params)?, of_rings.x.view())?, &of_rings.noise);
    let found = epistemic(&fit(&slope, params)?, of_slope.x.view())?;
    let model = fit(&normal, params)?;
    let of_density = |found: &[f64], asked: &Asked| {
        let inverse: Vec<f64> = asked.density.iter().map(|density| 1.0 / density).collect();
        spearman(found, &inverse)
    };
    let density_normal = of_density(&epistemic(&model, of_normal.x.view())?, &of_normal);
    Ok([
        noise_rings,
        at_fixed_density(&found, &of_slope),
        of_density(&found, &of_slope),
        density_normal,
        far(&model)?,
    ])
}

/// Even density, noise that goes up and down with the distance from the center. Rows near the border are not asked for.
fn rings(seed: u64) -> Result<(Dataset, Asked), Box<dyn Error>> {
    let (data, source) = known(Problem::Rings, seed)?;
    let mut rng = Rng::new(seed, Purpose::Data, 1);
    let x = Array2::from_shape_fn((1000, 2), |_| (-2.4 + 4.8 * rng.unit()) as f32);
    let noise = x.rows().into_iter().map(|row| {
        let p = source.probabilities(row.as_slice().unwrap_or_default()).unwrap_or_default();
        p.iter().copied().fold(1.0, f64::min)
    });
    let noise = noise.collect();
    Ok((data, Asked { x, noise, density: vec![1.0; 1000] }))
}

/// A density that falls along one column, noise that rises along the other.
fn slope(seed: u64) -> Result<(Dataset, Asked), Box<dyn Error>> {
    const SIDE: f64 = 4.0;
    let mut rng = Rng::new(seed, Purpose::Data, 2);
    let noise_at = |y: f64| 0.02 + 0.43 * y / SIDE;
    let mut x = Array2::zeros((ROWS, 2));
    let mut labels = Vec::with_capacity(ROWS);
    for mut row in x.rows_mut() {
        // By the inverse of the distribution function of exp(−a) between 0 and the side.
        let a = -(1.0 - rng.unit() * (1.0 - (-SIDE).exp())).ln();
        let b = SIDE * rng.unit();
        (row[0], row[1]) = (a as f32, b as f32);
        labels.push(ClassId(u32::from(rng.unit() < noise_at(b))));
    }
    let asked = Array2::from_shape_fn((1600, 2), |(i, c)| {
        let step = [i / 40, i % 40][c];
        (0.3 + (SIDE - 0.6) * step as f64 / 39.0) as f32
    });
    let noise = asked.column(1).iter().map(|b| noise_at(f64::from(*b))).collect();
    let density = asked.column(0).iter().map(|a| (-f64::from(*a)).exp()).collect();
    let names = LabelTable::from(vec!["a".to_string(), "b".to_string()]);
    let schema = Schema { labels: names, ..Schema::unnamed(2) };
    Ok((
        Dataset::new(schema, Features::from_view(x.view()), labels, None)?,
        Asked { x: asked, noise, density },
    ))
}

/// Two normal classes about (1, 1) and (−1, −1), asked for other rows of them.
fn normal(seed: u64) -> Result<(Dataset, Asked), Box<dyn Error>> {
    let (data, mut source) = known(Problem::Gaussians, seed)?;
    let mut x = Array2::zeros((1000, 2));
    let mut row = Vec::new();
    for mut to in x.rows_mut() {
        row.clear();
        source.next_into(&mut row);
        to.iter_mut().zip(&row).for_each(|(to, v)| *to = *v);
    }
    let about = |row: &[f32], center: f64| {
        let square: f64 = row.iter().map(|v| (f64::from(*v) - center).powi(2)).sum();
        (-0.5 * square).exp() / (2.0 * PI)
    };
    let density = x.rows().into_iter().map(|row| {
        let row = row.to_vec();
        0.5 * (about(&row, 1.0) + about(&row, -1.0))
    });
    let density = density.collect();
    Ok((data, Asked { x, noise: vec![0.0; 1000], density }))
}

fn known(problem: Problem, seed: u64) -> Result<(Dataset, Generator), Box<dyn Error>> {
    let params = KnownParams { n_features: 2, seed }.check()?;
    let mut source = Generator::known(problem, &params)?;
    let data = source.dataset(ROWS)?;
    Ok((data, source))
}

fn fit(data: &Dataset, params: &ModelParams) -> Result<Model, Box<dyn Error>> {
    let (par, budget) = (Par::shared(), Budget::open());
    Ok(Model::fit(data, params, &Training { par: &par, budget: &budget, observer: &Silent })?.model)
}

fn epistemic(model: &Model, x: ArrayView2<'_, f32>) -> Result<Vec<f64>, Box<dyn Error>> {
    Ok(model.predict_evidence(x)?.entropies().epistemic)
}

/// The least variance 5 deviations away from the mean, where the variance of a column is 2.
fn far(model: &Model) -> Result<f64, Box<dyn Error>> {
    let distance = 5.0 * 2f64.sqrt();
    let x = Array2::from_shape_fn((16, 2), |(i, c)| {
        let angle = 2.0 * PI * i as f64 / 16.0;
        (distance * [angle.cos(), angle.sin()][c]) as f32
    });
    Ok(model.predict_evidence(x.view())?.variance().iter().copied().fold(1.0, f64::min))
}

/// The mean rank correlation with noise, each over rows of one density.
fn at_fixed_density(found: &[f64], asked: &Asked) -> f64 {
    const TOGETHER: usize = 40;
    let of = |rows: usize| {
        let rows = rows * TOGETHER..(rows + 1) * TOGETHER;
        spearman(&found[rows.clone()], &asked.noise[rows])
    };
    let n = found.len() / TOGETHER;
    (0..n).map(of).sum::<f64>() / n as f64
}

fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 - 1.0) / 2.0;
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let scale = (sum(&a, &a) * sum(&b, &b)).sqrt();
    if scale > 0.0 { sum(&a, &b) / scale } else { 0.0 }
}

/// The place of each value among all; equal ones share the mean of their places.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let len = order[first..].iter().take_while(|&&at| values[at] == values[order[first]]).count();
        let mean = first as f64 + 0.5 * (len - 1) as f64;
        order[first..first + len].iter().for_each(|&at| ranks[at] = mean);
        first += len;
    }
    ranks
}

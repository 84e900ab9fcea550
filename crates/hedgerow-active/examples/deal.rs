//! DEAL against uncertainty sampling and random queries, as Röder (2013, Active learning: new approaches, and industrial applications, section 4.6) measured it:
//! `deal [--seeds N] [--queries N] xor TABLE:TARGET ...`.
//!
//! An empty start, one label a query, a kernel density classifier with one bandwidth for all. Tables: columns of unit variance, a column for each category,
//! classes merged into two of nearly equal size, principal components whose variance is above that of permuted columns, two at least. It prints mean accuracies over
//! the learning curve, ranks, and for xor how many runs have all four clusters among their first four labels.

use std::sync::Arc;

use hedgerow_active::simulation::{Contestant, Simulation, SimulationParams};
use hedgerow_active::statistics::RanksTable;
use hedgerow_active::strategy::Deal;
use hedgerow_active::{QueryModel, StrategyName, Trainer};
use hedgerow_core::prepare::Preparation;
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::synth::{Generator, KnownParams, Problem};
use hedgerow_core::{ClassId, Dataset, Error, Features, Par, Params as _, Result, Schema};
use hedgerow_io::{ColumnRef, ReadOptions, read_dataset};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

const XOR_ROWS: usize = 300;
const MOST_ROWS: usize = 5_000;
const PERMUTATIONS: u64 = 3;

/// A kernel density classifier with a bandwidth that labels do not change, and half a label of each class everywhere.
struct Kde {
    bandwidth: f64,
    dimensions: f64,
}

struct Fitted {
    rows: Array2<f32>,
    classes: Vec<usize>,
    factor: f64,
    weight: f64,
}

impl Trainer for Kde {
    fn train(&self, data: &Dataset, _seed: u64, _par: &Par) -> Result<Box<dyn QueryModel>> {
        let classes = data.labels().iter().map(|class| class.index()).collect();
        let factor = -0.5 / (self.bandwidth * self.bandwidth);
        let weight = (0.5 * self.dimensions * std::f64::consts::LN_2).exp();
        Ok(Box::new(Fitted { rows: data.features.to_array(0..data.n_rows()), classes, factor, weight }))
    }
}

impl QueryModel for Fitted {
    fn n_classes(&self) -> usize {
        2
    }

    fn predict_proba(&self, x: ArrayView2<'_, f32>, _par: &Par) -> Result<Array2<f64>> {
        let mut out = Array2::from_elem((x.nrows(), 2), 0.5);
        for (row, mut out) in x.rows().into_iter().zip(out.rows_mut()) {
            for (labelled, class) in self.rows.rows().into_iter().zip(&self.classes) {
                let square: f64 = row.iter().zip(labelled).map(|(a, b)| f64::from(a - b).powi(2)).sum();
                out[*class] += self.weight * (self.factor * square).exp();
            }
            let sum = out.sum();
            out.mapv_inplace(|v| v / sum);
        }
        Ok(out)
    }
}

#[allow(clippy::print_stdout, clippy::format_collect)]
fn main() -> Result<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let (mut seeds, mut queries) = (10, 50);
    while args.first().is_some_and(|arg| arg.starts_with("--")) {
        let (name, value) = (args.remove(0), args.remove(0));
        let number: usize = value.parse().map_err(|_| Error::param(&name, "a number", &value))?;
        match name.as_str() {
            "--seeds" => seeds = number,
            "--queries" => queries = number,
            _ => return Err(Error::param("option", "--seeds, --queries", &name)),
        }
    }
    let params = SimulationParams {
        labels: queries,
        seeds,
        test_share: 0.2,
        share_of_full: 0.0,
        ..SimulationParams::default()
    };
    let mut scores = Vec::new();
    println!("table             rows  components     deal   margin   random");
    for arg in &args {
        let data = if arg == "xor" { xor()? } else { components(&read(arg)?)? };
        let x = data.features.to_array(0..data.n_rows());
        let (n_pool, d) = (0.8 * x.nrows() as f64, x.ncols() as f64);
        let n_pool = n_pool.min(params.most_pool as f64);
        let variance = x.columns().into_iter().map(variance).sum::<f64>() / d;
        let bandwidth = variance.sqrt() * (4.0 / ((d + 2.0) * n_pool)).powf(1.0 / (d + 4.0));
        let simulation = Simulation::new(params.clone().check()?)
            .strategy(Contestant::new("deal", || Box::new(Deal::new(true))))
            .strategy(StrategyName::Margin)
            .strategy(StrategyName::Random)
            .model("kde", Arc::new(Kde { bandwidth, dimensions: d }));
        let result = simulation.run(&data, &Par::sequential())?;
        let means: Vec<f64> = result.outcomes.iter().map(|outcome| outcome.area.mean).collect();
        let name = arg.rsplit('/').next().unwrap_or(arg);
        let name = name.split(['.', ':']).next().unwrap_or(name);
        let shown: String = means.iter().map(|mean| format!("   {mean:.4}")).collect();
        println!("{name:15} {:6}  {d:10}{shown}", x.nrows());
        if arg == "xor" {
            for (strategy, place) in [("deal", 0), ("margin", 1), ("random", 2)] {
                let hits = (0..seeds).filter(|&seed| hits_all_clusters(&data, &params, seed as u64, place));
                println!(
                    "  {strategy}: all four clusters among the first four labels in {} of {seeds} runs",
                    hits.count()
                );
            }
        }
        scores.extend(means);
    }
    let table = Array2::from_shape_vec((args.len(), 3), scores)
        .map_err(|_| Error::param("tables", "one or more", args.len()))?;
    let names = ["deal", "margin", "random"].map(String::from).to_vec();
    let ranks = RanksTable::new(names, args, table.view(), 0.1)?;
    println!(
        "mean rank                        {}",
        ranks.mean_ranks.iter().map(|rank| format!("   {rank:.3} ")).collect::<String>()
    );
    println!(
        "deal better than margin on {} of {} tables; critical difference {:.3}; published mean ranks 1.281, 2.250, 2.469",
        ranks.pairs[0].sign.wins,
        ranks.data_sets.len(),
        ranks.critical_difference
    );
    Ok(())
}

/// Whether the first four labels of a run are of the four clusters.
fn hits_all_clusters(data: &Dataset, params: &SimulationParams, seed: u64, strategy: usize) -> bool {
    let d = data.schema.n_features() as f64;
    let one = SimulationParams { seeds: 1, labels: 4, seed, ..params.clone() };
    let n_pool = 0.8 * data.n_rows() as f64;
    let trainer =
        Arc::new(Kde { bandwidth: (4.0 / ((d + 2.0) * n_pool)).powf(1.0 / (d + 4.0)), dimensions: d });
    let contestant = match strategy {
        0 => Contestant::new("deal", || Box::new(Deal::new(true))),
        1 => StrategyName::Margin.into(),
        _ => StrategyName::Random.into(),
    };
    let Ok(checked) = one.check() else { return false };
    let result =
        Simulation::new(checked).strategy(contestant).model("kde", trainer).run(data, &Par::sequential());
    let Ok(result) = result else { return false };
    let mut met = [false; 4];
    for &row in &result.outcomes[0].order {
        let [x, y] = [0, 1].map(|column| usize::from(data.features.value(row, column) > 0.0));
        met[2 * x + y] = true;
    }
    met == [true; 4]
}

fn xor() -> Result<Dataset> {
    let data = Generator::known(Problem::Xor, &KnownParams { seed: 1, ..KnownParams::default() }.check()?)?
        .dataset(XOR_ROWS)?;
    let mut x = data.features.to_array(0..XOR_ROWS);
    for mut column in x.columns_mut() {
        let deviation = variance(column.view()).sqrt() as f32;
        column.mapv_inplace(|v| v / deviation);
    }
    Dataset::new(data.schema.clone(), Features::from_view(x.view()), data.labels().to_vec(), None)
}

fn read(arg: &str) -> Result<Dataset> {
    let (file, target) = arg.rsplit_once(':').ok_or_else(|| Error::param("table", "FILE:TARGET", arg))?;
    let options = ReadOptions { target: Some(ColumnRef::Name(target.to_owned())), ..ReadOptions::default() };
    let data = read_dataset(file.as_ref(), &options, None)?;
    let rows = Rng::new(0, Purpose::Sample, 0).sample(data.n_rows(), MOST_ROWS);
    Ok(rows.map_or(data.clone(), |rows| data.select(&rows)))
}

/// Principal components of prepared columns, and two classes.
fn components(data: &Dataset) -> Result<Dataset> {
    let mut x = Preparation::new(data).map_all(&data.features, &Par::sequential());
    let kept: Vec<usize> = (0..x.ncols()).filter(|&c| variance64(x.column(c)) > 1e-9).collect();
    x = x.select(Axis(1), &kept);
    for mut column in x.columns_mut() {
        let (mean, deviation) = (column.mean().unwrap_or(0.0), variance64(column.view()).sqrt());
        column.mapv_inplace(|v| (v - mean) / deviation);
    }
    let (values, vectors) = eigen(covariance(&x));
    let mut least = vec![0.0; values.len()];
    for permutation in 0..PERMUTATIONS {
        let mut permuted = x.clone();
        for (c, mut column) in permuted.columns_mut().into_iter().enumerate() {
            let mut own = column.to_vec();
            Rng::new(permutation, Purpose::Permutation, c as u64).shuffle(&mut own);
            column.assign(&ndarray::Array1::from(own));
        }
        for (least, value) in least.iter_mut().zip(eigen(covariance(&permuted)).0) {
            *least += value / PERMUTATIONS as f64;
        }
    }
    let n = values.iter().zip(&least).take_while(|(value, least)| value > least).count();
    let n = n.max(2.min(x.ncols()));
    let x = x.dot(&vectors.slice(ndarray::s![.., ..n])).mapv(|v| v as f32);
    let counts = data.class_counts();
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|class| std::cmp::Reverse(counts[*class]));
    let (mut sizes, mut merged) = ([0; 2], vec![0_u32; counts.len()]);
    for class in order {
        let to = usize::from(sizes[1] < sizes[0]);
        sizes[to] += counts[class];
        merged[class] = to as u32;
    }
    let labels: Vec<ClassId> = data.labels().iter().map(|class| ClassId(merged[class.index()])).collect();
    let mut schema = Schema::unnamed(n);
    schema.labels = vec!["one".to_string(), "other".to_string()].into();
    Dataset::new(schema, Features::from_view(x.view()), labels, None)
}

fn variance(column: ArrayView1<'_, f32>) -> f64 {
    variance64(column.mapv(f64::from).view())
}

fn variance64(column: ArrayView1<'_, f64>) -> f64 {
    let mean = column.mean().unwrap_or(0.0);
    column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / column.len().max(1) as f64
}

fn covariance(x: &Array2<f64>) -> Array2<f64> {
    x.t().dot(x) / x.nrows() as f64
}

/// Eigenvalues, the largest first, and eigenvectors as columns, by Jacobi's rotations.
fn eigen(mut a: Array2<f64>) -> (Vec<f64>, Array2<f64>) {
    let n = a.nrows();
    let mut vectors = Array2::<f64>::eye(n);
    for _ in 0..30 {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|at| a[at] * a[at]).sum();
        if off < 1e-18 * n as f64 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[(p, q)].abs() < 1e-300 {
                    continue;
                }
                let theta = (a[(q, q)] - a[(p, p)]) / (2.0 * a[(p, q)]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..n {
                    let (x, y) = (a[(k, p)], a[(k, q)]);
                    (a[(k, p)], a[(k, q)]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..n {
                    let (x, y) = (a[(p, k)], a[(q, k)]);
                    (a[(p, k)], a[(q, k)]) = (c * x - s * y, s * x + c * y);
                    let (x, y) = (vectors[(k, p)], vectors[(k, q)]);
                    (vectors[(k, p)], vectors[(k, q)]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[(j, j)].total_cmp(&a[(i, i)]));
    (order.iter().map(|&i| a[(i, i)]).collect(), vectors.select(Axis(1), &order))
}

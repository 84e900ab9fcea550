//! How often intervals hold the true class probability, on generators where it is known.
//!
//! ```text
//! cargo run --release --example interval_coverage -- KIND[,NAME=VALUE...] REDRAWS ROWS [PROBLEMS] [--shrink N] [--plain] [--json]
//! ```
//!
//! A model is fitted to each of so many training sets of so many rows, and asked for intervals at 200 points that stay the same. `PROBLEMS` are names such as
//! `gaussians,twonorm:5` with columns after the colon; without them a list of eighteen. A line is printed for each: the coverage at nominal
//! 90 %, that where the true probability lies between 0.1 and 0.9, the mean and the median width, the root mean squared error of the interval's mean
//! and of the predicted probability, the share of predicted probabilities inside the interval, and seconds for the fit, the making of
//! intervals and the prediction of 200 rows. `--shrink N` fits as many models to four times the rows, for N of the training sets, and prints by what the median width shrinks. `--plain` puts
//! other intervals beside: quantiles of the members of a committee (the trees of a forest), and those of relative evidence, which claim no coverage.

use std::error::Error;
use std::time::Instant;

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::synth::{Generator, KnownParams, Problem};
use hedgerow::core::{Budget, Dataset, Par, Params as _, Silent, Training};
use hedgerow::{Kind, Model, ModelParams};
use ndarray::{Array2, Axis};
use serde_json::json;

const LEVEL: f64 = 0.9;
const POINTS: usize = 200;
/// The six basic generators first.
const PROBLEMS: &str = "gaussians,twonorm:5,twonorm,ringnorm:5,logistic,wave,bumps,rare-gaussians,triangle,xor,threenorm,ringnorm,waveform,additive,friedman,rings,stairs,unrelated";

/// What was found, summed over redraws or averaged.
#[derive(Clone, Default)]
struct Found {
    coverage: f64,
    /// The same where the true probability lies between 0.1 and 0.9, and how many such points there are.
    between: f64,
    n_between: f64,
    width: f64,
    median: f64,
    squared: f64,
    squared_plain: f64,
    inside: f64,
    seconds: [f64; 3],
    n: f64,
}

#[expect(clippy::print_stdout, reason = "this is a program")]
fn main() -> Result<(), Box<dyn Error>> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let (flags, args): (Vec<&String>, Vec<&String>) = {
        let mut flags = Vec::new();
        let mut rest = Vec::new();
        let mut each = all.iter();
        while let Some(arg) = each.next() {
            match arg.as_str() {
                "--shrink" => flags.extend(each.next()),
                "--plain" | "--json" => flags.push(arg),
                _ => rest.push(arg),
            }
        }
        (flags, rest)
    };
    let [model, redraws, rows, rest @ ..] = &args[..] else {
        return Err(
            "expected KIND[,NAME=VALUE...] REDRAWS ROWS [PROBLEMS] [--shrink N] [--plain] [--json]".into()
        );
    };
    let (params, redraws, rows): (_, u64, usize) = (params(model)?, redraws.parse()?, rows.parse()?);
    let n_shrunk = flags.iter().find_map(|flag| flag.parse::<u64>().ok()).unwrap_or(0);
    let has = |name: &str| flags.iter().any(|flag| *flag == name);
    let problems = rest.first().map_or(PROBLEMS, |problems| problems.as_str());
    println!(
        "{:18} {:>6} {:>8} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}",
        "problem", "cover", "between", "width", "median", "rmse", "plain", "inside", "shrink"
    );
    let mut lines = Vec::new();
    for name in problems.split(',') {
        let (problem, width) = find(name)?;
        let [found, plain] = redraw(problem, width, &params, redraws, rows, has("--plain"))?;
        let shrink = match n_shrunk {
            0 => f64::NAN,
            n => {
                let wide = redraw(problem, width, &params, n, rows, false)?[0].clone();
                redraw(problem, width, &params, n, 4 * rows, false)?[0].median / wide.median
            }
        };
        println!("{}", line(name, &found, shrink));
        if has("--plain") {
            println!("{}", line("  beside it", &plain, f64::NAN));
        }
        lines.push((name.to_string(), found, shrink));
    }
    let mean =
        |of: &dyn Fn(&(String, Found, f64)) -> f64| lines.iter().map(of).sum::<f64>() / lines.len() as f64;
    let least =
        |of: &dyn Fn(&(String, Found, f64)) -> f64| lines.iter().map(of).fold(f64::INFINITY, f64::min);
    let (coverage, between) =
        (|l: &(String, Found, f64)| l.1.coverage, |l: &(String, Found, f64)| l.1.between);
    println!(
        "mean: coverage {:.1} % (lowest {:.1}), between 0.1 and 0.9 {:.1} % (lowest {:.1}), width {:.3}, of the first six {:.3}, rmse {:.4}, shrink {:.3}",
        100.0 * mean(&coverage),
        100.0 * least(&coverage),
        100.0 * mean(&between),
        100.0 * least(&between),
        mean(&|l| l.1.width),
        lines.iter().take(6).map(|l| l.1.width).sum::<f64>() / lines.len().min(6) as f64,
        mean(&|l| l.1.squared),
        mean(&|l| l.2),
    );
    if has("--json") {
        let of = |(name, found, shrink): &(String, Found, f64)| {
            json!({"problem": name, "coverage": found.coverage, "coverage_between": found.between, "width": found.width,
                "median_width": found.median, "rmse": found.squared, "rmse_predicted": found.squared_plain,
                "predicted_inside": found.inside, "shrink": shrink, "seconds": found.seconds})
        };
        println!(
            "{}",
            json!({"model": model, "redraws": redraws, "rows": rows, "level": LEVEL, "problems": lines.iter().map(of).collect::<Vec<_>>()})
        );
    }
    Ok(())
}

fn line(name: &str, found: &Found, shrink: f64) -> String {
    format!(
        "{name:18} {:6.1} {:8.1} {:6.3} {:6.3} {:6.3} {:6.3} {:6.1} {shrink:6.2}   {:.2} s {:.2} s {:.3} s",
        100.0 * found.coverage,
        100.0 * found.between,
        found.width,
        found.median,
        found.squared,
        found.squared_plain,
        100.0 * found.inside,
        found.seconds[0],
        found.seconds[1],
        found.seconds[2],
    )
}

fn params(model: &str) -> Result<ModelParams, Box<dyn Error>> {
    let mut parts = model.split(',');
    let kind: Kind = parts.next().unwrap_or_default().parse()?;
    let settings: Option<Vec<(&str, &str)>> = parts.map(|part| part.split_once('=')).collect();
    Ok(ModelParams::new(kind).with_settings(settings.ok_or("expected NAME=VALUE")?)?)
}

fn find(name: &str) -> Result<(Problem, usize), Box<dyn Error>> {
    let (name, width) = name.split_once(':').unwrap_or((name, "0"));
    let problem = Problem::ALL.iter().find(|problem| problem.name() == name);
    Ok((*problem.ok_or_else(|| format!("no problem is called {name}"))?, width.parse()?))
}

fn rows_of(
    problem: Problem,
    width: usize,
    seed: u64,
    n: usize,
) -> Result<(Dataset, Array2<f64>), hedgerow::core::Error> {
    let mut generator = Generator::known(problem, &KnownParams { n_features: width, seed }.check()?)?;
    let data = generator.dataset(n)?;
    let x = data.features.to_array(0..n);
    let truth: Vec<Vec<f64>> =
        x.rows().into_iter().map(|row| generator.probabilities(&row.to_vec()).unwrap_or_default()).collect();
    Ok((
        data,
        Array2::from_shape_fn((n, truth.first().map_or(0, Vec::len)), |(row, class)| truth[row][class]),
    ))
}

/// Fits models to training sets and compares their intervals, and plain ones beside them, with the truth.
fn redraw(
    problem: Problem,
    width: usize,
    params: &ModelParams,
    redraws: u64,
    rows: usize,
    is_plain: bool,
) -> Result<[Found; 2], Box<dyn Error>> {
    let (points, truth) = rows_of(problem, width, 1_000_003, POINTS)?;
    let x = points.features.to_array(0..POINTS);
    let one = |seed: usize| -> Result<[Found; 2], hedgerow::core::Error> {
        let par = Par::sequential();
        let (data, _) = rows_of(problem, width, 1 + seed as u64, rows)?;
        let seed = Rng::new(seed as u64, Purpose::Data, 7).next_u64() >> 12;
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let start = Instant::now();
        let model = Model::fit(&data, &params.clone().with_seed(seed), &training)?.model;
        let fitted = start.elapsed().as_secs_f64();
        model.true_probability(&par)?;
        let made = start.elapsed().as_secs_f64();
        let found = model.predict_true_probability_par(x.view(), &par)?;
        let [low, high] = found.interval(LEVEL)?;
        let predicted = start.elapsed().as_secs_f64();
        let proba = model.predict_proba_par(x.view(), &par)?;
        let mut all = compare(&truth, [&low, &high], &found.mean(), &proba);
        all.seconds = [fitted, made - fitted, predicted - made];
        let mut beside = Found::default();
        if is_plain && let Some([low, high]) = plain(&model, &x, &par)? {
            beside = compare(&truth, [&low, &high], &proba, &proba);
        }
        Ok([all, beside])
    };
    let par = Par::shared();
    let all = par.map(redraws as usize, one).into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok([0, 1].map(|which| average(all.iter().map(|found| &found[which]))))
}

/// Quantiles of the members of a committee, or of relative evidence.
fn plain(
    model: &Model,
    x: &Array2<f32>,
    par: &Par,
) -> Result<Option<[Array2<f64>; 2]>, hedgerow::core::Error> {
    if let Ok(evidence) = model.predict_evidence_par(x.view(), par) {
        return evidence.interval(LEVEL).map(Some);
    }
    #[cfg(feature = "forest")]
    if let Some(forest) = model.as_forest() {
        use hedgerow::core::Committee as _;

        let members = forest.predict_members(x.view(), par)?;
        let quantile = |level: f64| {
            members.map_axis(Axis(0), |lane| {
                let mut shares = lane.to_vec();
                shares.sort_by(f64::total_cmp);
                shares[(level * (shares.len() - 1) as f64).round() as usize]
            })
        };
        return Ok(Some([0.05, 0.95].map(quantile)));
    }
    let _ = Axis(0);
    Ok(None)
}

/// Of two classes, the second alone.
fn compare(
    truth: &Array2<f64>,
    [low, high]: [&Array2<f64>; 2],
    mean: &Array2<f64>,
    plain: &Array2<f64>,
) -> Found {
    let first = usize::from(truth.ncols() == 2);
    let mut found = Found::default();
    let mut widths = Vec::new();
    for row in 0..truth.nrows() {
        for class in first..truth.ncols() {
            let (pi, at) = (truth[(row, class)], (row, class));
            let [Some(low), Some(high), Some(mean), Some(plain)] =
                [low, high, mean, plain].map(|table| table.get(at))
            else {
                continue;
            };
            let is_inside = |p: f64| f64::from(u8::from((*low..=*high).contains(&p)));
            found.coverage += is_inside(pi);
            if pi > 0.1 && pi < 0.9 {
                found.between += is_inside(pi);
                found.n_between += 1.0;
            }
            found.inside += is_inside(*plain);
            found.squared += (mean - pi) * (mean - pi);
            found.squared_plain += (plain - pi) * (plain - pi);
            widths.push(high - low);
        }
    }
    let n = widths.len() as f64;
    widths.sort_by(f64::total_cmp);
    found.median = widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN);
    found.width = widths.iter().sum();
    found.n = n;
    found
}

fn average<'a>(all: impl Iterator<Item = &'a Found>) -> Found {
    let (mut sum, mut n_sets) = (Found::default(), 0.0);
    for found in all {
        n_sets += 1.0;
        sum.coverage += found.coverage;
        sum.between += found.between;
        sum.n_between += found.n_between;
        sum.width += found.width;
        sum.median += found.median;
        sum.squared += found.squared;
        sum.squared_plain += found.squared_plain;
        sum.inside += found.inside;
        sum.n += found.n;
        sum.seconds.iter_mut().zip(found.seconds).for_each(|(sum, seconds)| *sum += seconds);
    }
    Found {
        coverage: sum.coverage / sum.n,
        between: sum.between / sum.n_between,
        width: sum.width / sum.n,
        median: sum.median / n_sets,
        squared: (sum.squared / sum.n).sqrt(),
        squared_plain: (sum.squared_plain / sum.n).sqrt(),
        inside: sum.inside / sum.n,
        seconds: sum.seconds.map(|seconds| seconds / n_sets),
        ..sum
    }
}

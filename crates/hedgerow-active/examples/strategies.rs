//! Compares query strategies over tables and generators:
//! `strategies [--labels N] [--start N] [--seeds N] [--trees N] [--pool N] [--threads N] STRATEGY,STRATEGY,... TABLE:TARGET ... synth:PROBLEM[/COLUMNS] ...`.
//!
//! A strategy is one of `hedgerow query`, or `coverage=LEARN/FADE/NOVELTY[/CONTRAST[/COMPARED]]`. The model is a forest. It prints areas under learning
//! curves in percent with the standard error of differences to the first strategy, then ranks and tests over all tables.

use std::sync::Arc;

use hedgerow_active::simulation::{Contestant, Simulation, SimulationParams};
use hedgerow_active::statistics::RanksTable;
use hedgerow_active::strategy::Coverage;
use hedgerow_active::{KindTrainer, StrategyName};
use hedgerow_core::synth::{Generator, KnownParams, Problem};
use hedgerow_core::{Dataset, Error, Par, Params as _, Result};
use hedgerow_forest::ForestParams;
use hedgerow_io::{ColumnRef, ReadOptions, read_dataset};
use ndarray::Array2;

const ROWS_MADE: usize = 3_000;

#[allow(clippy::print_stdout, clippy::format_collect)]
fn main() -> Result<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut params = SimulationParams { share_of_full: 0.0, test_share: 0.5, ..SimulationParams::default() };
    let (mut n_trees, mut threads) = (50, 1);
    while args.first().is_some_and(|arg| arg.starts_with("--")) {
        let (name, value) = (args.remove(0), args.remove(0));
        let number: usize = value.parse().map_err(|_| Error::param(&name, "a number", &value))?;
        match name.as_str() {
            "--labels" => params.labels = number,
            "--start" => params.start = number,
            "--seeds" => params.seeds = number,
            "--seed" => params.seed = number as u64,
            "--trees" => n_trees = number,
            "--pool" => params.most_pool = number,
            "--threads" => threads = number,
            _ => return Err(Error::param("option", "--labels, --start, --seeds, --trees, --pool", &name)),
        }
    }
    let names: Vec<String> = args.remove(0).split(',').map(String::from).collect();
    let forest = Arc::new(KindTrainer(ForestParams { n_trees, ..ForestParams::default() }));
    let par = Par::new(threads)?;
    let mut scores = Vec::new();
    println!("{:16} {}", "table", names.iter().map(|name| format!("{name:>18}")).collect::<String>());
    for arg in &args {
        let data = read(arg)?;
        let mut simulation = Simulation::new(params.clone().check()?).model("forest", forest.clone());
        for name in &names {
            simulation = simulation.strategy(contestant(name)?);
        }
        let result = simulation.run(&data, &par)?;
        let areas: Vec<&[f64]> = result.outcomes.iter().map(|outcome| &outcome.area.runs[..]).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let cell = |own: &&[f64]| {
            let differences: Vec<f64> = own.iter().zip(areas[0]).map(|(a, b)| a - b).collect();
            let average = mean(&differences);
            let spread = differences.iter().map(|d| (d - average).powi(2)).sum::<f64>();
            let n = differences.len() as f64;
            let error = (spread / (n - 1.0).max(1.0) / n).sqrt();
            format!("{:9.2} {:+5.2}±{:.1}", 100.0 * mean(own), 100.0 * average, 100.0 * error)
        };
        println!(
            "{:16} {}",
            short(arg),
            areas.iter().map(|own| format!("{:>18}", cell(own))).collect::<String>()
        );
        scores.extend(areas.iter().map(|own| mean(own)));
    }
    let table = Array2::from_shape_vec((args.len(), names.len()), scores)
        .map_err(|_| Error::param("tables", "one or more", args.len()))?;
    println!(
        "{:16} {}",
        "mean",
        table
            .columns()
            .into_iter()
            .map(|c| {
                let first = table.column(0).sum() / args.len() as f64;
                let own = c.sum() / args.len() as f64;
                format!("{:>18}", format!("{:9.2} {:+5.2}", 100.0 * own, 100.0 * (own - first)))
            })
            .collect::<String>()
    );
    if names.len() > 1 && args.len() > 1 {
        let data_sets = args.iter().map(|arg| short(arg)).collect();
        let ranks = RanksTable::new(names.clone(), data_sets, table.view(), 0.05)?;
        println!(
            "{:16} {}",
            "mean rank",
            ranks.mean_ranks.iter().map(|rank| format!("{rank:>18.2}")).collect::<String>()
        );
        println!("critical difference {:.2}", ranks.critical_difference);
        for pair in ranks.pairs.iter().filter(|pair| pair.first == 0) {
            println!(
                "{} against {}: better on {}, worse on {}, Wilcoxon p {:.4}",
                names[pair.second], names[0], pair.sign.losses, pair.sign.wins, pair.wilcoxon.p_value
            );
        }
    }
    Ok(())
}

fn contestant(name: &str) -> Result<Contestant> {
    let Some(numbers) = name.strip_prefix("coverage=") else {
        return Ok(name.parse::<StrategyName>()?.into());
    };
    let numbers: Vec<f64> = numbers.split('/').filter_map(|text| text.parse().ok()).collect();
    let [learn_after, fade_after, novelty, ref rest @ ..] = numbers[..] else {
        return Err(Error::param("strategy", "coverage=LEARN/FADE/NOVELTY", name));
    };
    let mut coverage = Coverage::new(learn_after, fade_after, novelty);
    coverage.contrast = rest.first().copied().unwrap_or(0.0);
    coverage.n_compared = rest.get(1).map_or(200, |n| *n as usize);
    Ok(Contestant::new(name, move || Box::new(coverage.clone())))
}

fn read(arg: &str) -> Result<Dataset> {
    let (file, target) = arg.rsplit_once(':').ok_or_else(|| Error::param("table", "FILE:TARGET", arg))?;
    if file == "synth" {
        let (name, n_features) = target.split_once('/').unwrap_or((target, "0"));
        let problem = Problem::ALL.iter().find(|problem| problem.name() == name);
        let problem = *problem.ok_or_else(|| Error::param("problem", "a generator's name", target))?;
        let n_features = n_features.parse().map_err(|_| Error::param("columns", "a number", n_features))?;
        let params = KnownParams { n_features, seed: 1 }.check()?;
        return Generator::known(problem, &params)?.dataset(ROWS_MADE);
    }
    let options = ReadOptions { target: Some(ColumnRef::Name(target.to_owned())), ..ReadOptions::default() };
    read_dataset(file.as_ref(), &options, None)
}

/// The name of a table without folders and endings.
fn short(arg: &str) -> String {
    let (file, target) = arg.rsplit_once(':').unwrap_or((arg, ""));
    if file == "synth" {
        target.into()
    } else {
        file.rsplit('/').next().unwrap_or(file).split('.').next().unwrap_or(file).into()
    }
}

//! Measures streams of which only some labels are learnt: `stream_queries [--seeds N] [--rate R] [--model KIND] [--try NAME=VALUE,...]... TABLE:TARGET ...`.
//!
//! For each table it prints the accuracy over all rows, each predicted before its label might be learnt, as means over seeds: with all labels, with random
//! labels, and with those asked for by the defaults; then with each set of parameters to try.

use hedgerow::active::stream::StreamQueryParams;
use hedgerow::core::traits::most_probable;
use hedgerow::core::{Budget, Dataset, Error, Par, Params as _, Result, Rows, Silent, Training};
use hedgerow::io::{ColumnRef, ReadOptions, read_dataset};
use hedgerow::{Kind, Model, ModelParams, Selective};

/// Rows of a call.
const AT_ONCE: usize = 4_096;

#[allow(clippy::print_stdout)]
fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (mut n_seeds, mut kind, mut tables) = (5, Kind::default(), Vec::new());
    let mut tried: Vec<(String, StreamQueryParams)> = Vec::new();
    let mut usual = StreamQueryParams::default();
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_default();
        match arg.as_str() {
            "--seeds" => n_seeds = value().parse().map_err(|_| Error::param("--seeds", "a number", ""))?,
            "--rate" => usual = usual.with_settings([("rate", value().as_str())])?,
            "--model" => kind = value().parse()?,
            "--try" => {
                let text = value();
                let settings = text.split(',').filter_map(|pair| pair.split_once('='));
                tried.push((text.clone(), usual.clone().with_settings(settings)?));
            }
            _ => tables.push(arg),
        }
    }
    let random = StreamQueryParams { random_share: 1.0, ..usual.clone() };
    let mut all = vec![("random".to_owned(), random), ("default".to_owned(), usual)];
    all.extend(tried);
    let mut sums = vec![0.0; all.len()];
    for table in &tables {
        let (file, target) =
            table.rsplit_once(':').ok_or_else(|| Error::param("table", "FILE:TARGET", table))?;
        let options =
            ReadOptions { target: Some(ColumnRef::Name(target.to_owned())), ..ReadOptions::default() };
        let data = read_dataset(file.as_ref(), &options, None)?;
        println!("{file}: {} rows, all labels {:.2} %", data.n_rows(), 100.0 * run(&data, kind, None, 0)?.0);
        for (place, (name, params)) in all.iter().enumerate() {
            let of_seed = |seed: u64| {
                let params = StreamQueryParams { seed, ..params.clone() };
                run(&data, kind, Some(params), seed)
            };
            let runs = (0..n_seeds).map(of_seed).collect::<Result<Vec<_>>>()?;
            let mean = runs.iter().map(|run| run.0).sum::<f64>() / runs.len() as f64;
            let spread = runs.iter().map(|run| (run.0 - mean).powi(2)).sum::<f64>() / runs.len() as f64;
            let labels = runs.iter().map(|run| run.1).sum::<u64>() / runs.len() as u64;
            sums[place] += mean / tables.len() as f64;
            println!("  {:6.2} % (± {:.2}), {labels:6} labels  {name}", 100.0 * mean, 100.0 * spread.sqrt());
        }
    }
    for ((name, _), sum) in all.iter().zip(sums) {
        println!("mean {:6.2} %  {name}", 100.0 * sum);
    }
    Ok(())
}

/// The accuracy over all rows, and how many labels were learnt.
fn run(data: &Dataset, kind: Kind, params: Option<StreamQueryParams>, seed: u64) -> Result<(f64, u64)> {
    let mut model = Model::new(data.schema.clone(), &ModelParams::new(kind).with_seed(seed))?;
    let mut stream = params.map(|params| params.check().map(Selective::new)).transpose()?;
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let mut n_right = 0;
    for first in (0..data.n_rows()).step_by(AT_ONCE) {
        let end = (first + AT_ONCE).min(data.n_rows());
        let (x, labels) = (data.features.to_array(first..end), &data.labels()[first..end]);
        let rows = Rows::new(x.view(), labels, None);
        let update = match &mut stream {
            Some(stream) => stream.learn(&mut model, &data.schema, rows, &training)?.0,
            None => model.learn_rows(&data.schema, rows, &training)?,
        };
        let predicted = most_probable(update.predictions.view());
        n_right += predicted.iter().zip(labels).filter(|(a, b)| a == b).count();
    }
    Ok((n_right as f64 / data.n_rows() as f64, model.n_seen().unwrap_or(0)))
}

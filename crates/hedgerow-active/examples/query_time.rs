//! How long a query takes, from a label to the next row: `query_time [STRATEGY [ROWS [COLUMNS [LABELS]]]]`, one thread, with a forest of 50 trees trained anew on
//! every label. It prints the median and the 95th percentile over 100 labels, with and without training.

use std::time::Instant;

use hedgerow_active::{KindTrainer, Pool, Querier, QueryParams, StrategyName, Trainer as _};
use hedgerow_core::synth::{Generator, KnownParams, Problem};
use hedgerow_core::{Error, Par, Params as _, Result};
use hedgerow_forest::ForestParams;

const QUERIES: usize = 100;

#[allow(clippy::print_stdout)]
fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, usual: usize| match args.get(place) {
        Some(text) => text.parse().map_err(|_| Error::param("argument", "a number", text)),
        None => Ok(usual),
    };
    let strategy: StrategyName = args.first().map_or("auto", String::as_str).parse()?;
    let (n_rows, n_features, n_labels) = (number(1, 1_000_000)?, number(2, 20)?, number(3, 100)?);
    let params = KnownParams { n_features, seed: 1 }.check()?;
    let data = Generator::known(Problem::Friedman, &params)?.dataset(n_rows)?;
    let start = Instant::now();
    let mut pool = Pool::new(data.schema.clone(), data.features.clone(), vec![None; n_rows])?;
    let made = start.elapsed().as_secs_f64();
    for row in 0..n_labels {
        pool.set_label(row, data.labels()[row])?;
    }
    let trainer = KindTrainer(ForestParams { n_trees: 50, ..ForestParams::default() });
    let par = Par::sequential();
    let mut querier = Querier::new(QueryParams { strategy, ..QueryParams::default() }.check()?);
    let (mut whole, mut queries) = (Vec::new(), Vec::new());
    for i in 0..=QUERIES {
        let start = Instant::now();
        let model = trainer.train(&pool.training_rows()?, i as u64, &par)?;
        let trained = start.elapsed().as_secs_f64();
        let queried = querier.query(&pool, Some(&*model), 1, &par)?;
        let all = start.elapsed().as_secs_f64();
        // The first query places the targets.
        if i > 0 {
            whole.push(all);
            queries.push(all - trained);
        } else {
            println!("pool made in {:.0} ms, first query {:.1} ms", 1e3 * made, 1e3 * all);
        }
        for row in queried {
            pool.set_label(row.row, data.labels()[row.row])?;
        }
    }
    for (what, mut times) in [("label to next query", whole), ("the query alone", queries)] {
        times.sort_by(f64::total_cmp);
        println!(
            "{what}: median {:.1} ms, p95 {:.1} ms",
            1e3 * times[QUERIES / 2],
            1e3 * times[QUERIES * 95 / 100]
        );
    }
    Ok(())
}

//! `simulate`: query strategies compared on a table whose labels are known.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::bail;
use hedgerow::active::QueryParams;
use hedgerow::active::simulation::{Simulation, SimulationParams, SimulationResult};
use hedgerow::core::{Budget, Dataset, Observer as _, Params as _, Progress, Task};
use hedgerow::io::read_dataset;
use hedgerow::report::{Page, QueryMap, RankDiagram, StrategyCurves, StrategyPoint};
use serde::Serialize;

use super::interrupt::listen;
use super::{Outcome, check_apart, check_writable, note_dates, page, params};
use crate::args::SimulateArgs;
use crate::output;
use crate::output::count;
use crate::output::progress::Bar;

/// Strategies whose order of queries a report shows.
const MOST_MAPS: usize = 6;

/// What `simulate` tells.
#[derive(Debug, Serialize)]
pub(crate) struct SimulateResult {
    pub(crate) rows: usize,
    pub(crate) features: usize,
    pub(crate) classes: Vec<String>,
    #[serde(flatten)]
    pub(crate) result: SimulationResult,
    pub(crate) seconds: f64,
    pub(crate) report: Option<PathBuf>,
}

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<Outcome> {
    check_writable(&args.report)?;
    if let Some(report) = &args.report {
        check_apart("report", report, &args.data)?;
    }
    if args.models.len() > 1 && !args.settings.is_empty() {
        bail!("--set: parameters can be set where there is one kind of model, got {}", args.models.len());
    }
    let simulation = simulation(args)?;
    let (par, budget) = (args.run.par()?, listen(Budget::open())?);
    let options = args.data_args.0.options();
    let data = read_dataset(&args.data, &options, None)?;
    note_dates(&data.schema, &options);
    let start = Instant::now();
    let bar = Bar::new("simulating");
    let (done, total) = (AtomicUsize::new(0), Some(simulation.n_runs()));
    let ended = || {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        bar.progress(Progress { done, total, accuracy: None });
    };
    let found = simulation.run_watched(&data, &par.until(&budget.stop), &ended);
    bar.finish();
    let result = found.map_err(|error| error.in_file(&args.data))?;
    let result = SimulateResult {
        rows: data.n_rows(),
        features: data.schema.n_features(),
        classes: data.schema.labels.names().to_vec(),
        result,
        seconds: start.elapsed().as_secs_f64(),
        report: args.report.clone(),
    };
    if let Some(path) = &args.report {
        page::write(&report(args, &data, &result), path)?;
    }
    output::show(&result, args.run.json)
}

/// What is to be simulated.
fn simulation(args: &SimulateArgs) -> anyhow::Result<Simulation> {
    let simulated = SimulationParams {
        labels: args.labels,
        start: args.start,
        batch: args.batch,
        seeds: args.seeds,
        test_share: args.test_share,
        most_pool: args.pool,
        seed: args.seed,
        ..SimulationParams::default()
    };
    let query = QueryParams { losses: args.losses.clone(), ..QueryParams::default() };
    let mut simulation = Simulation::new(simulated.check()?).query(query.check()?);
    for &strategy in &args.strategies {
        simulation = simulation.strategy(strategy);
    }
    for &kind in &args.models {
        kind.check_task(Task::Classification)?;
        simulation = simulation.model(kind.name(), Arc::new(params(kind, &args.settings, None)?));
    }
    Ok(simulation)
}

/// The report page.
fn report(args: &SimulateArgs, data: &Dataset, found: &SimulateResult) -> Page {
    let mut page = Page { title: "Query strategies compared".into(), ..Page::default() };
    page.subtitle = match args.data.file_name() {
        Some(name) if args.data.as_os_str() != "-" => name.to_string_lossy().into_owned(),
        _ => "Standard input".into(),
    };
    let params = &found.result.params;
    let facts = [
        ("Rows", count(found.rows as u64)),
        ("Features", count(found.features as u64)),
        ("Classes", count(found.classes.len() as u64)),
        ("Runs", count(params.seeds as u64)),
        ("Labels", format!("{} to {}", params.start.max(1), params.labels)),
        ("First seed", params.seed.to_string()),
    ];
    facts.into_iter().for_each(|(name, value)| page.facts.push((name.into(), value)));
    let outcomes = &found.result.outcomes;
    for own in outcomes.chunk_by(|a, b| a.model == b.model) {
        let curve = |outcome: &hedgerow::active::simulation::Outcome| {
            let point = |point: &hedgerow::active::simulation::CurvePoint| StrategyPoint {
                labels: point.labels as u64,
                accuracy: point.accuracy,
                standard_error: point.standard_error,
            };
            (outcome.strategy.clone(), outcome.curve.iter().map(point).collect())
        };
        let strategies = own.iter().map(curve).collect();
        page.strategies.push(StrategyCurves { model: own[0].model.clone(), strategies });
    }
    page.ranks = found.result.ranks.as_ref().map(|ranks| RankDiagram {
        text: format!("Areas under the learning curves of {} runs on this table.", ranks.scores.len()),
        strategies: ranks.strategies.iter().cloned().zip(ranks.mean_ranks.iter().copied()).collect(),
        critical_difference: ranks.critical_difference,
        groups: ranks.groups(),
    });
    if data.schema.n_features() == 2 && data.schema.columns.iter().all(|c| c.kind.n_categories() == 0) {
        let first = outcomes.iter().take_while(|outcome| outcome.model == outcomes[0].model);
        page.queries = first.take(MOST_MAPS).map(|outcome| map(data, outcome)).collect();
    }
    page
}

/// Where labels were asked for in the first run.
fn map(data: &Dataset, outcome: &hedgerow::active::simulation::Outcome) -> QueryMap {
    let value = |row: usize, column: usize| f64::from(data.features.value(row, column));
    let is_known = |row: &usize| (0..2).all(|column| value(*row, column).is_finite());
    let kept: Vec<usize> = (0..data.n_rows()).filter(is_known).collect();
    QueryMap {
        strategy: outcome.strategy.clone(),
        columns: [0, 1].map(|column: usize| data.schema.columns[column].name.clone()),
        rows: kept.iter().map(|&row| ([value(row, 0), value(row, 1)], data.labels()[row].index())).collect(),
        order: outcome.order.iter().filter_map(|row| kept.binary_search(row).ok()).collect(),
        classes: data.schema.labels.names().to_vec(),
    }
}

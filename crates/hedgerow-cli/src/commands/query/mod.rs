//! `query`: rows without labels in, the ones that should be labelled next out.

mod pool;
mod settings;
mod write;

use std::path::PathBuf;
use std::time::Instant;

use hedgerow::active::stopping::{Advice, Retrospective};
use hedgerow::active::{self, Pool, QueriedRow, Querier, StrategyName};
use hedgerow::core::traits::largest;
use hedgerow::core::{Budget, ClassId, Par, StopReason, Training};
use hedgerow::{Kind, Model, ModelParams};
use ndarray::Array2;
use serde::Serialize;

use super::{Outcome, check_apart, check_room, check_writable, interrupt, timed};
use crate::args::{QueryArgs, QueryModel};
use crate::output::progress::Bar;
use crate::{output, process};
use pool::{PoolRows, Source};
use settings::Settings;

/// What `query` tells.
#[derive(Debug, Serialize)]
pub(crate) struct QueryResult {
    pub(crate) strategy: StrategyName,
    /// The kind of the model that rows were chosen by; none while there are not labels of two classes.
    pub(crate) model: Option<Kind>,
    /// Rows to choose from, those with labels too.
    pub(crate) rows: usize,
    /// Rows with labels that are known, in the pool and outside.
    pub(crate) labelled: usize,
    pub(crate) features: usize,
    /// How many labels each class has.
    pub(crate) classes: Vec<(String, usize)>,
    /// The rows that should be labelled, the most useful first.
    pub(crate) queries: Vec<Query>,
    /// Whether to stop; none with --no-advice, or where the rows that the model has learnt are not known.
    pub(crate) advice: Option<Advice>,
    pub(crate) seconds: Seconds,
    /// Why the training of the model ended.
    pub(crate) stop: StopReason,
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) out: Option<PathBuf>,
}

/// A row that should be labelled.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Query {
    pub(crate) row: usize,
    pub(crate) utility: f64,
    /// The most probable class, and its probability; none without a model.
    pub(crate) prediction: Option<String>,
    pub(crate) probability: Option<f64>,
    pub(crate) reason: String,
}

/// Where the time went.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Seconds {
    pub(crate) read: f64,
    /// Training the model.
    pub(crate) fit: f64,
    /// Choosing rows.
    pub(crate) query: f64,
    pub(crate) advice: f64,
}

/// A model that was trained or read.
struct Known {
    model: Option<Model>,
    params: ModelParams,
    stop: StopReason,
}

pub(crate) fn run(args: &QueryArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    if args.help_params {
        let kind = if let Some(QueryModel::Kind(kind)) = args.model { kind } else { Kind::default() };
        return output::show(&Settings::list(kind), args.run.json);
    }
    let source = Source::of(args)?;
    check_writable(&args.out)?;
    if let Some(out) = &args.out {
        source.files().try_for_each(|input| check_apart("chosen rows", out, input))?;
    }
    let settings = Settings::new(args, &source)?;
    let (par, mut budget) = (args.run.par()?, interrupt::listen(args.limits.budget(start))?);
    let room = check_room(&args.limits)?;
    let mut seconds = Seconds::default();

    let rows = timed(&mut seconds.read, || PoolRows::read(&source, args, &settings, room))?;
    budget.bytes = room.map(|room| room.saturating_sub(rows.pool.features().bytes() as u64));
    let known = timed(&mut seconds.fit, || train(source.model, &rows.pool, &settings, &par, &budget))?;
    let queries = timed(&mut seconds.query, || choose(&rows, known.model.as_ref(), args, &settings, &par))?;
    let advise = !args.no_advice && rows.knows_labels && budget.spent().is_none();
    let advice = advise.then(|| {
        let mut retrospective = Retrospective::new(settings.stopping.clone(), settings.query.get().seed);
        timed(&mut seconds.advice, || retrospective.advise(&rows.pool, &known.params, &par))
    });
    if let Some(out) = &args.out {
        write::write(out, &rows.pool, &queries)?;
    }
    let pool = &rows.pool;
    let names = pool.schema().labels.names().iter().cloned();
    let result = QueryResult {
        strategy: settings.query.get().strategy,
        model: known.model.as_ref().map(Model::kind),
        rows: rows.n_rows,
        labelled: pool.labelled().len(),
        features: pool.schema().n_features(),
        classes: names.zip(pool.class_counts()).collect(),
        queries,
        advice: advice.transpose()?,
        seconds,
        stop: known.stop,
        peak_memory_bytes: process::peak_memory(),
        out: args.out.clone(),
    };
    output::show(&result, args.run.json)
}

/// The model that rows are chosen by: the one that was read, or one of the labels there are.
fn train(
    read: Option<Model>,
    pool: &Pool,
    settings: &Settings,
    par: &Par,
    budget: &Budget,
) -> anyhow::Result<Known> {
    let stop = StopReason::Done;
    if let Some(model) = read {
        let params = model.params();
        return Ok(Known { model: Some(model), params, stop });
    }
    let params = settings.model.clone();
    if !pool.has_two_classes() {
        return Ok(Known { model: None, params, stop });
    }
    let bar = Bar::new(params.kind().info().work);
    let training = Training { par, budget, observer: &bar };
    let fitted = Model::fit(&pool.training_rows()?, &params, &training);
    bar.finish();
    let fitted = fitted?;
    Ok(Known { model: Some(fitted.model), params, stop: fitted.stop })
}

/// Chooses rows, and predicts them.
fn choose(
    rows: &PoolRows,
    model: Option<&Model>,
    args: &QueryArgs,
    settings: &Settings,
    par: &Par,
) -> anyhow::Result<Vec<Query>> {
    let asks = model.map(|model| model as &dyn active::QueryModel);
    let queried = Querier::new(settings.query.clone()).query(&rows.pool, asks, args.n as usize, par)?;
    let chosen: Vec<usize> = queried.iter().map(|query| query.row).collect();
    let predict = |model: &Model| model.predict_proba_par(rows.pool.rows(&chosen).view(), par);
    let proba: Option<Array2<f64>> = model.map(predict).transpose()?;
    let labels = &rows.pool.schema().labels;
    let with_prediction = |(place, query): (usize, QueriedRow)| {
        let best = proba.as_ref().and_then(|proba| {
            let row = proba.row(place);
            largest(row).map(|class| (class, row[class]))
        });
        Query {
            row: query.row,
            utility: query.utility,
            prediction: best.map(|(class, _)| labels.name(ClassId(class as u32)).to_owned()),
            probability: best.map(|(_, probability)| probability),
            reason: query.reason,
        }
    };
    Ok(queried.into_iter().enumerate().map(with_prediction).collect())
}

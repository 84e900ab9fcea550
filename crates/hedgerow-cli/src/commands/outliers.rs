//! `outliers`: the strange rows of a table without labels.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use hedgerow::core::metrics::binary_auc;
use hedgerow::core::params::describe;
use hedgerow::core::{Error, Features, Params as _, StopReason, Training};
use hedgerow::io::RowReader;
use hedgerow::outliers::{Detector, Method, OutlierParams, Reasons};
use serde::Serialize;

use super::interrupt::listen;
use super::{
    Outcome, Table, batch_rows, check_apart, check_room, check_writable, note_dates, open_out, timed,
};
use crate::args::OutlierArgs;
use crate::output::progress::Bar;
use crate::output::text::ParamList;
use crate::{output, process};

/// Rows that get a reason at most.
const MOST_REASONS: usize = 200;
/// Reasons take about this many scores at most; a column of a row takes 16.
const REASON_SCORES: usize = 50_000;
const SCORES_A_COLUMN: usize = 16;

/// What `outliers` tells.
#[derive(Debug, Serialize)]
pub(crate) struct OutlierResult {
    pub(crate) method: Method,
    pub(crate) params: OutlierParams,
    /// Rows the detector was fitted to.
    pub(crate) rows: usize,
    pub(crate) features: usize,
    /// Rows that were scored: these, or those of --score.
    pub(crate) rows_scored: usize,
    /// The score above which a row counts as an outlier.
    pub(crate) threshold: f64,
    pub(crate) n_outliers: usize,
    /// Area under the ROC curve, where there are labels 0 and 1.
    pub(crate) auc: Option<f64>,
    /// The strangest rows, the strangest first.
    pub(crate) strangest: Vec<Strange>,
    pub(crate) seconds: Seconds,
    pub(crate) stop: StopReason,
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) out: Option<PathBuf>,
}

/// A strange row.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Strange {
    pub(crate) row: usize,
    pub(crate) outlier: f64,
    /// The columns that make it strange, in words.
    pub(crate) reason: String,
}

/// Where the time went.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Seconds {
    pub(crate) read: f64,
    /// The detector, and the scores of the rows it was fitted to.
    pub(crate) fit: f64,
    /// The scores of other rows.
    pub(crate) predict: f64,
    pub(crate) reasons: f64,
}

pub(crate) fn run(args: &OutlierArgs) -> anyhow::Result<Outcome> {
    let Some(path) = args.data.as_ref().filter(|_| !args.help_params) else {
        return output::show(&ParamList(describe::<OutlierParams>()), args.run.json);
    };
    let params = params(args)?;
    check_outputs(args, path)?;
    let start = Instant::now();
    let (par, mut budget) = (args.run.par()?, listen(args.limits.budget(start))?);
    let room = check_room(&args.limits)?;
    let mut seconds = Seconds::default();

    let options = args.data_args.options();
    let table = timed(&mut seconds.read, || Table::read(RowReader::open(path, &options)?, room))?;
    note_dates(&table.schema, &options);
    let other = args.score.as_ref().map(|other| {
        let reader = || RowReader::open_growing(other, &options, &table.schema);
        timed(&mut seconds.read, || Table::read(reader()?, room))
    });
    let other = other.transpose()?;
    budget.bytes = room.map(|room| room.saturating_sub(table.features.bytes() as u64));

    let bar = Bar::new("scoring rows");
    let training = Training { par: &par, budget: &budget, observer: &bar };
    let checked = params.clone().check()?;
    let fitted =
        timed(&mut seconds.fit, || Detector::fit(&table.schema, &table.features, &checked, &training));
    bar.finish();
    let detector = fitted.map_err(|error| error.in_file(path))?;
    let scored = other.as_ref().unwrap_or(&table);
    let scores = match &other {
        None => detector.training_scores().to_vec(),
        Some(other) => timed(&mut seconds.predict, || score(&detector, &other.features, &par))?,
    };

    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let n_outliers = scores.iter().filter(|&&score| score > detector.threshold()).count();
    let n_reasons = n_reasons(args, &params, table.schema.n_features(), n_outliers);
    let told = timed(&mut seconds.reasons, || {
        let strange = &order[..n_reasons.min(order.len())];
        tell(&detector, (&table, scored), &scores, strange, &training)
    })?;
    if let Some(out) = &args.out {
        write(out, &scores, &told)?;
    }
    let result = OutlierResult {
        method: params.method,
        rows: table.features.n_rows(),
        features: table.schema.n_features(),
        rows_scored: scores.len(),
        threshold: detector.threshold(),
        n_outliers,
        auc: auc(scored, &scores),
        strangest: told.into_iter().take(args.top).collect(),
        seconds,
        stop: detector.stop(),
        peak_memory_bytes: process::peak_memory(),
        out: args.out.clone(),
        params,
    };
    output::show(&result, args.run.json)
}

/// The parameters as they were typed.
fn params(args: &OutlierArgs) -> anyhow::Result<OutlierParams> {
    let method = [("method", args.method.as_str())];
    let settings = args.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mut params = OutlierParams::default().with_settings(method.into_iter().chain(settings))?;
    if let Some(seed) = args.seed {
        params.seed = seed;
    }
    params.rules()?;
    Ok(params)
}

fn check_outputs(args: &OutlierArgs, path: &Path) -> anyhow::Result<()> {
    check_writable(&args.out)?;
    if args.score.as_deref().is_some_and(|other| other.as_os_str() == "-") && path.as_os_str() == "-" {
        bail!("--score: standard input holds one table only");
    }
    for input in [Some(path), args.score.as_deref()].into_iter().flatten() {
        if let Some(out) = &args.out {
            check_apart("scores", out, input)?;
        }
    }
    Ok(())
}

/// Scores the rows of another table, block by block.
fn score(detector: &Detector, features: &Features, par: &hedgerow::core::Par) -> Result<Vec<f64>, Error> {
    let mut scores = Vec::with_capacity(features.n_rows());
    let size = batch_rows(features.n_features());
    for first in (0..features.n_rows()).step_by(size) {
        let x = features.to_array(first..(first + size).min(features.n_rows()));
        scores.extend(detector.score(x.view(), par)?);
    }
    Ok(scores)
}

/// How many rows get a reason: those shown, and as many outliers as take little time.
fn n_reasons(args: &OutlierArgs, params: &OutlierParams, n_features: usize, n_outliers: usize) -> usize {
    // A score of these methods takes comparisons with thousands of rows.
    let is_slow = matches!(params.method, Method::Knn | Method::Proximity);
    let most = if is_slow { 0 } else { REASON_SCORES / (SCORES_A_COLUMN * n_features.max(1)) };
    args.top.max(n_outliers.min(most).min(MOST_REASONS))
}

/// The reasons for some rows. When the time is up, the others get none.
fn tell(
    detector: &Detector,
    (table, scored): (&Table, &Table),
    scores: &[f64],
    rows: &[usize],
    training: &Training<'_>,
) -> Result<Vec<Strange>, Error> {
    let reasons = Reasons::new(&scored.schema, &table.features, detector.params().seed);
    let mut told = Vec::with_capacity(rows.len());
    for &row in rows {
        let x = scored.features.to_array(row..row + 1);
        let is_open = training.budget.spent().is_none();
        let reason = match (is_open, x.row(0).as_slice()) {
            (true, Some(values)) => {
                let shares = detector.attributions(x.view(), training.par)?;
                reasons.words(values, &shares.row(0).to_vec())
            }
            _ => String::new(),
        };
        told.push(Strange { row, outlier: scores[row], reason });
    }
    Ok(told)
}

/// Writes the scores of all rows, with the reasons there are.
fn write(out: &PathBuf, scores: &[f64], told: &[Strange]) -> anyhow::Result<()> {
    let mut reasons = vec![""; scores.len()];
    told.iter().for_each(|strange| reasons[strange.row] = &strange.reason);
    let mut writer = csv::Writer::from_writer(open_out(Some(out))?);
    writer.write_record(["row", "outlier", "reason"])?;
    for (row, (score, reason)) in scores.iter().zip(reasons).enumerate() {
        writer.write_record([row.to_string().as_str(), &format!("{score:.6}"), reason])?;
    }
    writer.flush()?;
    Ok(())
}

/// The area under the ROC curve where labels are 0 and 1; rows without a label do not count.
fn auc(table: &Table, scores: &[f64]) -> Option<f64> {
    let labels = table.labels.as_ref()?;
    let names = table.schema.labels.names();
    if names.len() != 2 || !names.iter().all(|name| name == "0" || name == "1") {
        return None;
    }
    let one = table.schema.labels.get("1")?;
    let known =
        labels.iter().zip(scores).filter_map(|(label, score)| label.map(|label| (*score, label == one)));
    let (scores, hits): (Vec<f64>, Vec<bool>) = known.unzip();
    binary_auc(&scores, &hits)
}

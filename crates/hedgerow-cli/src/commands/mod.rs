//! What each command does.

pub(crate) mod demo;
pub(crate) mod evaluate;
mod evaluation;
mod feed;
pub(crate) mod fit;
pub(crate) mod generate;
pub(crate) mod info;
mod interrupt;
pub(crate) mod learning;
pub(crate) mod live;
mod made;
pub(crate) mod merge;
pub(crate) mod outliers;
mod page;
pub(crate) mod predict;
pub(crate) mod query;
mod renewed;
mod rows;
pub(crate) mod simulate;
pub(crate) mod store;
pub(crate) mod stream;
mod table;
pub(crate) mod train;
pub(crate) mod update;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use hedgerow::core::{Error, Schema, Task};
use hedgerow::io::{ReadOptions, date_notes};
use hedgerow::{Kind, ModelParams};

pub(crate) use evaluation::{Evaluation, LeftOut, Metrics, RunningMetrics};
pub(crate) use feed::{Chunk, Feed, count_rows, open_to_learn};
pub(crate) use made::{Described, Made, Seconds, timed};
pub(crate) use renewed::Renewed;
pub(crate) use rows::NumberedRows;
pub(crate) use table::{Table, cell};

use crate::args::LimitArgs;
use crate::{output, process};

/// How a command ended; its number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done.
    Done = 0,
    /// Done, with a negative result.
    Negative = 1,
}

/// Rows read at once: enough to keep all threads busy, few enough to fit caches and small memories.
const BATCH_VALUES: usize = 2 << 20;

/// Rows of this many features that make a batch.
fn batch_rows(n_features: usize) -> usize {
    (BATCH_VALUES / n_features.max(1)).clamp(16, 16_384)
}

/// Fails early where results could not be written later.
fn check_writable<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> anyhow::Result<()> {
    for path in paths {
        if path.is_dir() {
            bail!("{}: expected a file to write to, got a folder", path.display());
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let meta = fs::metadata(folder)
            .with_context(|| format!("{}: the folder to write to cannot be used", folder.display()))?;
        if !meta.is_dir() {
            bail!("{}: expected a folder to write to", folder.display());
        }
        if meta.permissions().readonly() {
            bail!("{}: the folder is read-only", folder.display());
        }
    }
    Ok(())
}

/// The file to write to, or standard output.
fn open_out(path: Option<&PathBuf>) -> anyhow::Result<Box<dyn Write>> {
    check_writable(path)?;
    Ok(match path {
        Some(path) => Box::new(File::create(path).with_context(|| path.display().to_string())?),
        None => Box::new(io::stdout().lock()),
    })
}

/// What it is called in messages.
fn name_of_out(path: Option<&PathBuf>) -> String {
    path.map_or_else(|| "standard output".into(), |path| path.display().to_string())
}

/// Fails if what is written would overwrite what it is made from.
fn check_apart(what: &str, out: &Path, input: &Path) -> anyhow::Result<()> {
    if let (Ok(a), Ok(b)) = (out.canonicalize(), input.canonicalize())
        && a == b
    {
        bail!("{}: the {what} would overwrite what they are made from", out.display());
    }
    Ok(())
}

/// Values of the columns with their names, the largest first.
fn by_column(schema: &Schema, values: Vec<f64>) -> Vec<(String, f64)> {
    let names = schema.columns.iter().map(|column| column.name.clone());
    let mut named: Vec<(String, f64)> = names.zip(values).collect();
    named.sort_by(|a, b| b.1.total_cmp(&a.1));
    named
}

/// The parameters of a kind with `--set` and `--seed` applied.
fn params(kind: Kind, settings: &[(String, String)], seed: Option<u64>) -> Result<ModelParams, Error> {
    let settings = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mut params = ModelParams::new(kind).with_settings(settings)?;
    if let Some(seed) = seed {
        params = params.with_seed(seed);
    }
    params.rules()?;
    Ok(params)
}

/// Fails unless a kind of model does the task that was asked for, with a store where that is asked for too.
fn check_task(kind: Kind, task: Option<Task>, has_store: bool) -> anyhow::Result<()> {
    let Some(task) = task else { return Ok(()) };
    kind.check_task(task).with_context(|| format!("--task {task}"))?;
    if has_store && task == Task::Regression {
        bail!("--store keeps labels, not numbers: learn a regression without it");
    }
    Ok(())
}

/// The memory that a limit leaves beside the program itself, if there is a limit; fails if it leaves nothing.
fn check_room(limits: &LimitArgs) -> Result<Option<u64>, Error> {
    let in_use = process::memory_now().unwrap_or(0);
    match limits.max_memory {
        Some(limit) if limit <= in_use => {
            let (needed, limit) = (output::size(in_use), output::size(limit));
            Err(Error::BudgetTooSmall { what: "the program without any data".into(), needed, limit })
        }
        limit => Ok(limit.map(|limit| limit - in_use)),
    }
}

/// Tells which columns look like dates, of which a model makes categories.
fn note_dates(schema: &Schema, options: &ReadOptions) {
    date_notes(schema, options).iter().for_each(|text| output::note(text));
}

/// Tells what became of the rows before a bad one.
fn after_bad_row(rows: u64, out: Option<&Path>) {
    let what = format!("the {} rows before the bad one were learnt", output::count(rows));
    output::note(&match out {
        Some(out) => format!("{what}; the model is saved to {}", out.display()),
        None => format!("{what}, but the model is not saved: give --out FILE"),
    });
}

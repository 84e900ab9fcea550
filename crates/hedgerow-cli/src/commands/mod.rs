//! What each command does.

pub(crate) mod demo;
pub(crate) mod evaluate;
mod evaluation;
pub(crate) mod fit;
pub(crate) mod generate;
pub(crate) mod info;
mod interrupt;
pub(crate) mod learning;
pub(crate) mod live;
mod made;
pub(crate) mod merge;
mod page;
pub(crate) mod predict;
mod renewed;
pub(crate) mod store;
pub(crate) mod stream;
pub(crate) mod train;
pub(crate) mod update;

use std::path::Path;

use anyhow::{Context as _, bail};
use hedgerow::core::{Error, Schema};
use hedgerow::io::{ReadOptions, date_notes};
use hedgerow::{Kind, ModelParams};

pub(crate) use evaluation::{LeftOut, Metrics};
pub(crate) use made::Made;
pub(crate) use renewed::Renewed;

use crate::args::LimitArgs;
use crate::{output, process};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done.
    Done,
    /// Done, with a negative result.
    Negative,
}

impl Outcome {
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Negative => 1,
        }
    }
}

/// Rows read at once: enough to keep all threads busy, few enough to fit caches and small memories.
const BATCH_VALUES: usize = 2 << 20;

/// Rows of this many features that make a batch.
fn batch_rows(n_features: usize) -> usize {
    (BATCH_VALUES / n_features.max(1)).clamp(16, 16_384)
}

/// Fails early where a result could not be written later.
fn check_writable(path: &Path) -> anyhow::Result<()> {
    if path.is_dir() {
        bail!("{}: expected a file to write to, got a folder", path.display());
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let meta = std::fs::metadata(folder)
        .with_context(|| format!("{}: the folder to write to cannot be used", folder.display()))?;
    if !meta.is_dir() {
        bail!("{}: expected a folder to write to", folder.display());
    }
    if meta.permissions().readonly() {
        bail!("{}: the folder is read-only", folder.display());
    }
    Ok(())
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
    let rows = output::count(rows);
    output::note(&match out {
        Some(out) => {
            format!("the {rows} rows before the bad one were learnt; the model is saved to {}", out.display())
        }
        None => format!(
            "the {rows} rows before the bad one were learnt, but the model is not saved: give --out FILE"
        ),
    });
}

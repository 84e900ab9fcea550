//! What each verb does.

pub(crate) mod evaluate;
pub(crate) mod fit;
pub(crate) mod info;
mod judge;

pub(crate) mod merge;
pub(crate) mod predict;

use std::path::Path;

use anyhow::{Context as _, bail};

pub(crate) use judge::LeftOut;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Done.
    Done,
    /// Done, and the answer is no.
    Negative,
}

impl Verdict {
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

//! Files that are replaced in one step, and read only after a look at their size.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hedgerow_core::{Error, Result};

use super::layout;

/// Follows the name of a file in the name of its beginnings.
const UNFINISHED: &str = ".unfinished-";
/// A file that was not written to for so long was given up.
const FORGOTTEN: Duration = Duration::from_secs(3600);

/// Writes a file under a name of its own beside `path` and renames it when it is whole and on disk.
pub(super) fn replace(path: &Path, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // A pipe or a device cannot be replaced, only written to.
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        let mut out = BufWriter::new(OpenOptions::new().write(true).open(path)?);
        write(&mut out)?;
        return out.flush();
    }
    remove_forgotten(path);
    let (file, unfinished) = create_beside(path)?;
    let result = (|| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        write(&mut out)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    })();
    if result.is_err() {
        // Best effort: the error that matters is the first one.
        let _ = fs::remove_file(&unfinished);
    }
    result
}

/// Removes files that a process which was killed left unfinished beside `path`: they were not written to for long. Best effort.
fn remove_forgotten(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(begin) = path.file_name().map(|name| format!(".{}{UNFINISHED}", name.to_string_lossy())) else {
        return;
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_old = || {
            let changed = entry.metadata().and_then(|meta| meta.modified()).ok();
            changed.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > FORGOTTEN)
        };
        if entry.file_name().to_string_lossy().starts_with(&begin) && is_old() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A new file beside `path`. Names that are taken, by another save or by one that never ended, are left alone.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    const TRIES: u32 = 1_000;
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().map_or_else(|| "model".into(), |n| n.to_string_lossy().into_owned());
    let mut last = None;
    for _ in 0..TRIES {
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let unfinished = path.with_file_name(format!(".{name}{UNFINISHED}{process}-{count}"));
        match OpenOptions::new().write(true).create_new(true).open(&unfinished) {
            Ok(file) => return Ok((file, unfinished)),
            Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => last = Some(taken),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
}

/// Reads a whole file if its beginning promises no more bytes than there are.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let fail = |source| Error::io(path, source);
    let mut file = File::open(path).map_err(fail)?;
    let mut bytes = Vec::new();
    (&file).take(layout::LONGEST_START).read_to_end(&mut bytes).map_err(fail)?;
    layout::check_start(&bytes).map_err(|error| error.in_file(path))?;
    file.read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}

/// Whether a file starts like one of ours. It may still be damaged.
pub fn is_model_file(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(layout::LONGEST_START).read_to_end(&mut start));
    read.is_ok() && layout::check_start(&start).is_ok()
}

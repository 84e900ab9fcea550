//! What a learner leaves behind so that it can go on from there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use hedgerow_core::{Error, Result};

/// Writes the bytes of a model.
pub(crate) type WriteModel<'a> = &'a mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// Checkpoints of a learner that are kept: if the newest is damaged, there is one before it.
pub(crate) const KEPT: usize = 2;

/// A learner as it was after some event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The place after the last event that it had learnt.
    pub cursor: u64,
    /// What its owner noted beside the model.
    pub state: String,
    /// The model's bytes.
    pub model: Vec<u8>,
}

/// What was found of a learner.
#[derive(Debug, Default)]
pub struct Restored {
    /// Its newest checkpoint that is whole; without one it begins anew, at event 0.
    pub checkpoint: Option<Checkpoint>,
    /// What was wrong with newer ones, in words for the user.
    pub warnings: Vec<String>,
}

/// The end of a name of a file that is being written.
pub(crate) const UNFINISHED: &str = ".unfinished";
/// The end of a name of a model.
pub(crate) const MODEL: &str = ".hedgerow";

/// A model that was written and that no learner has yet.
#[derive(Debug)]
pub(crate) enum Written {
    /// A file in the folder of models, on the disk.
    File { name: String, len: u64, crc: u32 },
    /// Its bytes.
    Bytes(Vec<u8>),
}

impl Written {
    /// Writes a model into a folder, or where there is none into memory. Until a backend tells of it, it is as if it were not there.
    pub(crate) fn new(folder: Option<&Path>, stem: &str, write: WriteModel<'_>) -> Result<Self> {
        if let Some(folder) = folder {
            return Self::file(folder, stem, write);
        }
        let mut model = Vec::new();
        let failed = |source| Error::io("memory", source);
        write(&mut model).and_then(|()| model.flush()).map_err(failed)?;
        Ok(Self::Bytes(model))
    }

    /// The file is written under another name, brought to the disk and renamed.
    fn file(folder: &Path, stem: &str, write: WriteModel<'_>) -> Result<Self> {
        fs::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
        // A name that is not taken: until the database tells of the new file, the old one must stay.
        let name_of =
            |n: u32| format!("{stem}{}{MODEL}", if n == 0 { String::new() } else { format!("-{n}") });
        let mut n = 0;
        while folder.join(name_of(n)).exists() {
            n += 1;
        }
        let name = name_of(n);
        let (path, unfinished) = (folder.join(&name), folder.join(format!("{name}{UNFINISHED}")));
        let written = (|| {
            let mut out = Summed::new(BufWriter::with_capacity(1 << 20, File::create(&unfinished)?));
            write(&mut out)?;
            out.flush()?;
            out.out.get_ref().sync_all()?;
            fs::rename(&unfinished, &path)?;
            sync_folder(folder)?;
            Ok((out.len, out.crc.finalize()))
        })();
        let (len, crc) = written.map_err(|source| {
            // Best effort: it would go when the store is opened next.
            let _ = fs::remove_file(&unfinished);
            Error::io(&path, source)
        })?;
        Ok(Self::File { name, len, crc })
    }

    /// Bytes of the model.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File { len, .. } => *len,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

/// Hands bytes on, counts them, and sums them up.
pub(crate) struct Summed<W> {
    pub(crate) out: W,
    pub(crate) crc: crc32fast::Hasher,
    pub(crate) len: u64,
}

impl<W: Write> Summed<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, crc: crc32fast::Hasher::new(), len: 0 }
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.crc.update(&bytes[..n]);
        self.len += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Makes names in a folder durable.
pub(crate) fn sync_folder(dir: &Path) -> io::Result<()> {
    // Folders cannot be opened like files everywhere; where they cannot, the system orders such writes itself.
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}

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

/// The folder of models in the store's folder.
pub(crate) const CHECKPOINTS: &str = "checkpoints";
/// The end of a name of a file that is being written.
pub(crate) const UNFINISHED: &str = ".unfinished";
/// The end of a name of a model.
pub(crate) const MODEL: &str = ".hedgerow";

/// A model that was written and that no learner has yet.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The name of its file in the folder of models, on the disk; empty where there is no folder.
    pub(crate) file: String,
    /// Its bytes where there is no folder.
    pub(crate) bytes: Vec<u8>,
    pub(crate) len: u64,
    pub(crate) crc: u32,
}

impl Written {
    /// Writes a model into memory.
    pub(crate) fn to_memory(write: WriteModel<'_>) -> Result<Self> {
        let mut bytes = Vec::new();
        write(&mut bytes).map_err(|source| Error::io("memory", source))?;
        Ok(Self { len: bytes.len() as u64, bytes, ..Self::default() })
    }

    /// Writes a model into a folder: under another name, which is changed when it is on the disk. Until a backend tells of it, it is as
    /// if it were not there.
    pub(crate) fn to_file(folder: &Path, stem: &str, write: WriteModel<'_>) -> Result<Self> {
        fs::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
        // A name that is not taken: until the database tells of the new file, the old one must stay.
        let mut file = format!("{stem}{MODEL}");
        for n in 1.. {
            if !folder.join(&file).exists() {
                break;
            }
            file = format!("{stem}-{n}{MODEL}");
        }
        let (path, unfinished) = (folder.join(&file), folder.join(format!("{file}{UNFINISHED}")));
        let written = (|| {
            let out = BufWriter::with_capacity(1 << 20, File::create(&unfinished)?);
            let mut out = Summed { out, crc: crc32fast::Hasher::new(), len: 0 };
            write(&mut out)?;
            out.flush()?;
            out.out.get_ref().sync_all()?;
            fs::rename(&unfinished, &path)?;
            sync_folder(folder)?;
            Ok(Self { file, bytes: Vec::new(), len: out.len, crc: out.crc.finalize() })
        })();
        written.map_err(|source| {
            // Best effort: it would go when the store is opened next.
            let _ = fs::remove_file(&unfinished);
            Error::io(&path, source)
        })
    }
}

/// Hands bytes on, counts them, and sums them up.
struct Summed<W> {
    out: W,
    crc: crc32fast::Hasher,
    len: u64,
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

//! What a learner leaves behind so that it can go on from there.

use std::io::{self, Write};

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

//! Sizes in an Arrow IPC file, checked before its reader believes them.
//!
//! The reader allocates what a message says its buffers need, and a failed allocation ends the whole program. So every
//! length is held against the file first: stretches must lie within it, and no buffer may claim to grow beyond reason when
//! it is decompressed.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use arrow_ipc::{Block, Message, RecordBatch, root_as_footer, root_as_message};

/// How many times larger than its compressed form a buffer may be.
const MOST_TIMES: u64 = 4096;
const CONTINUATION: [u8; 4] = [0xff; 4];
const MAGIC_LEN: u64 = 6;

/// Whether the sizes in an IPC file (or, without the file's frame, a stream) are possible. Other damage is left to the reader.
pub(super) fn are_possible(file: &mut File, is_stream: bool) -> io::Result<bool> {
    let len = file.seek(SeekFrom::End(0))?;
    let mut sizes = Sizes { file, len };
    let checked = if is_stream { sizes.check_stream() } else { sizes.check_file() };
    match checked {
        Err(e) if matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData) => Ok(false),
        other => other.map(|()| true),
    }
}

struct Sizes<'a> {
    file: &'a mut File,
    len: u64,
}

impl Sizes<'_> {
    fn check_file(&mut self) -> io::Result<()> {
        let footer_end = possible(self.len.checked_sub(4 + MAGIC_LEN))?;
        let footer_len = size(i32::from_le_bytes(self.bytes(footer_end)?))?;
        let footer = self.stretch(possible(footer_end.checked_sub(footer_len))?, footer_len)?;
        let footer = possible(root_as_footer(&footer).ok())?;
        for block in [footer.dictionaries(), footer.recordBatches()].into_iter().flatten().flatten() {
            self.check_block(block)?;
        }
        Ok(())
    }

    fn check_block(&mut self, block: &Block) -> io::Result<()> {
        let (start, meta_len) = (size(block.offset())?, size(block.metaDataLength())?);
        let meta = self.stretch(start, meta_len)?;
        let skip = if meta.starts_with(&CONTINUATION) { 8 } else { 4 };
        let message = possible(meta.get(skip..).and_then(|meta| root_as_message(meta).ok()))?;
        self.check_message(message, start + meta_len, size(block.bodyLength())?)
    }

    fn check_stream(&mut self) -> io::Result<()> {
        let mut at = 0;
        while at < self.len {
            let mut word = self.bytes(at)?;
            at += 4;
            if word == CONTINUATION {
                word = self.bytes(at)?;
                at += 4;
            }
            let meta_len = size(i32::from_le_bytes(word))?;
            if meta_len == 0 {
                break;
            }
            let meta = self.stretch(at, meta_len)?;
            let message = possible(root_as_message(&meta).ok())?;
            let body_len = size(message.bodyLength())?;
            self.check_message(message, at + meta_len, body_len)?;
            at += meta_len + body_len;
        }
        Ok(())
    }

    fn check_message(&mut self, message: Message<'_>, body: u64, body_len: u64) -> io::Result<()> {
        self.check_within(body, body_len)?;
        let dictionary = message.header_as_dictionary_batch();
        match message.header_as_record_batch().or_else(|| dictionary.and_then(|d| d.data())) {
            Some(batch) => self.check_batch(batch, body, body_len),
            None => Ok(()),
        }
    }

    fn check_batch(&mut self, batch: RecordBatch<'_>, body: u64, body_len: u64) -> io::Result<()> {
        let is_compressed = batch.compression().is_some();
        for buffer in batch.buffers().into_iter().flatten() {
            let (offset, len) = (size(buffer.offset())?, size(buffer.length())?);
            possible(offset.checked_add(len).filter(|end| *end <= body_len))?;
            if is_compressed && len >= 8 {
                let grown = i64::from_le_bytes(self.bytes(body + offset)?);
                // -1 marks a buffer that was left as it is.
                if grown != -1 {
                    possible(Some(size(grown)?).filter(|n| *n <= MOST_TIMES * len))?;
                }
            }
        }
        Ok(())
    }

    /// Fails unless a stretch lies within the file.
    fn check_within(&self, start: u64, len: u64) -> io::Result<()> {
        possible(start.checked_add(len).filter(|end| *end <= self.len)).map(|_| ())
    }

    fn bytes<const N: usize>(&mut self, at: u64) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The bytes of a stretch, which must lie within the file.
    fn stretch(&mut self, start: u64, len: u64) -> io::Result<Vec<u8>> {
        self.check_within(start, len)?;
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(start))?;
        (&mut *self.file).take(len).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The value, or the error of a size that is not possible.
fn possible<T>(value: Option<T>) -> io::Result<T> {
    value.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// A length or offset, which must not be negative.
fn size(value: impl TryInto<u64>) -> io::Result<u64> {
    possible(value.try_into().ok())
}

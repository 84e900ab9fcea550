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
    let possible = if is_stream { sizes.check_stream() } else { sizes.check_file() };
    match possible {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        other => other,
    }
}

struct Sizes<'a> {
    file: &'a mut File,
    len: u64,
}

impl Sizes<'_> {
    fn check_file(&mut self) -> io::Result<bool> {
        let tail = 4 + MAGIC_LEN;
        let Some(footer_end) = self.len.checked_sub(tail) else { return Ok(false) };
        let footer_len = self.bytes::<4>(footer_end)?;
        let footer_len = u64::try_from(i32::from_le_bytes(footer_len)).unwrap_or(u64::MAX);
        let Some(start) = footer_end.checked_sub(footer_len) else { return Ok(false) };
        let footer = self.stretch(start, footer_len)?;
        let Ok(footer) = root_as_footer(&footer) else { return Ok(false) };
        for blocks in [footer.dictionaries(), footer.recordBatches()].into_iter().flatten() {
            for block in blocks {
                if !self.check_block(block)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn check_block(&mut self, block: &Block) -> io::Result<bool> {
        let (Ok(start), Ok(meta_len), Ok(body_len)) = (
            u64::try_from(block.offset()),
            u64::try_from(block.metaDataLength()),
            u64::try_from(block.bodyLength()),
        ) else {
            return Ok(false);
        };
        if !self.holds(start, meta_len) || !self.holds(start + meta_len, body_len) {
            return Ok(false);
        }
        let meta = self.stretch(start, meta_len)?;
        let skip = if meta.starts_with(&CONTINUATION) { 8 } else { 4 };
        let Some(Ok(message)) = meta.get(skip..).map(root_as_message) else { return Ok(false) };
        self.check_message(message, start + meta_len, body_len)
    }

    fn check_stream(&mut self) -> io::Result<bool> {
        let mut at = 0;
        while at < self.len {
            let mut word = self.bytes::<4>(at)?;
            at += 4;
            if word == CONTINUATION {
                word = self.bytes::<4>(at)?;
                at += 4;
            }
            let Ok(meta_len) = u64::try_from(i32::from_le_bytes(word)) else { return Ok(false) };
            if meta_len == 0 {
                return Ok(true);
            }
            if !self.holds(at, meta_len) {
                return Ok(false);
            }
            let meta = self.stretch(at, meta_len)?;
            at += meta_len;
            let Ok(message) = root_as_message(&meta) else { return Ok(false) };
            let body_len = u64::try_from(message.bodyLength()).unwrap_or(u64::MAX);
            if !self.holds(at, body_len) || !self.check_message(message, at, body_len)? {
                return Ok(false);
            }
            at += body_len;
        }
        Ok(true)
    }

    fn check_message(&mut self, message: Message<'_>, body: u64, body_len: u64) -> io::Result<bool> {
        let dictionary = message.header_as_dictionary_batch();
        match message.header_as_record_batch().or_else(|| dictionary.and_then(|d| d.data())) {
            Some(batch) => self.check_batch(batch, body, body_len),
            None => Ok(true),
        }
    }

    fn check_batch(&mut self, batch: RecordBatch<'_>, body: u64, body_len: u64) -> io::Result<bool> {
        let is_compressed = batch.compression().is_some();
        for buffer in batch.buffers().into_iter().flatten() {
            let (Ok(offset), Ok(len)) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length()))
            else {
                return Ok(false);
            };
            if offset.checked_add(len).is_none_or(|end| end > body_len) {
                return Ok(false);
            }
            if is_compressed && len >= 8 {
                let grown = i64::from_le_bytes(self.bytes::<8>(body + offset)?);
                // -1 marks a buffer that was left as it is.
                let possible = grown == -1 || u64::try_from(grown).is_ok_and(|n| n <= MOST_TIMES * len);
                if !possible {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether a stretch lies within the file.
    fn holds(&self, start: u64, len: u64) -> bool {
        start.checked_add(len).is_some_and(|end| end <= self.len)
    }

    fn bytes<const N: usize>(&mut self, at: u64) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The bytes of a stretch, which must lie within the file.
    fn stretch(&mut self, start: u64, len: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(start))?;
        (&mut *self.file).take(len).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

//! From a path to bytes: standard input, gzip, byte-order mark, and files that can be sought in.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use hedgerow_core::{DataError, DataProblem, Error, Result};

use crate::sniff::Sample;

/// Bytes in a row of reads; large enough that the system calls do not count.
const BUFFER: usize = 256 * 1024;
/// How much of a text file is read ahead, to see how it is written: the first of these that is reached.
const AHEAD_LINES: usize = 1000;
const AHEAD_BYTES: usize = 1 << 20;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// A stream of decoded bytes.
pub(crate) type Input = BufReader<Box<dyn Read + Send>>;

/// Where bytes come from.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    path: PathBuf,
}

impl Place {
    /// The file at `path`; `-` is standard input.
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf() }
    }

    /// The path as it was given.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this is standard input, which can be read only once.
    pub(crate) fn is_stdin(&self) -> bool {
        self.path.as_os_str() == "-"
    }

    /// The path as it should stand in messages.
    pub(crate) fn shown(&self) -> PathBuf {
        if self.is_stdin() { PathBuf::from("standard input") } else { self.path.clone() }
    }

    /// The decoded content from the start.
    pub(crate) fn open(&self) -> Result<Input> {
        let raw: Box<dyn Read + Send> =
            if self.is_stdin() { Box::new(io::stdin()) } else { Box::new(self.open_file()?) };
        self.decode(raw)
    }

    /// The decoded content of text, without a byte-order mark.
    pub(crate) fn open_text(&self) -> Result<Input> {
        let input = self.open()?;
        skip_mark(input).map_err(|e| self.error(e))
    }

    /// The decoded content as a file that can be sought in. What is compressed or comes from standard input goes to a
    /// temporary file first, so that memory stays small.
    pub(crate) fn open_seekable(&self) -> Result<File> {
        if !self.is_stdin() {
            let mut file = self.open_file()?;
            let mut start = Vec::with_capacity(2);
            (&mut file).take(2).read_to_end(&mut start).map_err(|e| self.error(e))?;
            if start != GZIP_MAGIC && !self.has_gz_name() {
                file.seek(SeekFrom::Start(0)).map_err(|e| self.error(e))?;
                return Ok(file);
            }
        }
        spool(self.open()?).map_err(|e| self.error(e))
    }

    /// An error of the system or of the decompressor, with the file's name.
    pub(crate) fn error(&self, error: io::Error) -> Error {
        io_error(error)
            .map_or_else(|e| Error::io(self.shown(), e), |data| Error::from(data).in_file(&self.shown()))
    }

    fn open_file(&self) -> Result<File> {
        let file = File::open(&self.path).map_err(|e| Error::io(&self.path, e))?;
        // Opening a folder succeeds on some systems, and reading from it then fails with a less clear message.
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(Error::io(&self.path, io::Error::new(io::ErrorKind::IsADirectory, "is a folder")));
        }
        Ok(file)
    }

    fn has_gz_name(&self) -> bool {
        self.path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"))
    }

    fn decode(&self, mut raw: Box<dyn Read + Send>) -> Result<Input> {
        let mut start = Vec::with_capacity(2);
        (&mut raw).take(2).read_to_end(&mut start).map_err(|e| self.error(e))?;
        let is_gz = start == GZIP_MAGIC || self.has_gz_name();
        let whole = Cursor::new(start).chain(raw);
        Ok(if is_gz {
            let decoder = MultiGzDecoder::new(BufReader::with_capacity(BUFFER, whole));
            BufReader::with_capacity(BUFFER, Box::new(Gzip(decoder)))
        } else {
            BufReader::with_capacity(BUFFER, Box::new(whole))
        })
    }
}

/// Copies a stream to an unnamed temporary file and goes back to its start.
pub(crate) fn spool(mut input: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut input, &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// A gzip stream whose own errors can be told from those of the system.
struct Gzip<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::new(io::ErrorKind::InvalidData, "it ends too early"),
            _ => damaged(e),
        })
    }
}

/// An error of a decompressor; those about its data are marked as such.
pub(crate) fn damaged(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
            io::Error::new(io::ErrorKind::InvalidData, error.to_string())
        }
        _ => error,
    }
}

/// The data problem behind an I/O error, or the error itself where the system is to blame.
pub(crate) fn io_error(error: io::Error) -> Result<DataError, io::Error> {
    if error.kind() == io::ErrorKind::InvalidData {
        return Ok(DataProblem::Compressed(error.to_string()).into());
    }
    Err(error)
}

/// Reads the first lines. An error on the way comes again at its place, when the rows before it have been read.
pub(crate) fn read_ahead(mut input: Input) -> (Input, Sample) {
    let mut bytes = Vec::new();
    let mut n_lines = 0;
    let end = loop {
        if n_lines >= AHEAD_LINES || bytes.len() >= AHEAD_BYTES {
            break None;
        }
        let n = match input.fill_buf() {
            Ok(chunk) => {
                n_lines += chunk.iter().filter(|byte| **byte == b'\n').count();
                bytes.extend_from_slice(chunk);
                chunk.len()
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => break Some(Err(error)),
        };
        if n == 0 {
            break Some(Ok(0));
        }
        input.consume(n);
    };
    let is_cut = !matches!(end, Some(Ok(_)));
    let again = Cursor::new(bytes.clone());
    let whole: Box<dyn Read + Send> = match end {
        None => Box::new(again.chain(input)),
        end => Box::new(again.chain(Ended(end))),
    };
    (BufReader::with_capacity(BUFFER, whole), Sample { bytes, is_cut })
}

/// Ends with what was met at the end when reading ahead.
struct Ended(Option<io::Result<usize>>);

impl Read for Ended {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().unwrap_or(Ok(0))
    }
}

fn skip_mark(mut input: Input) -> io::Result<Input> {
    let mut start = Vec::with_capacity(BYTE_ORDER_MARK.len());
    (&mut input).take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut start)?;
    if start == BYTE_ORDER_MARK {
        return Ok(input);
    }
    Ok(BufReader::with_capacity(BUFFER, Box::new(Cursor::new(start).chain(input))))
}

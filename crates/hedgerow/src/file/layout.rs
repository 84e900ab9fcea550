//! Named arrays and texts in one checked file.
//!
//! ```text
//! 8 bytes   length of the header, little-endian
//! header    JSON: names, types, shapes and places of the arrays; texts under "__metadata__"
//! arrays    one after the other, the widest types first, so that each is aligned
//! 4 bytes   CRC-32 of everything before, as the last array ("checksum")
//! ```

use std::io::{self, Write};

use hedgerow_core::{Error, ModelProblem, Result};
use safetensors::{Dtype, SafeTensors};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{FORMAT_VERSION, OLDEST_VERSION, malformed};

/// Bytes from which a model file can be told from others.
pub(super) const LONGEST_START: usize = 64;
/// How every header begins.
const FIRST_WORDS: &str = r#"{"__metadata__":{"format":"hedgerow","#;
const CHECKSUM: &str = "checksum";
const CHECKSUM_BYTES: usize = 4;

/// Hands an array's bytes, little-endian, to a writer.
type Fill<'a> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'a>;

struct Array<'a> {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    fill: Fill<'a>,
}

/// What will be written.
pub(super) struct Plan<'a> {
    texts: Map<String, Value>,
    arrays: Vec<Array<'a>>,
    header: Vec<u8>,
    data_len: u64,
}

impl<'a> Plan<'a> {
    pub(super) fn new(kind: &str) -> Self {
        let texts = [
            ("format", "hedgerow".to_string()),
            ("format_version", FORMAT_VERSION.to_string()),
            ("hedgerow_version", env!("CARGO_PKG_VERSION").to_string()),
            ("kind", kind.to_string()),
        ];
        let texts = texts.into_iter().map(|(k, v)| (k.to_string(), Value::String(v))).collect();
        Self { texts, arrays: Vec::new(), header: Vec::new(), data_len: 0 }
    }

    /// Adds a text that is JSON.
    pub(super) fn json(&mut self, name: &str, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(value).map_err(|wrong| malformed(name, wrong.to_string()))?;
        self.texts.insert(name.to_string(), Value::String(text));
        Ok(())
    }

    /// Adds an array.
    pub(super) fn array(
        &mut self,
        name: impl Into<String>,
        dtype: Dtype,
        shape: Vec<usize>,
        fill: impl Fn(&mut dyn Write) -> io::Result<()> + 'a,
    ) {
        self.arrays.push(Array { name: name.into(), dtype, shape, fill: Box::new(fill) });
    }

    /// Lays the arrays out.
    pub(super) fn finish(mut self) -> Result<Self> {
        // The widest types first, so that each is aligned.
        self.arrays.sort_by_key(|array| std::cmp::Reverse(array.dtype.bitsize()));
        self.array(CHECKSUM, Dtype::U8, vec![CHECKSUM_BYTES], |_| Ok(()));
        let mut header = Map::new();
        header.insert("__metadata__".into(), Value::Object(std::mem::take(&mut self.texts)));
        let mut at = 0_u64;
        for array in &self.arrays {
            let len = array.shape.iter().product::<usize>() as u64 * (array.dtype.bitsize() / 8) as u64;
            header.insert(
                array.name.clone(),
                serde_json::json!({
                    "dtype": array.dtype, "shape": array.shape, "data_offsets": [at, at + len],
                }),
            );
            at += len;
        }
        self.header = serde_json::to_vec(&header).map_err(|wrong| malformed("header", wrong.to_string()))?;
        // Spaces at the end, as the format allows, so that the arrays start at a multiple of 8.
        self.header.resize(self.header.len().next_multiple_of(8), b' ');
        self.data_len = at;
        Ok(self)
    }

    /// Bytes of the file.
    pub(super) fn len(&self) -> u64 {
        8 + self.header.len() as u64 + self.data_len
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = Summing { out, sum: crc32fast::Hasher::new() };
        out.write_all(&(self.header.len() as u64).to_le_bytes())?;
        out.write_all(&self.header)?;
        for array in &self.arrays {
            (array.fill)(&mut out)?;
        }
        let sum = out.sum.finalize();
        out.out.write_all(&sum.to_le_bytes())
    }
}

/// A writer that keeps a checksum of what passes through.
struct Summing<'a> {
    out: &'a mut dyn Write,
    sum: crc32fast::Hasher,
}

impl Write for Summing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.sum.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Fails unless the first bytes of a file are those of a model file.
pub(super) fn check_start(start: &[u8]) -> Result<()> {
    let not_ours = |detail: &str| Err(Error::model(ModelProblem::NotAModel { detail: detail.into() }));
    let words = FIRST_WORDS.as_bytes();
    match start.get(8..) {
        None => not_ours("it is shorter than the shortest model"),
        Some(header) if header.len() < words.len() && words.starts_with(header) => {
            not_ours("it ends within its first words")
        }
        Some(header) if !header.starts_with(words) => not_ours("its first bytes are different"),
        Some(_) => Ok(()),
    }
}

/// A model file whose checksum is right, taken apart.
pub(super) struct Parts<'a> {
    texts: std::collections::HashMap<String, String>,
    tensors: SafeTensors<'a>,
}

impl<'a> Parts<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self> {
        check_start(bytes)?;
        let header_len = u64::from_le_bytes(std::array::from_fn(|i| bytes[i]));
        let got = bytes.len() as u64;
        let expected = header_len.saturating_add(8 + CHECKSUM_BYTES as u64);
        if got < expected {
            return Err(Error::model(ModelProblem::Length { expected, got }));
        }
        check_sum(bytes)?;
        let damaged = |detail: String| malformed("header", detail);
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| damaged(e.to_string()))?;
        let texts = metadata.metadata().clone().unwrap_or_default();
        check_version(texts.get("format_version").map_or("?", String::as_str))?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(e.to_string()))?;
        Ok(Self { texts, tensors })
    }

    /// Whether there is a text of this name.
    pub(super) fn has_text(&self, name: &str) -> bool {
        self.texts.contains_key(name)
    }

    /// Whether there is an array of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.tensor(name).is_ok()
    }

    /// A text.
    pub(super) fn text(&self, name: &str) -> Result<&str> {
        self.texts.get(name).map(String::as_str).ok_or_else(|| malformed(name, "it is missing"))
    }

    /// Rows and columns of an array, which must be a table.
    pub(super) fn sides(&self, name: &str) -> Result<[usize; 2]> {
        let tensor = self.tensors.tensor(name).map_err(|e| malformed(name, e.to_string()))?;
        let shape = tensor.shape();
        <[usize; 2]>::try_from(shape)
            .map_err(|_| malformed(name, format!("expected a table, got the shape {shape:?}")))
    }

    /// The bytes of an array, which must be of a type.
    fn bytes(&self, name: &str, dtype: Dtype) -> Result<&[u8]> {
        let tensor = self.tensors.tensor(name).map_err(|e| malformed(name, e.to_string()))?;
        if tensor.dtype() != dtype {
            return Err(malformed(name, format!("expected {dtype:?}, got {:?}", tensor.dtype())));
        }
        Ok(tensor.data())
    }
}

/// Reads an array of fixed-width numbers.
macro_rules! numbers {
    ($($name:ident: $type:ty = $dtype:expr;)*) => {
        impl Parts<'_> {
            $(
                #[doc = concat!("An array of `", stringify!($type), "`.")]
                pub(super) fn $name(&self, name: &str) -> Result<Vec<$type>> {
                    let bytes = self.bytes(name, $dtype)?;
                    let (whole, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                    Ok(whole.iter().map(|b| <$type>::from_le_bytes(*b)).collect())
                }
            )*
        }
    };
}

numbers! {
    u8s: u8 = Dtype::U8;
    u16s: u16 = Dtype::U16;
    u32s: u32 = Dtype::U32;
    u64s: u64 = Dtype::U64;
    f32s: f32 = Dtype::F32;
    f64s: f64 = Dtype::F64;
}

fn check_sum(bytes: &[u8]) -> Result<()> {
    let (before, sum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
    let expected = u32::from_le_bytes(std::array::from_fn(|i| sum[i]));
    let got = crc32fast::hash(before);
    if expected == got { Ok(()) } else { Err(Error::model(ModelProblem::Checksum { expected, got })) }
}

fn check_version(text: &str) -> Result<()> {
    match text.parse::<u32>() {
        Ok(version) if (OLDEST_VERSION..=FORMAT_VERSION).contains(&version) => Ok(()),
        _ => Err(Error::model(ModelProblem::Version {
            got: text.to_string(),
            oldest: OLDEST_VERSION,
            newest: FORMAT_VERSION,
        })),
    }
}

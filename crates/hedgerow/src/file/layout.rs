//! The text and the arrays of a model in one checked file.
//!
//! ```text
//! 8 bytes   length of the header, little-endian
//! header    JSON: names (numbers), types, shapes and places of the arrays; texts under "__metadata__"
//! arrays    one after the other, the widest types first, so that each is aligned
//! 4 bytes   CRC-32 of everything before, as the last array ("checksum")
//! ```

use std::io::{self, Write};

use hedgerow_core::saved::{ArrayInfo, Dtype, Plan, StoredArray, Values};
use hedgerow_core::{Error, ModelProblem, Result};
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{FORMAT_VERSION, malformed};

/// Bytes from which a model file can be told from others.
pub(super) const LONGEST_START: u64 = 64;
/// How every header begins.
const FIRST_WORDS: &str = r#"{"__metadata__":{"format":"hedgerow","#;
const MODEL: &str = "model";
const CHECKSUM: &str = "checksum";
const CHECKSUM_BYTES: usize = 4;

/// What will be written.
pub(super) struct Layout<'a, M> {
    plan: Plan<'a, M>,
    header: Vec<u8>,
    data_len: u64,
}

impl<'a, M: Serialize> Layout<'a, M> {
    pub(super) fn new(model: &'a M) -> Result<Self> {
        let plan = Plan::new(model)?;
        let texts = json!({
            "format": "hedgerow",
            "format_version": FORMAT_VERSION.to_string(),
            "hedgerow_version": env!("CARGO_PKG_VERSION"),
            MODEL: plan.json(),
        });
        let mut header = Map::from_iter([("__metadata__".to_string(), texts)]);
        let mut at = 0;
        let mut add = |name: String, array: &ArrayInfo| {
            let offsets = [at, at + array.n_bytes()];
            at = offsets[1];
            let place = json!({ "dtype": array.dtype.name(), "shape": array.shape, "data_offsets": offsets });
            header.insert(name, place);
        };
        plan.arrays().into_iter().for_each(|(number, array)| add(number.to_string(), array));
        add(CHECKSUM.into(), &ArrayInfo { dtype: Dtype::U8, shape: vec![CHECKSUM_BYTES] });
        let mut header = Value::Object(header).to_string().into_bytes();
        // Spaces at the end, as the format allows, so that the arrays start at a multiple of 8.
        header.resize(header.len().next_multiple_of(8), b' ');
        Ok(Self { plan, header, data_len: at })
    }

    /// Bytes of the file.
    pub(super) fn len(&self) -> u64 {
        8 + self.header.len() as u64 + self.data_len
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = Summing { out, sum: crc32fast::Hasher::new() };
        out.write_all(&(self.header.len() as u64).to_le_bytes())?;
        out.write_all(&self.header)?;
        self.plan.write(&mut out)?;
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

/// The text and the arrays of a file, after its length, checksum and version were found right.
pub(super) fn open(bytes: &[u8]) -> Result<(String, Vec<StoredArray>)> {
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
    let mut texts = metadata.metadata().clone().unwrap_or_default();
    check_version(texts.get("format_version").map_or("?", String::as_str))?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(e.to_string()))?;
    let tensor = |name: &str| tensors.tensor(name).map_err(|e| malformed(name, e.to_string()));
    tensor(CHECKSUM)?;
    let array = |number: usize| stored(number, &tensor(&number.to_string())?);
    let arrays = (0..tensors.len() - 1).map(array).collect::<Result<_>>()?;
    let text = texts.remove(MODEL).ok_or_else(|| malformed(MODEL, "it is missing"))?;
    Ok((text, arrays))
}

fn stored(number: usize, tensor: &TensorView<'_>) -> Result<StoredArray> {
    let name = format!("{:?}", tensor.dtype());
    let Some(&dtype) = Dtype::ALL.iter().find(|dtype| dtype.name() == name) else {
        let known = Dtype::ALL.map(Dtype::name).join(", ");
        return Err(malformed(&number.to_string(), format!("expected one of {known}, got {name}")));
    };
    Ok(StoredArray { shape: tensor.shape().to_vec(), values: Values::decode(dtype, tensor.data()) })
}

fn check_sum(bytes: &[u8]) -> Result<()> {
    let (before, sum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
    let expected = u32::from_le_bytes(std::array::from_fn(|i| sum[i]));
    let got = crc32fast::hash(before);
    if expected == got { Ok(()) } else { Err(Error::model(ModelProblem::Checksum { expected, got })) }
}

fn check_version(text: &str) -> Result<()> {
    match text.parse::<u32>() {
        Ok(FORMAT_VERSION) => Ok(()),
        _ => Err(Error::model(ModelProblem::Version {
            got: text.to_string(),
            oldest: FORMAT_VERSION,
            newest: FORMAT_VERSION,
        })),
    }
}

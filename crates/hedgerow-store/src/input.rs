//! Where rows came from, so that a file that was read in part can be read on.

use hedgerow_core::{ClassId, Schema};
use ndarray::ArrayView2;
use serde::Serialize;

/// Rows at the beginning of an input by which it is known again.
pub const HEAD_ROWS: usize = 16;

/// An input: a file, say, of which some rows are in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Input {
    /// What is known of its beginning; see [`fingerprint`].
    #[serde(skip)]
    pub fingerprint: String,
    /// Rows at the beginning that the fingerprint is of.
    #[serde(skip)]
    pub head_rows: u64,
    /// What it is called, for messages.
    pub name: String,
    /// Rows of it that are in the store: those to skip when it is read again.
    pub rows: u64,
    /// Whether its end was reached.
    #[serde(rename = "done")]
    pub is_done: bool,
}

/// A short text that differs for inputs that begin differently: column names and the first rows, labels by name.
///
/// It is the FNV-1a hash of all that in 64 bits: enough to notice a wrong file, not to keep out an attacker.
pub fn fingerprint(schema: &Schema, x: ArrayView2<'_, f32>, labels: Option<&[Option<ClassId>]>) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        // The length keeps "ab", "c" apart from "a", "bc".
        for &byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    schema.columns.iter().for_each(|column| add(column.name.as_bytes()));
    for (i, row) in x.rows().into_iter().enumerate() {
        row.iter().for_each(|value| add(&(value + 0.0).to_bits().to_le_bytes()));
        let label = labels.and_then(|labels| labels[i]);
        add(label.map_or("", |class| schema.labels.name(class)).as_bytes());
    }
    format!("{hash:016x}")
}

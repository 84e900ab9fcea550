//! Rows as CSV, fast.

use std::io::Write;

use hedgerow::core::synth::Generator;
use hedgerow::core::{ColumnKind, Schema};

/// Bytes written at once.
const BLOCK: usize = 1 << 16;

/// Writes a header and the next `n_rows` rows, the label in the last column, and behind it the true probabilities of the classes if they are
/// asked for; returns the number of bytes.
pub(super) fn write(
    generator: &mut Generator,
    n_rows: u64,
    with_truth: bool,
    out: &mut dyn Write,
) -> anyhow::Result<u64> {
    let schema = generator.schema();
    let columns = schema.columns.iter().map(|column| words(&column.kind)).collect::<Result<Vec<_>, _>>()?;
    let labels = schema.labels.names().iter().map(|l| field(l)).collect::<Result<Vec<_>, _>>()?;
    let mut block = header(schema, with_truth)?;
    let (mut n_bytes, mut row) = (0, Vec::new());
    for _ in 0..n_rows {
        let class = generator.next_into(&mut row);
        for (&value, words) in row.iter().zip(&columns) {
            // A missing value is an empty field.
            match words.get(value as usize) {
                _ if value.is_nan() => {}
                Some(word) => block.extend_from_slice(word),
                None => number(&mut block, value)?,
            }
            block.push(b',');
        }
        block.extend_from_slice(labels.get(class.index()).map_or(b"", Vec::as_slice));
        for p in generator.probabilities(&row).filter(|_| with_truth).unwrap_or_default() {
            block.push(b',');
            serde_json::to_writer(&mut block, &p)?;
        }
        block.push(b'\n');
        if block.len() >= BLOCK {
            n_bytes += block.len() as u64;
            out.write_all(&block)?;
            block.clear();
        }
    }
    n_bytes += block.len() as u64;
    out.write_all(&block)?;
    out.flush()?;
    Ok(n_bytes)
}

/// The shortest text that reads as the same number again.
fn number(block: &mut Vec<u8>, value: f32) -> serde_json::Result<()> {
    // The JSON writer is several times as fast as the standard library's; whole numbers go without a point.
    if value == value.trunc() && value.abs() < 1e7 {
        serde_json::to_writer(block, &(value as i32))
    } else {
        serde_json::to_writer(block, &value)
    }
}

/// The texts of a column's values 0, 1, … where they are not numbers.
fn words(kind: &ColumnKind) -> csv::Result<Vec<Vec<u8>>> {
    match kind {
        ColumnKind::Numeric => Ok(Vec::new()),
        ColumnKind::Boolean { no, yes } => [no, yes].into_iter().map(|word| field(word)).collect(),
        ColumnKind::Categorical { categories } => categories.iter().map(|word| field(word)).collect(),
    }
}

/// The names of the columns and of the label. Columns without names are called `x0`, `x1`, …, so that they are not taken for data.
fn header(schema: &Schema, with_truth: bool) -> csv::Result<Vec<u8>> {
    let prefix = if schema.named { "" } else { "x" };
    let mut names: Vec<String> = schema.columns.iter().map(|c| format!("{prefix}{}", c.name)).collect();
    let target = schema.target.as_deref().filter(|_| schema.named);
    names.push(target.unwrap_or("class").to_string());
    if with_truth {
        names.extend(schema.labels.names().iter().map(|class| format!("p_{class}")));
    }
    line(&names)
}

/// A text as it is written in a CSV file, with quotes where it needs them.
fn field(text: &str) -> csv::Result<Vec<u8>> {
    let mut bytes = line(&[text])?;
    bytes.pop();
    Ok(bytes)
}

fn line<T: AsRef<[u8]>>(fields: &[T]) -> csv::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(fields)?;
    writer.into_inner().map_err(|error| error.into_error().into())
}

//! The table of `stream --predictions`: every row as it was predicted before it was learnt.

use std::io::Write;
use std::path::PathBuf;

use hedgerow::active::stream::Because;
use hedgerow::core::traits::largest;
use hedgerow::core::{ClassId, Schema, Target, Task, Update};

use crate::commands::{Chunk, open_out};

/// Predictions that are written as they are made.
pub(crate) struct Predictions {
    path: PathBuf,
    /// The table and how many classes have a column; none before the first row.
    out: Option<(csv::Writer<Box<dyn Write>>, usize)>,
}

impl Predictions {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, out: None }
    }

    /// Writes the predictions of rows. Classes that are known when the first row comes have a column each.
    pub(super) fn write(
        &mut self,
        chunk: &Chunk,
        update: &Update,
        queried: Option<&[Option<Because>]>,
        schema: &Schema,
    ) -> anyhow::Result<()> {
        let names = schema.labels.names();
        if self.out.is_none() {
            let mut out = csv::Writer::from_writer(open_out(Some(&self.path))?);
            let fixed: &[&str] = match schema.task() {
                Task::Classification => &["row", "label", "prediction", "probability"],
                Task::Regression => &["row", "value", "prediction", "deviation"],
            };
            let fixed = fixed.iter().map(ToString::to_string);
            let last = queried.map(|_| "queried".into());
            out.write_record(fixed.chain(names.iter().map(|name| format!("p_{name}"))).chain(last))?;
            self.out = Some((out, names.len()));
        }
        let Some((out, n_columns)) = &mut self.out else { return Ok(()) };
        let targets = chunk.targets.view().iter().take(update.n_learnt);
        let mut line = csv::StringRecord::new();
        let rows = update.predictions.rows().into_iter().zip(targets).zip(&chunk.numbers);
        for (i, ((row, target), number)) in rows.enumerate() {
            line.clear();
            line.push_field(&(number - 1).to_string());
            match target {
                Target::Class(label) => {
                    let class = largest(row).unwrap_or(0);
                    line.push_field(schema.labels.name(label));
                    line.push_field(schema.labels.name(ClassId(class as u32)));
                    let of_classes = (0..*n_columns).map(|class| row.get(class));
                    for p in std::iter::once(row.get(class)).chain(of_classes) {
                        line.push_field(&format!("{:.6}", p.copied().unwrap_or(0.0)));
                    }
                }
                Target::Value(value) => {
                    [value, row[0], row[1].sqrt()].iter().for_each(|v| line.push_field(&v.to_string()));
                }
            }
            if let Some(queried) = queried {
                line.push_field(match queried.get(i).copied().flatten() {
                    Some(Because::Uncertain) => "uncertain",
                    Some(Because::Random) => "random",
                    None => "",
                });
            }
            out.write_record(&line)?;
        }
        Ok(out.flush()?)
    }
}

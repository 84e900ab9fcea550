//! Rows in batches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hedgerow_core::{ClassId, DataProblem, Error, Features, Result, Schema};
use ndarray::Array2;

use crate::block::{Block, Cells, Declared, SourceColumn};
use crate::encode::{Encoded, Encoder, Growth};
use crate::format::Format;
use crate::infer::{SAMPLE_ROWS, infer_schema};
use crate::labels::LabelStream;
use crate::open::Place;
use crate::options::{ReadOptions, column_names};
use crate::plan::{Plan, Target};
use crate::source::{self, Source};

/// Some rows of a file, ready for a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The number of the first row, from 0.
    pub first_row: u64,
    /// The features, one row a row; `NaN` is missing.
    pub x: Array2<f32>,
    /// The class of each row where the file has labels; `None` for one that is missing or unknown to the model.
    pub labels: Option<Vec<Option<ClassId>>>,
    /// The number of each row where the file has the target of a regression; `NaN` is missing.
    pub values: Option<Vec<f64>>,
    /// The weight of each row where a weight column was named.
    pub weights: Option<Vec<f32>>,
}

/// Reads a file batch by batch; memory is bounded by the batch.
pub struct RowReader {
    shown: PathBuf,
    format: Format,
    source: Source,
    beside: Option<LabelStream>,
    encoder: Encoder,
    block: Block,
    /// Rows of the block that have been handed out.
    n_used: usize,
    /// Rows handed out or in the block.
    n_read: u64,
    /// Whether the rows before a bad one are handed out before its error, which waits here.
    is_for_learning: bool,
    held: Option<Error>,
}

impl RowReader {
    /// Opens a file whose schema is inferred from its first 1,000 rows. Categories and classes are added as they come.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        Self::start(path, options, None, true)
    }

    /// Opens a file for a model, whose schema the file must fit.
    ///
    /// Columns are matched by name where both sides have names, otherwise by place. A category that the model does not
    /// know counts as missing, a label that it does not know is counted in [`unknown_labels`](Self::unknown_labels).
    pub fn open_with(path: &Path, options: &ReadOptions, schema: &Schema) -> Result<Self> {
        Self::start(path, options, Some(schema), false)
    }

    /// Opens a file for a model that goes on learning, and is [`for_learning`](Self::for_learning): columns are matched as by
    /// [`open_with`](Self::open_with), but labels and categories that the model does not know are added at the end.
    pub fn open_growing(path: &Path, options: &ReadOptions, schema: &Schema) -> Result<Self> {
        Self::start(path, options, Some(schema), true).map(Self::for_learning)
    }

    /// The same reader for a model that learns while it reads. Columns keep their kinds: a third word in a column of yes and no
    /// counts as missing. And a bad row does not take the rows before it with it: they are handed out, and then comes the error.
    #[must_use]
    pub fn for_learning(mut self) -> Self {
        self.encoder.keep_kinds();
        self.is_for_learning = true;
        self
    }

    /// The same reader with classes and categories that are known beforehand: for example those of test data. Only for a reader of
    /// which no row has been taken yet.
    pub fn with_schema(mut self, schema: &Schema) -> Result<Self> {
        self.schema().check_growth(schema)?;
        self.encoder.go_on_with(schema.clone());
        Ok(self)
    }

    /// The format the file is read as.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What the columns and classes are. After [`open`](Self::open) it grows while rows are read.
    pub fn schema(&self) -> &Schema {
        &self.encoder.schema
    }

    /// Labels seen that the model does not know, and how often each came.
    pub fn unknown_labels(&self) -> &BTreeMap<String, u64> {
        &self.encoder.labels.unknown
    }

    /// The next rows, at most `max_rows` (at least 1) and fewer only at the end; `None` after the last.
    pub fn next_batch(&mut self, max_rows: usize) -> Result<Option<Batch>> {
        self.next_batch_impl(max_rows.max(1)).map_err(|e| e.in_file(&self.shown))
    }

    /// Fails unless there are targets; from then on also on a row without one, if each must have one.
    pub(crate) fn require_targets(&mut self, of_each: bool) -> Result<()> {
        if self.encoder.plan.target == Target::Absent {
            let problem = if self.source.wants_label_file {
                DataProblem::NoLabelFile
            } else {
                DataProblem::NoTarget(column_names(&self.source.columns))
            };
            return Err(with_split_hint(problem.into(), &self.source).in_file(&self.shown));
        }
        self.encoder.require_targets = of_each;
        Ok(())
    }

    /// Whether each row must have a target.
    pub(crate) fn requires_targets(&self) -> bool {
        self.encoder.require_targets
    }

    /// The path as it should stand in messages.
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// Adds the next rows, in whatever number is cheapest, to `features` and returns the rest of them; `None` after the last.
    pub(crate) fn next_rows(&mut self, features: &mut Features) -> Result<Option<Encoded>> {
        self.next_rows_impl(features).map_err(|e| e.in_file(&self.shown))
    }

    /// The schema, when all rows have been read.
    pub(crate) fn into_schema(self) -> Schema {
        self.encoder.schema
    }

    /// Reads by the schema of a model, or by one that is inferred; `grows` if classes and categories may be added to it.
    fn start(path: &Path, options: &ReadOptions, model: Option<&Schema>, grows: bool) -> Result<Self> {
        let place = Place::new(path);
        Self::start_impl(&place, options, model, grows).map_err(|e| e.in_file(&place.shown()))
    }

    fn start_impl(place: &Place, options: &ReadOptions, model: Option<&Schema>, grows: bool) -> Result<Self> {
        let format = match options.format {
            Some(format) => format,
            None => Format::of_path(place.path()).ok_or_else(Format::unknown)?.0,
        };
        if let (Some(labels), Some(target)) = (&options.labels, &options.target) {
            let got = format!("both {} and {target}", labels.display());
            return Err(Error::param("labels", "a file of labels or a target column", got));
        }
        let mut source = source::open(place, format, options, model)?;
        let beside = match &options.labels {
            Some(path) => Some(LabelStream::open(path, None)?),
            None => source.labels.take(),
        };
        if let (Some(rows), Some(labels)) = (source.declared_rows, &beside)
            && rows != labels.n_labels()
        {
            let (rows, labels) = (rows as usize, labels.n_labels() as usize);
            return Err(DataProblem::LabelCount { rows, labels }.into());
        }
        let label_name = beside.as_ref().map(|labels| labels.name.as_str()).or(source.label_name);
        let plan = Plan::new(&source, options, label_name, model);
        let plan = plan.map_err(|e| with_split_hint(e, &source))?;
        let mut block = Block::new();
        source.rows.read(SAMPLE_ROWS, &mut block)?;
        if block.n_rows == 0 {
            return Err(DataProblem::Empty.into());
        }
        let mut schema = match model {
            Some(model) => model.clone(),
            None => infer_schema(&source, &plan, options, label_name, &block)?,
        };
        set_image(&mut schema, options)?;
        let growth = |column: &SourceColumn| match column.declared {
            _ if !grows => Growth::Missing,
            Declared::Nominal(_) if model.is_none() => Growth::Refuse,
            _ => Growth::Add,
        };
        let mut encoder = Encoder::new(schema, plan, &source.columns, growth);
        encoder.labels.grow = grows;
        let mut reader = Self {
            shown: place.shown(),
            format,
            source,
            beside,
            encoder,
            block,
            n_used: 0,
            n_read: 0,
            is_for_learning: false,
            held: None,
        };
        reader.finish_block()?;
        Ok(reader)
    }

    fn next_batch_impl(&mut self, max_rows: usize) -> Result<Option<Batch>> {
        if let Some(error) = self.held.take() {
            return Err(error);
        }
        let first_row = self.block.first_row + self.n_used as u64;
        let mut out = Encoded::default();
        while out.n_rows < max_rows && self.held.is_none() {
            match self.add_rows(max_rows - out.n_rows, &mut out) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if out.n_rows > 0 && self.is_for_learning => self.held = Some(error),
                Err(error) => return Err(error),
            }
        }
        if out.n_rows == 0 {
            return Ok(None);
        }
        let shape = (out.n_rows, self.encoder.plan.n_features);
        let (what, expected, got) = ("values in a batch", shape.0 * shape.1, out.x.len());
        let x = Array2::from_shape_vec(shape, out.x).map_err(|_| Error::Shape { what, expected, got })?;
        Ok(Some(Batch { first_row, x, labels: out.labels, values: out.values, weights: out.weights }))
    }

    /// Adds rows of the block, which is filled if it is used up; `false` at the end of the file.
    fn add_rows(&mut self, max_rows: usize, out: &mut Encoded) -> Result<bool> {
        if !self.fill(max_rows)? {
            return Ok(false);
        }
        let rows = self.n_used..self.block.n_rows.min(self.n_used.saturating_add(max_rows));
        self.n_used = rows.end;
        if self.is_for_learning {
            self.encoder.encode_up_to_bad(&self.block, rows, out)?;
        } else {
            self.encoder.encode(&self.block, rows, out)?;
        }
        Ok(true)
    }

    fn next_rows_impl(&mut self, features: &mut Features) -> Result<Option<Encoded>> {
        let width = self.encoder.plan.n_features.max(1);
        // About a million values: few enough to stay in the cache, enough to make the work between blocks vanish.
        if !self.fill(((1 << 20) / width).max(1))? {
            return Ok(None);
        }
        let mut out = Encoded::default();
        let rows = self.n_used..self.block.n_rows;
        self.n_used = rows.end;
        match &self.block.cells {
            Cells::Bytes(values) if self.encoder.takes_numbers() => {
                self.encoder.encode_targets(&self.block, rows.clone(), &mut out)?;
                features.extend_bytes(&values[rows.start * width..rows.end * width]);
            }
            _ => {
                self.encoder.encode(&self.block, rows, &mut out)?;
                out.x.chunks_exact(width).for_each(|row| features.push(row));
            }
        }
        Ok(Some(out))
    }

    /// Makes sure that the block has rows left; `false` at the end of the file.
    fn fill(&mut self, max_rows: usize) -> Result<bool> {
        if self.n_used < self.block.n_rows {
            return Ok(true);
        }
        self.n_used = 0;
        // Should the read fail, the old rows must not come again.
        self.block.n_rows = 0;
        if let Err(error) = self.source.rows.read(max_rows, &mut self.block) {
            if !self.is_for_learning || !self.block.has_rows_before_bad() {
                self.block.n_rows = 0;
                return Err(error);
            }
            self.held = Some(error);
        }
        self.finish_block()?;
        Ok(self.block.n_rows > 0)
    }

    /// Numbers the rows of a fresh block and puts the labels beside them.
    fn finish_block(&mut self) -> Result<()> {
        self.block.first_row = self.n_read;
        self.n_read += self.block.n_rows as u64;
        if let Some(stream) = &mut self.beside {
            let (n_rows, n_left) = (self.block.n_rows, stream.n_left());
            if n_rows as u64 > n_left || (n_rows == 0 && n_left > 0) {
                let (rows, labels) = (self.n_read as usize, stream.n_labels() as usize);
                return Err(DataProblem::LabelCount { rows, labels }.into());
            }
            self.block.labels = Some(stream.read(n_rows)?);
        }
        Ok(())
    }
}

/// An error about columns with how lines were split into fields, where that may be the cause.
fn with_split_hint(error: Error, source: &Source) -> Error {
    match (error, &source.split_hint) {
        (Error::Data(data), Some(hint)) => data.with_hint(hint).into(),
        (error, _) => error,
    }
}

/// Notes the size of the images where the caller has given one.
fn set_image(schema: &mut Schema, options: &ReadOptions) -> Result<()> {
    let Some([height, width]) = options.image else { return Ok(()) };
    if height.checked_mul(width) != Some(schema.n_features()) {
        let expected = format!("height × width to be {}, the number of feature columns", schema.n_features());
        return Err(Error::param("image", expected, format!("{height} × {width}")));
    }
    schema.image = options.image;
    Ok(())
}

//! Rows in batches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hedgerow_core::{ClassId, DataProblem, Error, Result, Schema};
use ndarray::Array2;

use crate::block::{Block, Cells, Declared};
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
    source: Box<dyn Source>,
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

/// The schema that a file is read by.
#[derive(Clone, Copy)]
enum By<'a> {
    /// One inferred from the file.
    Itself,
    /// A model's, which stays as it is.
    Model(&'a Schema),
    /// A model's, to which classes and categories may be added.
    Growing(&'a Schema),
}

impl<'a> By<'a> {
    fn model(self) -> Option<&'a Schema> {
        match self {
            Self::Itself => None,
            Self::Model(schema) | Self::Growing(schema) => Some(schema),
        }
    }
}

/// Rows that the reader hands on: either bytes that need no encoding, or encoded rows.
pub(crate) enum Rows<'a> {
    /// Feature rows as bytes, with the targets and weights.
    Bytes(&'a [u8], Encoded),
    /// Encoded rows.
    Encoded(Encoded),
}

impl RowReader {
    /// Opens a file whose schema is inferred from its first 1,000 rows. Categories and classes are added as they come.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        Self::start(path, options, By::Itself)
    }

    /// Opens a file for a model, whose schema the file must fit.
    ///
    /// Columns are matched by name where both sides have names, otherwise by place. A category that the model does not
    /// know counts as missing, a label that it does not know is counted in [`unknown_labels`](Self::unknown_labels).
    pub fn open_with(path: &Path, options: &ReadOptions, schema: &Schema) -> Result<Self> {
        Self::start(path, options, By::Model(schema))
    }

    /// Opens a file for a model that goes on learning, and is [`for_learning`](Self::for_learning): columns are matched as by
    /// [`open_with`](Self::open_with), but labels and categories that the model does not know are added at the end.
    pub fn open_growing(path: &Path, options: &ReadOptions, schema: &Schema) -> Result<Self> {
        Self::start(path, options, By::Growing(schema)).map(Self::for_learning)
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
        let keeps_labels = schema.labels.names().starts_with(self.schema().labels.names());
        if !keeps_labels || !self.schema().same_columns(schema) {
            let (expected, got) = (self.schema().n_features(), schema.n_features());
            return Err(Error::Shape { what: "columns and classes like the file's", expected, got });
        }
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
        let shown = self.shown.clone();
        self.next_batch_impl(max_rows.max(1)).map_err(|e| e.in_file(&shown))
    }

    /// Fails unless there are targets.
    pub(crate) fn require_targets(&mut self) -> Result<()> {
        if self.encoder.plan.target == Target::Absent {
            let problem = if self.source.wants_label_file() {
                DataProblem::NoLabelFile
            } else {
                DataProblem::NoTarget { available: column_names(self.source.columns()) }
            };
            let error = with_split_hint(problem.into(), &*self.source);
            return Err(error.in_file(&self.shown));
        }
        self.encoder.require_targets = true;
        Ok(())
    }

    /// The path as it should stand in messages.
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// The next rows in whatever number and form is cheapest, for those who put all rows together anyway.
    pub(crate) fn next_rows(&mut self) -> Result<Option<Rows<'_>>> {
        let shown = self.shown.clone();
        self.next_rows_impl().map_err(|e| e.in_file(&shown))
    }

    /// The schema, when all rows have been read.
    pub(crate) fn into_schema(self) -> Schema {
        self.encoder.schema
    }

    fn start(path: &Path, options: &ReadOptions, by: By<'_>) -> Result<Self> {
        let place = Place::new(path);
        let shown = place.shown();
        Self::start_impl(&place, options, by).map_err(|e| e.in_file(&shown))
    }

    fn start_impl(place: &Place, options: &ReadOptions, by: By<'_>) -> Result<Self> {
        let by_name = || Format::of_path(place.path()).map(|(format, _)| format);
        let format = options.format.or_else(by_name).ok_or_else(Format::unknown)?;
        if let (Some(labels), Some(target)) = (&options.labels, &options.target) {
            let got = format!("both {} and {target}", labels.display());
            return Err(Error::param("labels", "a file of labels or a target column", got));
        }
        let mut source = source::open(place, format, options, by.model())?;
        let beside = match &options.labels {
            Some(path) => Some(LabelStream::open(path, None)?),
            None => source.take_labels(),
        };
        if let (Some(rows), Some(labels)) = (source.declared_rows(), &beside)
            && rows != labels.n_labels()
        {
            let (rows, labels) = (rows as usize, labels.n_labels() as usize);
            return Err(DataProblem::LabelCount { rows, labels }.into());
        }
        let label_name = beside.as_ref().map(LabelStream::name).or(source.label_name()).map(String::from);
        let plan = match by.model() {
            Some(model) => Plan::enforce(&*source, options, label_name.as_deref(), model),
            None => Plan::infer(&*source, options, label_name.as_deref()),
        };
        let plan = plan.map_err(|e| with_split_hint(e, &*source))?;
        let mut block = Block::new();
        source.read(SAMPLE_ROWS, &mut block)?;
        if block.n_rows == 0 {
            return Err(DataProblem::Empty.into());
        }
        let mut encoder = match by {
            By::Itself => inferring_encoder(&*source, plan, options, label_name, &block)?,
            By::Model(model) => enforcing_encoder(&*source, plan, model),
            By::Growing(model) => growing_encoder(&*source, plan, model),
        };
        set_image(&mut encoder.schema, options)?;
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
        let mut out = Encoded::default();
        let mut first_row = None;
        while out.n_rows < max_rows && self.held.is_none() {
            match self.add_rows(max_rows, &mut out, &mut first_row) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if out.n_rows > 0 && self.is_for_learning => {
                    self.held = Some(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let Some(first_row) = first_row else { return Ok(None) };
        let n_features = self.encoder.plan.n_features;
        let n_values = out.x.len();
        let x = Array2::from_shape_vec((out.n_rows, n_features), out.x).map_err(|_| Error::Shape {
            what: "values in a batch",
            expected: out.n_rows * n_features,
            got: n_values,
        })?;
        Ok(Some(Batch { first_row, x, labels: out.labels, values: out.values, weights: out.weights }))
    }

    /// Adds rows of the block, which is filled if it is used up; `false` at the end of the file.
    fn add_rows(&mut self, max_rows: usize, out: &mut Encoded, first_row: &mut Option<u64>) -> Result<bool> {
        if !self.fill(max_rows - out.n_rows)? {
            return Ok(false);
        }
        first_row.get_or_insert(self.block.first_row + self.n_used as u64);
        let rows = self.n_used..self.block.n_rows.min(self.n_used.saturating_add(max_rows - out.n_rows));
        self.n_used = rows.end;
        if self.is_for_learning {
            self.encoder.encode_up_to_bad(&self.block, rows, out)?;
        } else {
            self.encoder.encode(&self.block, rows, out)?;
        }
        Ok(true)
    }

    fn next_rows_impl(&mut self) -> Result<Option<Rows<'_>>> {
        // About a million values: few enough to stay in the cache, enough to make the work between blocks vanish.
        let max_rows = (1 << 20) / self.encoder.plan.n_features.max(1);
        if !self.fill(max_rows.max(1))? {
            return Ok(None);
        }
        let mut out = Encoded::default();
        let rows = self.n_used..self.block.n_rows;
        self.n_used = self.block.n_rows;
        if let Cells::Bytes(values) = &self.block.cells
            && self.encoder.takes_numbers()
        {
            self.encoder.encode_targets(&self.block, rows.clone(), &mut out)?;
            out.n_rows = rows.len();
            let width = self.encoder.plan.n_features;
            return Ok(Some(Rows::Bytes(&values[rows.start * width..rows.end * width], out)));
        }
        self.encoder.encode(&self.block, rows, &mut out)?;
        Ok(Some(Rows::Encoded(out)))
    }

    /// Makes sure that the block has rows left; `false` at the end of the file.
    fn fill(&mut self, max_rows: usize) -> Result<bool> {
        if self.n_used < self.block.n_rows {
            return Ok(true);
        }
        self.n_used = 0;
        // Should the read fail, the old rows must not come again.
        self.block.n_rows = 0;
        if let Err(error) = self.source.read(max_rows, &mut self.block) {
            if !self.is_for_learning || !self.block.is_whole(self.source.columns().len()) {
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
            let is_end = self.block.n_rows == 0;
            let labels = stream.read(if is_end { 1 } else { self.block.n_rows })?;
            if labels.len() != self.block.n_rows {
                let rows = if is_end { self.n_read } else { self.n_read.max(stream.n_labels() + 1) };
                let n_labels = stream.n_labels() as usize;
                return Err(DataProblem::LabelCount { rows: rows as usize, labels: n_labels }.into());
            }
            self.block.labels = Some(labels);
        }
        Ok(())
    }
}

/// An error about columns with how lines were split into fields, where that may be the cause.
fn with_split_hint(error: Error, source: &dyn Source) -> Error {
    match (error, source.split_hint()) {
        (Error::Data(data), Some(hint)) => data.with_hint(hint).into(),
        (error, _) => error,
    }
}

fn enforcing_encoder(source: &dyn Source, plan: Plan, model: &Schema) -> Encoder {
    let growth = vec![Growth::Missing; model.n_features()];
    Encoder::new(model.clone(), plan, source.columns(), &growth)
}

fn growing_encoder(source: &dyn Source, plan: Plan, model: &Schema) -> Encoder {
    let growth = vec![Growth::Add; model.n_features()];
    let mut encoder = Encoder::new(model.clone(), plan, source.columns(), &growth);
    encoder.labels.grow = true;
    encoder
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

fn inferring_encoder(
    source: &dyn Source,
    plan: Plan,
    options: &ReadOptions,
    label_name: Option<String>,
    sample: &Block,
) -> Result<Encoder> {
    let columns = source.columns();
    let mut schema = infer_schema(columns, source.is_named(), &plan, options, sample)?;
    schema.task = options.task;
    schema.target = match plan.target {
        Target::Absent => None,
        Target::Column(i) => Some(columns[i].name.clone()),
        Target::Beside => label_name,
    };
    schema.image = source.image().filter(|_| plan.is_identity());
    let growth: Vec<Growth> = columns
        .iter()
        .zip(&plan.roles)
        .filter(|(_, role)| matches!(role, crate::plan::Role::Feature(_)))
        .map(|(c, _)| if matches!(c.declared, Declared::Nominal(_)) { Growth::Refuse } else { Growth::Add })
        .collect();
    let mut encoder = Encoder::new(schema, plan, columns, &growth);
    encoder.labels.grow = true;
    Ok(encoder)
}

//! The rows to choose from, with the labels that are known.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use hedgerow::active::Pool;
use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::{ClassId, Features, Schema, Task};
use hedgerow::io::{ReadOptions, RowReader, sort_classes};
use hedgerow::{Kind, Model, is_model_file};

use super::settings::Settings;
use crate::args::{QueryArgs, QueryModel};
use crate::commands::{Table, note_dates};
use crate::output;

/// Rows that a model has learnt of which so many are looked at.
const MOST_LEARNT: usize = 5_000;

/// Where rows and labels come from.
pub(super) struct Source {
    /// The model that asks, if it was trained before.
    pub(super) model: Option<Model>,
    model_file: Option<PathBuf>,
    /// The kind of model that is trained otherwise.
    pub(super) kind: Kind,
    pool: PathBuf,
    labelled: Option<PathBuf>,
}

impl Source {
    /// As it was typed; reads the model.
    pub(super) fn of(args: &QueryArgs) -> anyhow::Result<Self> {
        let (first, pool) = match &args.files[..] {
            [model, pool] => (Some(model), pool),
            [pool] => (None, pool),
            _ => bail!("expected rows to choose from"),
        };
        let (model_file, kind) = match (first, &args.model) {
            (Some(_), Some(_)) => bail!("--model: a model file was given already, before the rows"),
            (Some(file), None) | (None, Some(QueryModel::File(file))) => {
                (Some(file.clone()), Kind::default())
            }
            (None, Some(QueryModel::Kind(kind))) => (None, *kind),
            (None, None) => (None, Kind::default()),
        };
        if model_file.is_none() && pool.as_os_str() != "-" && is_model_file(pool) {
            bail!("{}: this is a model; expected rows to choose from behind it", pool.display());
        }
        if model_file.is_some() && args.labelled.is_some() {
            bail!(
                "--labelled is for a model that is trained now; `hedgerow update` has a model learn these rows first"
            );
        }
        let model = model_file.as_ref().map(Model::load).transpose()?;
        if let (Some(model), Some(file)) = (&model, &model_file) {
            model.classifier().with_context(|| file.display().to_string())?;
        }
        let kind = model.as_ref().map_or(kind, Model::kind);
        Ok(Self { model, model_file, kind, pool: pool.clone(), labelled: args.labelled.clone() })
    }

    /// All files that are read.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let others = self.model_file.iter().chain(&self.labelled);
        std::iter::once(&self.pool).chain(others).map(PathBuf::as_path)
    }
}

/// Rows to choose from, before other rows with labels.
pub(super) struct PoolRows {
    pub(super) pool: Pool,
    /// How many of them can be chosen from.
    pub(super) n_rows: usize,
    /// Whether the labels are those that the model has learnt or will learn.
    pub(super) knows_labels: bool,
}

impl PoolRows {
    /// Reads all rows.
    pub(super) fn read(
        source: &Source,
        args: &QueryArgs,
        settings: &Settings,
        room: Option<u64>,
    ) -> anyhow::Result<Self> {
        let options = ReadOptions { task: Task::Classification, ..args.data_args.options() };
        let seed = settings.query.get().seed;
        if let Some(model) = &source.model {
            let table = Table::read(RowReader::open_with(&source.pool, &options, model.schema())?, room)?;
            return Self::of_model(model, table, seed);
        }
        let Some(labelled) = &source.labelled else {
            let table = Table::read(RowReader::open(&source.pool, &options)?, room)?;
            note_dates(&table.schema, &options);
            if table.labels.is_none() {
                output::note(
                    "no --target was given: every column is taken for a feature, and no row has a label",
                );
            }
            return Self::new(table, None, seed).with_context(|| source.pool.display().to_string());
        };
        let labelled = Table::read(RowReader::open(labelled, &options)?, room)?;
        note_dates(&labelled.schema, &options);
        // The column of the labels is found by its name, if it is there.
        let options = ReadOptions { target: None, ..options };
        let table = Table::read(RowReader::open_growing(&source.pool, &options, &labelled.schema)?, room)?;
        Self::new(table, Some(labelled), seed).with_context(|| source.pool.display().to_string())
    }

    /// Rows with labels, and others that have labels only.
    fn new(table: Table, labelled: Option<Table>, seed: u64) -> anyhow::Result<Self> {
        let Table { mut schema, mut features, labels } = table;
        let n_rows = features.n_rows();
        let mut labels = labels.unwrap_or_else(|| vec![None; n_rows]);
        if let Some(Table { features: more, labels: known, .. }) = labelled {
            features.extend(more.to_array(0..more.n_rows()).view());
            labels.extend(known.unwrap_or_else(|| vec![None; more.n_rows()]));
            if let Some(row) = labels[n_rows..].iter().position(Option::is_none) {
                bail!("row {} of the labelled rows has no label", row + 1);
            }
        }
        let n_labels = labels.iter().flatten().count();
        sort_classes(&mut schema, labels.iter_mut().flatten(), n_labels)?;
        Ok(Self { pool: pool(schema, features, &labels, seed)?, n_rows, knows_labels: true })
    }

    /// Rows with those that a model has learnt, as far as it retains them.
    fn of_model(model: &Model, table: Table, seed: u64) -> anyhow::Result<Self> {
        let Table { mut features, labels, .. } = table;
        let n_rows = features.n_rows();
        let mut labels = labels.unwrap_or_else(|| vec![None; n_rows]);
        let retained = model.retained_rows()?;
        let n_learnt = model.n_seen().unwrap_or(u64::MAX);
        let mut knows_labels = false;
        if let Some(data) = retained {
            let mut rows: Vec<usize> = (0..data.n_rows()).collect();
            knows_labels = rows.len() <= MOST_LEARNT && rows.len() as u64 == n_learnt;
            if rows.len() > MOST_LEARNT {
                Rng::new(seed, Purpose::Query, 1 << 40).shuffle(&mut rows);
                rows.truncate(MOST_LEARNT);
            }
            let data = data.select(&rows);
            features.extend(data.features.to_array(0..data.n_rows()).view());
            labels.extend(data.labels().iter().copied().map(Some));
        }
        Ok(Self { pool: pool(model.schema().clone(), features, &labels, seed)?, n_rows, knows_labels })
    }
}

/// A pool whose labels have come in random order: how files order their rows tells nothing of when these were labelled.
fn pool(
    schema: Schema,
    features: Features,
    labels: &[Option<ClassId>],
    seed: u64,
) -> hedgerow::core::Result<Pool> {
    let mut pool = Pool::new(schema, features, vec![None; labels.len()])?;
    let mut rows: Vec<(usize, ClassId)> =
        labels.iter().enumerate().filter_map(|(row, label)| label.map(|class| (row, class))).collect();
    Rng::new(seed, Purpose::Query, (1 << 40) + 1).shuffle(&mut rows);
    rows.into_iter().try_for_each(|(row, class)| pool.set_label(row, class))?;
    Ok(pool)
}

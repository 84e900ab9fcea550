//! A learner of a store, as `stream` and `train` find it or begin it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use hedgerow::core::{Error, Result, Schema};
use hedgerow::io::RowReader;
use hedgerow::store::{Options, Store};
use hedgerow::{Kind, Model, ModelParams};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::commands::learning::{Config, Cut};
use crate::commands::params;
use crate::output;

/// The kind of model, the settings and the seed as they were given.
pub(crate) type Given<'a> = (Option<Kind>, &'a [(String, String)], Option<u64>);

/// What was found in a folder: a store and how the learner was begun, where they are there already.
pub(crate) struct Found<'a> {
    dir: &'a Path,
    learner: &'a str,
    store: Option<Store>,
    pub(crate) begun: Option<Config>,
}

impl<'a> Found<'a> {
    pub(crate) fn open(dir: &'a Path, learner: &'a str) -> anyhow::Result<Self> {
        let store = Store::is_there(dir).then(|| Store::open(dir, &Options::default())).transpose()?;
        store.iter().flat_map(Store::notes).for_each(|note| output::note(note));
        let learners = store.as_ref().map_or_else(|| Ok(Vec::new()), Store::learners)?;
        let known = learners.into_iter().find(|known| known.name == learner && !known.config.is_empty());
        let begun = known.map(|known| Config::read(&known.config)).transpose()?;
        Ok(Self { dir, learner, store, begun })
    }

    pub(crate) fn schema(&self) -> Option<Arc<Schema>> {
        self.store.as_ref().map(Store::schema)
    }

    /// How to learn: as the learner was begun, which what is given must not contradict; or, for a new one, as is given.
    pub(crate) fn settings(
        &self,
        (model, settings, seed): Given<'_>,
        cut: Cut,
        max_memory: Option<u64>,
    ) -> anyhow::Result<(Config, ModelParams)> {
        let Some(begun) = &self.begun else {
            let params = params(model.unwrap_or_default(), settings, seed)?;
            return Ok((Config::new(&params, (settings, seed), cut, max_memory), params));
        };
        let kind: Kind =
            begun.model.parse().ok().with_context(|| format!("unknown kind {:?}", begun.model))?;
        let kept = params(kind, &begun.settings, begun.seed)?;
        let is_plain = model.is_none() && settings.is_empty() && seed.is_none();
        let given = if is_plain { kept.clone() } else { params(model.unwrap_or(kind), settings, seed)? };
        let now = Config {
            from: begun.from.clone(),
            bytes: begun.bytes,
            delay: begun.delay,
            ..Config::new(&given, (&begun.settings, begun.seed), cut, max_memory.or(begun.max_memory))
        };
        begun.check_same(self.learner, &now)?;
        Ok((now, kept))
    }

    /// The data to read: what was named, or the input that the store was being filled with.
    pub(crate) fn input(&self, given: Option<&Path>) -> anyhow::Result<Option<PathBuf>> {
        let (None, Some(store)) = (given, &self.store) else { return Ok(given.map(Path::to_path_buf)) };
        let Some(input) = store.inputs()?.into_iter().rfind(|input| !input.is_done) else { return Ok(None) };
        let name = &input.name;
        if Path::new(name).is_file() {
            output::note(&format!("going on with {name} after row {}", output::count(input.rows)));
            return Ok(Some(name.into()));
        }
        output::note(&format!(
            "{name} was not read to its end and is not here; only what is stored is learnt"
        ));
        Ok(None)
    }

    /// The learner in the store that was found, or in a new one for the rows of an input.
    pub(crate) fn or_new(self, reader: Option<&RowReader>) -> anyhow::Result<Learner> {
        let dir = self.dir.display();
        let store = match (self.store, reader) {
            (Some(store), None) if store.n_rows() == 0 => {
                bail!("{dir}: there are no rows in the store yet; give the data to fill it with")
            }
            (Some(store), _) => store,
            (None, Some(reader)) => Store::create(self.dir, reader.schema(), &Options::default())?,
            (None, None) => bail!("{dir}: there is no store yet; give the data to fill it with"),
        };
        Ok(Learner { store, dir: self.dir.to_path_buf(), name: self.learner.to_string() })
    }
}

/// A learner by its name in a store.
pub(crate) struct Learner {
    pub(crate) store: Store,
    dir: PathBuf,
    name: String,
}

/// What is told about the store that rows were kept in.
#[derive(Debug, Serialize)]
pub(crate) struct StoreFacts {
    pub(crate) dir: PathBuf,
    pub(crate) learner: String,
    pub(crate) rows: u64,
    pub(crate) events: u64,
    /// The place in the log from which on events were learnt in this run.
    pub(crate) resumed_at: u64,
}

impl Learner {
    /// Keeps how it was begun.
    pub(crate) fn note(&self, config: &Config) -> Result<()> {
        self.store.set_learner(&self.name, &to_json(config)?)
    }

    /// Saves its model after so many events, with what is known beside it.
    pub(crate) fn save(&self, cursor: u64, state: &impl Serialize, model: &Model) -> Result<u64> {
        self.store.save_checkpoint(&self.name, cursor, &to_json(state)?, |out| {
            model.write(out).map_err(|error| match error {
                Error::Io { source, .. } => source,
                other => io::Error::other(other),
            })
        })
    }

    /// Its newest checkpoint that can be used: the place in the log, the model, and what was kept beside it.
    pub(crate) fn restore<S: DeserializeOwned>(&self) -> anyhow::Result<Option<(u64, Model, S)>> {
        loop {
            let restored = self.store.load_checkpoint(&self.name)?;
            restored.warnings.iter().for_each(|warning| output::note(&format!("warning: {warning}")));
            let Some(checkpoint) = restored.checkpoint else {
                if !restored.warnings.is_empty() {
                    output::note("warning: no checkpoint is left; everything is learnt again from the store");
                }
                return Ok(None);
            };
            let cursor = checkpoint.cursor;
            let state = serde_json::from_str(&checkpoint.state).map_err(anyhow::Error::from);
            let model = Model::from_bytes(&checkpoint.model).map_err(anyhow::Error::from);
            match model.and_then(|model| Ok((cursor, model, state?))) {
                Ok(found) => return Ok(Some(found)),
                Err(error) => {
                    let what = format!("the checkpoint at event {cursor} cannot be used");
                    output::note(&format!("warning: {what} ({})", output::with_causes(&error)));
                    self.store.drop_checkpoint(&self.name, cursor)?;
                }
            }
        }
    }

    /// How it stands, having gone on from some place.
    pub(crate) fn facts(&self, resumed_at: u64) -> StoreFacts {
        let (dir, learner) = (self.dir.clone(), self.name.clone());
        StoreFacts { dir, learner, rows: self.store.n_rows(), events: self.store.end(), resumed_at }
    }
}

fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::io("the store", io::Error::other(error)))
}

//! `train --store`: rows are kept before they are learnt; the engine observes the store, and goes on from the model it left there.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::Context as _;
use hedgerow::core::{Error, Quality};
use hedgerow::engine::{Earlier, EngineOptions, Finished, Observed};
use hedgerow::store::{Options, Store};
use hedgerow::{Engine, Kind, Model, ModelParams};
use serde::{Deserialize, Serialize};

use crate::args::TrainArgs;
use crate::commands::learning::{Config, Cut, Reading, StoreFacts, write_model};
use crate::commands::params;
use crate::commands::store::stream::{begun, found_or_new, input, open};
use crate::output;

/// What is kept beside a model.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CheckpointState {
    pub(super) validation: Option<Quality>,
}

/// A store that rows are kept in, with the learner that learns them.
pub(super) struct Kept {
    pub(super) params: ModelParams,
    store: Store,
    dir: PathBuf,
    learner: String,
    config: Config,
    reading: Option<Reading>,
    supply: Option<Supply>,
    resumed_at: u64,
}

/// Where the models of a learner are kept in a store.
pub(super) struct Shelf {
    store: Store,
    learner: String,
}

impl Shelf {
    /// Keeps a model after so many events, with what is known about it.
    pub(super) fn keep(&self, model: &Model, state: &CheckpointState, cursor: u64) -> anyhow::Result<()> {
        let state = serde_json::to_string(state)?;
        self.store.save_checkpoint(&self.learner, cursor, &state, |out| write_model(model, out))?;
        Ok(())
    }
}

/// A thread that reads an input into the store.
struct Supply {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), Error>>,
}

impl Kept {
    /// Opens the store in a folder, or makes one for the data that are given.
    pub(super) fn open(args: &TrainArgs, dir: &Path) -> anyhow::Result<Self> {
        let found = Store::is_there(dir).then(|| Store::open(dir, &Options::default())).transpose()?;
        found.iter().flat_map(Store::notes).for_each(|note| output::note(note));
        let before = found.as_ref().map(|store| begun(store, &args.learner)).transpose()?.flatten();
        let (config, params) = settings(args, before.as_ref())?;
        let data = input(args.data.as_deref(), found.as_ref())?;
        let known = found.as_ref().map(Store::schema);
        let reader = data.as_deref().map(|path| open(&args.data_args, path, known.as_deref())).transpose()?;
        let store = found_or_new(dir, found, reader.as_ref())?;
        let reading = reader.zip(data).map(|(reader, path)| Reading::new(reader, &path));
        let (dir, learner) = (dir.to_path_buf(), args.learner.clone());
        Ok(Self { params, store, dir, learner, config, reading, supply: None, resumed_at: 0 })
    }

    /// Starts an engine that observes the store, and reads the input into it meanwhile. With an end in rounds the input is read first, so that all rows are there in the first.
    pub(super) fn start(&mut self, options: &EngineOptions) -> anyhow::Result<Engine> {
        let config = serde_json::to_string(&self.config)?;
        self.store.set_learner(&self.learner, &config)?;
        if options.budget.rounds.is_some()
            && let Some(mut reading) = self.reading.take()
        {
            while options.budget.spent().is_none() && reading.append(&self.store)? {}
        }
        let schema = self.store.first_schema();
        let engine = match self.earlier()? {
            Some((cursor, earlier)) => {
                self.resumed_at = cursor;
                Engine::start_from(schema, &self.params, options, earlier)?
            }
            None => Engine::start(schema, &self.params, options)?,
        };
        engine.observe(&self.store)?;
        if let Some(mut reading) = self.reading.take() {
            let (store, budget) = (self.store.clone(), options.budget.clone());
            let is_over = Arc::new(AtomicBool::new(false));
            let told = Arc::clone(&is_over);
            let thread = std::thread::spawn(move || {
                let mut read = || {
                    while budget.spent().is_none() && reading.append(&store)? {}
                    Ok(())
                };
                let outcome = read();
                told.store(true, Ordering::Release);
                outcome
            });
            self.supply = Some(Supply { is_over, thread });
        }
        Ok(engine)
    }

    /// Where models are kept.
    pub(super) fn shelf(&self) -> Shelf {
        Shelf { store: self.store.clone(), learner: self.learner.clone() }
    }

    /// Whether rows are still being read.
    pub(super) fn is_reading(&self) -> bool {
        self.supply.as_ref().is_some_and(|supply| !supply.is_over.load(Ordering::Acquire))
    }

    /// The model that an earlier run has left, if it can be used.
    fn earlier(&self) -> anyhow::Result<Option<(u64, Earlier)>> {
        let restored = self.store.load_checkpoint(&self.learner)?;
        restored.warnings.iter().for_each(|warning| output::note(&format!("warning: {warning}")));
        let Some(checkpoint) = restored.checkpoint else { return Ok(None) };
        let state = serde_json::from_str::<CheckpointState>(&checkpoint.state).map_err(anyhow::Error::from);
        let model = Model::from_bytes(&checkpoint.model).map_err(anyhow::Error::from);
        match model.and_then(|model| Ok((model, state?))) {
            Ok((model, CheckpointState { validation })) => {
                Ok(Some((checkpoint.cursor, Earlier { model, validation })))
            }
            Err(error) => {
                output::note(&format!(
                    "warning: the model in the store cannot be used ({})",
                    output::with_causes(&error)
                ));
                Ok(None)
            }
        }
    }

    /// Leaves the model in the store for the next run. Returns what is told about the store, and what went wrong with the input.
    pub(super) fn leave(
        mut self,
        finished: &Finished,
        observed: &Observed,
    ) -> anyhow::Result<(StoreFacts, Option<anyhow::Error>)> {
        let is_reading = self.is_reading();
        // A thread that waits on a silent pipe is not waited for.
        let outcome = self.supply.take().filter(|_| !is_reading).map(|supply| supply.thread.join());
        let problem = match outcome {
            Some(Ok(Err(error))) => Some(error.into()),
            Some(Err(_)) => Some(anyhow::anyhow!("reading the input failed")),
            _ => observed.problem.clone().map(anyhow::Error::msg),
        };
        if finished.model.n_retained().is_some_and(|n| n > 0) {
            let state = CheckpointState { validation: finished.validation.clone() };
            self.shelf().keep(&finished.model, &state, observed.cursor)?;
        }
        let facts = StoreFacts {
            rows: self.store.n_rows(),
            events: self.store.end(),
            dir: self.dir,
            learner: self.learner,
            resumed_at: self.resumed_at,
        };
        Ok((facts, problem))
    }
}

/// How to learn: as the learner was begun, which what is asked for must not contradict; or, for a new one, as is asked for.
fn settings(args: &TrainArgs, before: Option<&Config>) -> anyhow::Result<(Config, ModelParams)> {
    let is_plain = args.model.is_none() && args.settings.is_empty() && args.seed.is_none();
    let asked = |kind: Kind| params(kind, &args.settings, args.seed);
    // Slices know no windows.
    let config = |params: &ModelParams, given| Config::new(params, given, Cut::Windows(0), None);
    let Some(before) = before else {
        let params = asked(args.model.unwrap_or_default())?;
        return Ok((config(&params, (&args.settings, args.seed)), params));
    };
    let kind: Kind = before.model.parse().ok().with_context(|| format!("unknown kind {:?}", before.model))?;
    let kept = params(kind, &before.settings, before.seed)?;
    let now = if is_plain { kept.clone() } else { asked(args.model.unwrap_or(kind))? };
    before.check_same(&args.learner, &config(&now, (&before.settings, before.seed)))?;
    Ok((before.clone(), kept))
}

//! `train --store`: rows are kept before they are learnt; the engine observes the store, and goes on from the model it left there.

use std::path::Path;
use std::thread::JoinHandle;

use hedgerow::core::{Budget, Error, Quality};
use hedgerow::engine::{Earlier, EngineOptions, Finished, Observed};
use hedgerow::store::Store;
use hedgerow::{Engine, ModelParams};
use serde::{Deserialize, Serialize};

use crate::args::TrainArgs;
use crate::commands::learning::{Config, Cut, Reading};
use crate::commands::open_to_learn;
use crate::commands::store::learner::{Found, Learner, StoreFacts};

/// What is kept beside a model.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CheckpointState {
    pub(super) validation: Option<Quality>,
}

/// A store that rows are kept in, with the learner that learns them.
pub(super) struct StoredRows {
    pub(super) params: ModelParams,
    pub(super) learner: Learner,
    config: Config,
    reading: Option<Reading>,
    /// The thread that reads the input into the store.
    supply: Option<JoinHandle<Result<(), Error>>>,
    resumed_at: u64,
}

impl StoredRows {
    /// Opens the store in a folder, or makes one for the data that are given.
    pub(super) fn open(args: &TrainArgs, dir: &Path) -> anyhow::Result<Self> {
        let found = Found::open(dir, &args.learner)?;
        // Slices know no windows.
        let given = (args.model, args.settings.as_slice(), args.seed);
        let (config, params) = found.settings(given, Cut::Windows(0), None)?;
        let (known, data) = (found.schema(), found.input(args.data.as_deref())?);
        let open = |path| open_to_learn(path, &args.common.data.options(), known.as_deref());
        let reader = data.as_deref().map(open).transpose()?;
        let (learner, reading) = (found.or_new(reader.as_ref())?, reader.map(Reading::new));
        Ok(Self { params, learner, config, reading, supply: None, resumed_at: 0 })
    }

    /// Starts an engine that observes the store, and reads the input into it meanwhile. With an end in rounds the input is read first, so that all rows are there in the first.
    pub(super) fn start(&mut self, options: &EngineOptions) -> anyhow::Result<Engine> {
        let store = &self.learner.store;
        self.learner.note(&self.config)?;
        if options.budget.rounds.is_some()
            && let Some(reading) = self.reading.take()
        {
            read_all(reading, store, &options.budget)?;
        }
        let schema = store.first_schema();
        let engine = match self.learner.restore()? {
            Some((cursor, model, CheckpointState { validation })) => {
                self.resumed_at = cursor;
                Engine::start_from(schema, &self.params, options, Earlier { model, validation })?
            }
            None => Engine::start(schema, &self.params, options)?,
        };
        engine.observe(store)?;
        self.supply = self.reading.take().map(|reading| {
            let (store, budget) = (store.clone(), options.budget.clone());
            std::thread::spawn(move || read_all(reading, &store, &budget))
        });
        Ok(engine)
    }

    /// Whether rows are still being read.
    pub(super) fn is_reading(&self) -> bool {
        self.supply.as_ref().is_some_and(|supply| !supply.is_finished())
    }

    /// Leaves the model in the store for the next run. Returns what is told about the store, and what went wrong with the input.
    pub(super) fn leave(
        mut self,
        finished: &Finished,
        observed: &Observed,
    ) -> anyhow::Result<(StoreFacts, Option<anyhow::Error>)> {
        let is_reading = self.is_reading();
        // A thread that waits on a silent pipe is not waited for.
        let outcome = self.supply.take().filter(|_| !is_reading).map(JoinHandle::join);
        let problem = match outcome {
            Some(Ok(Err(error))) => Some(error.into()),
            Some(Err(_)) => Some(anyhow::anyhow!("reading the input failed")),
            _ => observed.problem.clone().map(anyhow::Error::msg),
        };
        if finished.model.n_seen().is_some_and(|n| n > 0) {
            let state = CheckpointState { validation: finished.validation.clone() };
            self.learner.save(observed.cursor, &state, &finished.model)?;
        }
        Ok((self.learner.facts(self.resumed_at), problem))
    }
}

/// Reads an input into a store, to its end or to that of the budget.
fn read_all(mut reading: Reading, store: &Store, budget: &Budget) -> Result<(), Error> {
    while budget.spent().is_none() && reading.append(store)? {}
    Ok(())
}

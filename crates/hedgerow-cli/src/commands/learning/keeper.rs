//! Keeping a model and its stream in a store, so that nothing learnt is lost for long.

use hedgerow::ModelParams;
use hedgerow::core::{Error, Result, StoreProblem};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Cut, StreamRun};
use crate::commands::store::learner::{Learner, StoreFacts};

/// How a learner was begun. It must go on in the same way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Config {
    /// The kind of model, `--set` and `--seed` as they were given.
    pub(crate) model: String,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) seed: Option<u64>,
    /// The parameters that came of it.
    pub(crate) params: Value,
    /// The model it began with, and a checksum of its file.
    pub(crate) from: Option<(String, u32)>,
    pub(crate) cut: Cut,
    pub(crate) max_memory: Option<u64>,
    /// What the limit left for the learner.
    pub(crate) bytes: Option<u64>,
    /// Rows that come before the label of one does.
    #[serde(default)]
    pub(crate) delay: usize,
}

impl Config {
    /// How a learner is begun now.
    pub(crate) fn new(
        params: &ModelParams,
        (settings, seed): (&[(String, String)], Option<u64>),
        cut: Cut,
        max_memory: Option<u64>,
    ) -> Self {
        Self {
            model: params.kind().to_string(),
            settings: settings.to_vec(),
            seed,
            params: serde_json::to_value(params).unwrap_or_default(),
            from: None,
            cut,
            max_memory,
            bytes: None,
            delay: 0,
        }
    }

    /// What is kept of a learner in a store.
    pub(crate) fn read(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| {
            let detail = format!("the settings of a learner: {error}");
            Error::store(StoreProblem::Damaged(detail))
        })
    }

    /// Fails, with the first setting that differs, unless another config is the same.
    pub(crate) fn check_same(&self, name: &str, now: &Self) -> Result<()> {
        let of = |config: &Self| {
            let cut = serde_json::to_value(config.cut).unwrap_or_default();
            let from = config.from.as_ref().map(|from| format!("checksum {:08x}", from.1));
            serde_json::json!({
                "--model": config.model, "--set": config.params, "--from": from, "batches": cut,
                "--max-memory": config.max_memory, "--delay": config.delay,
            })
        };
        match difference("", &of(self), &of(now)) {
            None => Ok(()),
            Some((what, expected, got)) => {
                Err(Error::store(StoreProblem::Learner { name: name.to_string(), what, expected, got }))
            }
        }
    }
}

/// The first place where two values differ, and what is there in each.
fn difference(place: &str, a: &Value, b: &Value) -> Option<(String, String, String)> {
    if let (Value::Object(a), Value::Object(b)) = (a, b) {
        let name = |key: &str| if place.is_empty() { key.to_string() } else { format!("{place} {key}") };
        return a
            .iter()
            .find_map(|(key, value)| difference(&name(key), value, b.get(key).unwrap_or(&Value::Null)));
    }
    (a != b).then(|| (place.to_string(), a.to_string(), b.to_string()))
}

/// Saves the model of a stream in a store every so many events.
pub(crate) struct Keeper {
    learner: Learner,
    every: u64,
    config: Config,
    kept_at: Option<u64>,
    resumed_at: u64,
}

impl Keeper {
    /// A keeper for a learner that was found at a checkpoint, or at the beginning.
    pub(crate) fn new(learner: Learner, every: u64, config: Config, at: Option<u64>) -> Result<Self> {
        learner.note(&config)?;
        Ok(Self { learner, every, config, kept_at: at, resumed_at: at.unwrap_or(0) })
    }

    pub(super) fn note_bytes(&mut self, bytes: u64) -> Result<()> {
        self.config.bytes = Some(bytes);
        self.learner.note(&self.config)
    }

    pub(super) fn facts(&self) -> StoreFacts {
        self.learner.facts(self.resumed_at)
    }

    /// Saves the stream if it is time, or if it is the end and something was learnt since.
    pub(super) fn keep(&mut self, stream: &mut StreamRun<'_>, is_end: bool) -> Result<()> {
        let new = stream.cursor - self.kept_at.unwrap_or(0);
        if new < self.every && !(is_end && (new > 0 || self.kept_at.is_none())) {
            return Ok(());
        }
        // Otherwise saving would put a copy in order.
        stream.model.put_in_order();
        self.learner.save(stream.cursor, &stream.state, &stream.model)?;
        self.kept_at = Some(stream.cursor);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hedgerow::Kind;

    use super::*;

    #[test]
    fn the_first_setting_that_differs_is_named() {
        let config = Config::new(&ModelParams::new(Kind::Forest), (&[], None), Cut::Windows(1_000), None);
        let mut other = Config { bytes: Some(7), ..config.clone() };
        config.check_same("l", &other).unwrap();
        Config::read(&serde_json::to_string(&config).unwrap()).unwrap().check_same("l", &config).unwrap();
        other.params["n_trees"] = 3.into();
        let message = config.check_same("l", &other).unwrap_err().to_string();
        assert!(message.contains("--set n_trees was 100, now it is 3"), "{message}");
    }
}

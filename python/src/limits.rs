//! What a call may use, and the parameters of a model as Python gives them.

use std::time::Duration;

use hedgerow::core::{Budget, Error, Par, Result};
use hedgerow::{Kind, ModelParams};

/// Threads, time and memory of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Threads; 0 for one a core.
    pub(crate) threads: usize,
    /// Seconds the work may take.
    pub(crate) seconds: Option<f64>,
    /// Bytes it may take.
    pub(crate) bytes: Option<u64>,
}

impl Limits {
    /// The budget of work that starts now and has taken `taken` bytes already.
    pub(crate) fn budget(self, taken: usize) -> Result<Budget> {
        let mut budget = Budget::open();
        if let Some(seconds) = self.seconds {
            let limit = Duration::try_from_secs_f64(seconds)
                .map_err(|_| Error::param("max_seconds", "a number of seconds above 0, or None", seconds))?;
            budget = budget.with_time(limit);
        }
        if let Some(limit) = self.bytes {
            let left = limit.checked_sub(taken as u64).filter(|&left| left > 0);
            budget.bytes = Some(left.ok_or_else(|| Error::BudgetTooSmall {
                what: "a copy of the data with room to work".into(),
                needed: format!("max_memory={} (bytes)", taken + 1),
                limit: limit.to_string(),
            })?);
        }
        Ok(budget)
    }

    /// The threads. They live as long as the call, so that a process may fork between calls.
    pub(crate) fn par(self) -> Result<Par> {
        Par::new(self.threads)
    }
}

/// The parameters of a kind with settings, each a name and a value in JSON.
pub(crate) fn params(kind: &str, settings: &[(String, String)]) -> Result<ModelParams> {
    let settings = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let params = ModelParams::new(kind.parse()?).with_settings(settings)?;
    params.rules()?;
    Ok(params)
}

/// The defaults of a kind, in JSON.
pub(crate) fn default_settings(kind: &str) -> Result<String> {
    let params = ModelParams::new(kind.parse::<Kind>()?);
    Ok(serde_json::to_string(&params).unwrap_or_default())
}

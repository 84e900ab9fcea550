//! A model as it is published.

use std::time::Duration;

use hedgerow_core::Quality;

use crate::model::Model;

/// A model, published whole and never changed.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The model. It can go on learning, if its kind can.
    pub model: Model,
    /// How good its out-of-sample predictions of training rows are; none for the model that has learnt nothing yet, and for kinds that have none.
    pub validation: Option<Quality>,
    /// Training rows; 0 for the model that has learnt nothing yet.
    pub n_rows: usize,
    /// Whether the training run it comes from was complete.
    pub is_complete: bool,
    /// Steps that had been done when it was made.
    pub steps: u64,
    /// How long the engine had been running.
    pub elapsed: Duration,
}

impl Snapshot {
    /// A model that has learnt nothing yet.
    pub(super) fn new(model: Model) -> Self {
        Self { model, validation: None, n_rows: 0, is_complete: false, steps: 0, elapsed: Duration::ZERO }
    }

    /// Whether anything was learnt.
    pub fn is_trained(&self) -> bool {
        self.n_rows > 0
    }

    /// Whether it should take the place of another: the model of a complete run always, otherwise one that is no worse out of sample.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        let loss = |snapshot: &Self| snapshot.validation.as_ref().map(Quality::log_loss);
        match (loss(self), loss(other)) {
            _ if self.is_complete || !other.is_trained() => true,
            (Some(own), Some(others)) => own <= others,
            _ => true,
        }
    }
}

//! What a stopping rule is.

use super::history::History;

/// Decides by the history whether more labels are worth it. The minimum of labels is not its business: [`Stopper`](super::Stopper) sees to that.
pub trait StoppingRule: std::fmt::Debug + Send + Sync {
    /// Its name, as parameters have it.
    fn name(&self) -> &'static str;

    /// What it finds at the last observation of a history that has one.
    fn find(&self, history: &History) -> Finding;
}

/// What a rule finds.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Whether to stop.
    pub stop: bool,
    /// The figure that decided, where one could be computed.
    pub figure: Option<f64>,
    /// Why, in a sentence without its period.
    pub reason: String,
}

impl Finding {
    /// Not yet: the figure cannot be computed.
    pub(super) fn unknown(reason: impl Into<String>) -> Self {
        Self { stop: false, figure: None, reason: reason.into() }
    }

    /// A figure and what it means.
    pub(super) fn new(stop: bool, figure: f64, reason: String) -> Self {
        Self { stop, figure: Some(figure), reason }
    }
}

//! The rows of an engine as they are at some moment, to be looked at while training goes on.

use std::sync::Arc;

use hedgerow_core::{Dataset, Result};

use super::rows::{News, Stock, join};
use super::snapshot::Judges;

/// Rows that were taken up and rows that wait. Cheap to take and never changed, so that copies can be made without keeping anybody waiting.
pub(super) struct Held {
    pub(super) stock: Option<Arc<Stock>>,
    pub(super) waiting: Arc<Vec<News>>,
    /// Which of the first rows judge, where an earlier engine has settled that.
    pub(super) judges_before: Arc<Vec<bool>>,
}

impl Held {
    /// Rows that came before those there are and were forgotten.
    pub(super) fn n_dropped(&self) -> u64 {
        self.stock.as_ref().map_or(0, |stock| stock.n_dropped)
    }

    /// All rows, those that still wait too; none if there are none.
    pub(super) fn all_rows(&self) -> Result<Option<Dataset>> {
        let before = self.stock.as_ref().map(|stock| &*stock.data);
        let data = join(before, self.n_dropped(), &self.waiting).data;
        if data.n_rows() == 0 {
            return Ok(None);
        }
        Dataset::new(data.schema, data.features, data.labels, data.weights).map(Some)
    }

    /// Which rows judge: of those that were taken up, and after them those that an earlier engine has settled. A model of that engine has learnt all
    /// others of these, so they must not be forgotten before they are taken up again.
    pub(super) fn judges(&self) -> Judges {
        let own = self.stock.as_ref().map(|stock| &stock.is_judge[..]).unwrap_or_default();
        let end = self.n_dropped() + own.len() as u64;
        let settled = self.judges_before.get(end as usize..).unwrap_or_default();
        let all = own.iter().chain(settled).zip(self.n_dropped()..);
        Judges {
            n_rows: end + settled.len() as u64,
            places: all.filter(|(is_judge, _)| **is_judge).map(|(_, place)| place).collect(),
        }
    }
}

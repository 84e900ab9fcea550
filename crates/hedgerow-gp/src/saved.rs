//! What a model file holds of a model: some facts, and named tables of numbers.

use hedgerow_core::Result;
use ndarray::{Array2, CowArray, Ix2};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A model that can be taken apart and put together again.
pub trait Saved: Sized {
    /// What is not a table.
    type Facts: Serialize + DeserializeOwned;

    /// What is not a table.
    fn facts(&self) -> Self::Facts;

    /// The tables, each with its name. A list is a table of one row.
    fn tables(&self) -> Vec<(String, CowArray<'_, f64, Ix2>)>;

    /// The model again. `table` finds a table by its name. Nothing in facts and tables is trusted: what does not fit together is
    /// an error.
    fn restore(facts: Self::Facts, table: &mut dyn FnMut(&str) -> Result<Array2<f64>>) -> Result<Self>;
}

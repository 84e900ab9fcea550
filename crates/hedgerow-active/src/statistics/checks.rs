//! What every test asks of its numbers.

use hedgerow_core::{Error, Result};
use ndarray::ArrayView2;

/// Fails unless there is at least one number, and all are finite.
pub(super) fn check_numbers(what: &str, values: &[f64]) -> Result<()> {
    if values.is_empty() {
        return Err(Error::param(what, "at least one number", "none"));
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(place) => {
            Err(Error::param(format!("{what}[{place}]"), "a number that is finite", values[place]))
        }
        None => Ok(()),
    }
}

/// Fails unless a table has two columns or more, so many rows, and finite numbers.
pub(super) fn check_table(scores: ArrayView2<'_, f64>, least_rows: usize) -> Result<()> {
    let [n_rows, n_columns] = [scores.nrows(), scores.ncols()];
    if n_rows < least_rows {
        return Err(Error::param("data sets", format!("{least_rows} or more"), n_rows));
    }
    if n_columns < 2 {
        return Err(Error::param("strategies", "2 or more", n_columns));
    }
    match scores.indexed_iter().find(|(_, value)| !value.is_finite()) {
        Some(((row, column), value)) => Err(Error::param(
            format!("score of strategy {column} on data set {row}"),
            "a number that is finite",
            value,
        )),
        None => Ok(()),
    }
}

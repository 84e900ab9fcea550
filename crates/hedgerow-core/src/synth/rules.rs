//! Rules that several generators' parameters share.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::error::{Error, Result};

/// Fails unless `value` lies in `range`.
pub(super) fn within<T: PartialOrd + Display>(name: &str, value: T, range: RangeInclusive<T>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Error::param(name, format!("{} to {}", range.start(), range.end()), value))
}

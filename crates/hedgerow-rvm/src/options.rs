//! The choices among algorithms that parameters name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which columns are tried in which order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trainer {
    /// `whole` for few rows, `working_set` for more.
    #[default]
    Auto,
    /// All rows are candidates at once.
    Whole,
    /// The next candidates are the rows with the largest errors.
    WorkingSet,
    /// The next candidates come in random order.
    Incremental,
    /// Parts are solved side by side, their relevant rows merged in pairs.
    SplitMerge,
}

/// How the evidence of given candidates is maximised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Solver {
    /// One candidate at a time (Tipping and Faul 2003).
    #[default]
    Fast,
    /// All candidates, of which those without use are dropped (Tipping 2001).
    Basic,
}

/// When a solve of the basic solver that is not the last ends early: with fewer candidates left than this.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaterMark {
    /// Half of the candidates that the solve began with.
    #[default]
    Current,
    /// Half of the partition size.
    Partition,
    /// Never.
    None,
}

/// Which rows the evidence of candidates is taken of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowsUsed {
    /// All, but a sample where there are more rows than that has.
    #[default]
    Auto,
    /// All.
    All,
    /// Those that are candidates: least work and memory, at the price of accuracy.
    Active,
    /// A sample, except in the last solve.
    Sample,
}

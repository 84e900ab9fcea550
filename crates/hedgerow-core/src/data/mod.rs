//! Rows, their targets and the schema that ties them to names.

mod dataset;
mod features;
mod labels;
mod schema;
mod targets;

pub use dataset::{Dataset, DatasetParts, check_rows};
pub use features::Features;
pub use labels::{ClassId, LabelTable, canonical_label};
pub use schema::{Column, ColumnKind, MAX_CATEGORIES, MAX_CLASSES, MAX_FEATURES, Schema};
pub use targets::{Target, TargetSlice, Targets, Task};

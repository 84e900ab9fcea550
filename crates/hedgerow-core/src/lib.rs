//! The ground that every Hedgerow crate stands on.
//!
//! [`data`] holds rows, labels and the schema that ties them to names; [`params`], [`budget`] and [`par`] say how a
//! model is trained; [`traits`] say what a model can be asked; [`learn`] what learning takes and gives; [`metrics`] judge the answers; [`folds`] keep rows apart for that; [`drift`] notices when the
//! task has changed; [`synth`] makes data whose changes are known; [`error`] explains what went wrong;
//! [`text`] writes numbers as people read them. This crate does no
//! input or output and knows no model.

pub mod budget;
pub mod data;
pub mod drift;
pub mod error;
pub mod folds;
pub mod learn;
pub mod metrics;
pub mod par;
pub mod params;
pub mod rng;
pub mod synth;
pub mod testing;
pub mod text;
pub mod traits;

pub use budget::{Budget, StopFlag, StopReason};
pub use data::{ClassId, Column, ColumnKind, Dataset, Features, LabelTable, Schema, ValueData};
pub use error::{DataError, DataProblem, Error, ModelProblem, Result, StoreProblem};
pub use folds::Folds;
pub use learn::{Drift, Lesson, Rows, Training};
pub use par::Par;
pub use params::{Checked, ParamInfo, Params, describe};
pub use traits::{Classifier, Normals, Observer, Progress, Regressor, Silent};

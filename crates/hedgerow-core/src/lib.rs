//! What every Hedgerow crate is built on.
//!
//! [`data`] holds rows, labels and the schema that ties them to names. [`params`], [`budget`] and [`par`] say how a model is trained,
//! [`run`] how its training is cut into jobs and driven, [`learn`] what online learning takes and gives. [`traits`] say what a model can
//! predict; [`scores`] holds out-of-sample predictions, [`quality`] says how good they are, [`importance`] says which columns matter, [`folds`] cuts rows for them, [`calibration`] and [`blend`] are fitted to them,
//! [`metrics`] evaluates predictions. [`second_order`] holds distributions over class probabilities, on [`special`] functions; [`outlier`] says how
//! unlike its training rows a row is; [`committee`] members that predict alone, [`conformal`] sets of classes that cover a chosen share of rows,
//! [`rejection`] decisions by losses and rows that are left undecided. [`drift`] detects
//! concept drift, [`synth`] generates data whose drift is known. [`saved`] turns models into text and arrays and back, [`error`] explains what went wrong, [`text`] writes numbers as people read
//! them. This crate does no input or output and knows no model.

pub mod background;
pub mod blend;
pub mod blend_report;
pub mod budget;
pub mod calibration;
pub mod committee;
pub mod conformal;
pub mod data;
pub mod drift;
pub mod error;
pub mod folds;
pub mod importance;
pub mod kind;
mod latent;
pub mod learn;
pub mod metrics;
pub mod online;
pub mod outlier;
pub mod par;
pub mod params;
pub mod prepare;
pub mod quality;
pub mod rejection;
pub mod rng;
pub mod run;
pub mod saved;
pub mod scores;
pub mod second_order;
pub mod special;
pub mod summary;
#[cfg(any(test, feature = "synth"))]
pub mod synth;
mod task_model;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod traits;

pub use blend::Blend;
pub use blend_report::{BlendReport, ClassBlendReport};
pub use budget::{Budget, StopFlag, StopReason};
pub use calibration::Calibration;
pub use committee::Committee;
pub use conformal::{Conformal, PredictionSets, SetMethod, SetOptions, SetOutcome};
pub use data::{
    ClassId, Column, ColumnKind, Dataset, DatasetParts, Features, LabelTable, Schema, Target, TargetSlice,
    Targets, Task,
};
pub use error::{DataError, DataProblem, Error, ModelProblem, Result, StoreProblem};
pub use folds::Folds;
pub use kind::{BoxedRun, Fitted, KindInfo, ModelKind, Renewed, RunStart, fit};
pub use latent::{Latent, LatentProcess};
pub use learn::{Drift, Learning, Rows, Training, Update};
pub use online::{
    CalibrationGain, Mixed, Mixture, OnlineModel, OnlineStatus, Pause, Predictor, Prequential, RetainedRows,
    Schedule, brier,
};
pub use outlier::{OutlierScore, OutlierScorer, ReferenceRows};
pub use par::Par;
pub use params::{Checked, ParamInfo, Params, describe};
pub use quality::{ClassQuality, Quality, ValueQuality};
pub use run::{Candidate, Delta, Effort, JobState, JobStatus, ModelTask, Step, TrainingRun, WholeRun, drive};
pub use scores::{OutOfSample, OutOfSampleParts, Source};
pub use second_order::{About, NearbyRows, RelativeEvidence, SecondOrder, Supported, TrueProbability};
pub use summary::{Closely, Comparison, Summary};
pub use task_model::TaskModel;
pub use traits::{Classifier, Normals, Observer, Progress, Regressor, Silent};

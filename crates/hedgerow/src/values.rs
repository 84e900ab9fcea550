//! A model that answers with values, and the schema it was trained on.

use std::path::Path;

use hedgerow_core::{
    Dataset, Error, Normals, Par, Params as _, Regressor, Result, Rows, Schema, StopReason, Training, Update,
};
use hedgerow_rvm::{RvmParams, RvmRegressor, TracePoint};
use ndarray::{Array2, ArrayView2};

use crate::file;
use crate::kind::Kind;
use crate::model::Model;
use crate::params::ModelParams;

/// A trained model of values and what its columns are called. Relevance Vector Machines are the only kind so far.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueModel {
    /// The columns it expects; the target is the value, and there are no classes.
    pub schema: Schema,
    /// What it has learnt.
    pub regressor: RvmRegressor,
}

/// A fitted model of values and what was learnt on the way.
#[derive(Debug, Clone)]
pub struct FittedValues {
    /// The model.
    pub model: ValueModel,
    /// The logarithm of the density of the values.
    pub log_evidence: f64,
    /// Why training ended.
    pub stop: StopReason,
    /// What a user should know about the fit, in words; empty if all is well.
    pub notes: Vec<String>,
    /// How training went.
    pub trace: Vec<TracePoint>,
}

/// Any model that a file can hold.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a program has few models")]
pub enum AnyModel {
    /// One of classes.
    Classes(Model),
    /// One of values.
    Values(ValueModel),
}

impl AnyModel {
    /// Reads a model of either sort from a file, after checking every byte of it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        file::load_any(path.as_ref())
    }

    /// A model of either sort from the bytes of a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        file::any_from_bytes(bytes)
    }
}

impl ValueModel {
    /// Fits a model of the kind that the parameters are of; fails for kinds that answer with classes only.
    pub fn fit(data: &Dataset, params: &ModelParams, training: &Training<'_>) -> Result<FittedValues> {
        let fitted = RvmRegressor::fit(data, &of_values(params)?.check()?, training)?;
        Ok(FittedValues {
            model: Self { schema: data.schema.clone(), regressor: fitted.rvm },
            log_evidence: fitted.log_evidence,
            stop: fitted.stop,
            notes: fitted.log.notes,
            trace: fitted.log.trace,
        })
    }

    /// A model that knows nothing yet and learns what it is given.
    pub fn new(schema: Schema, params: &ModelParams) -> Result<Self> {
        let regressor = RvmRegressor::new(&schema, &of_values(params)?.check()?)?;
        Ok(Self { schema, regressor })
    }

    /// The same model without its rows: smaller, and it learns no more.
    #[must_use]
    pub fn without_rows(self) -> Self {
        Self { schema: self.schema, regressor: self.regressor.frozen() }
    }

    /// Answers rows and learns them, one after the other.
    pub fn learn(&mut self, rows: Rows<'_>, training: &Training<'_>) -> Result<Update> {
        self.regressor.learn(&self.schema, rows, training)
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        Kind::Rvm
    }

    /// The parameters it was made with.
    pub fn params(&self) -> ModelParams {
        self.regressor.params().clone().into()
    }

    /// The parameters of the kernel by name.
    pub fn kernel(&self) -> Vec<(String, f64)> {
        named_lengths(&self.regressor.lengths())
    }

    /// The rows that answers are computed from, in the table's own columns.
    pub fn active_rows(&self) -> Array2<f32> {
        self.regressor.relevant_rows()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.regressor.bytes()
    }

    /// Bytes of the model file.
    pub fn file_len(&self) -> Result<u64> {
        file::values_len(self)
    }

    /// Writes the model to a file: all of it or, if that fails, nothing.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<u64> {
        file::save_values(self, path.as_ref())
    }

    /// The model as the bytes of a model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        file::values_to_bytes(self)
    }
}

impl Regressor for ValueModel {
    fn n_features(&self) -> usize {
        self.schema.n_features()
    }

    fn predict_values_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Normals {
        self.regressor.predict_values_impl(x, par)
    }
}

fn of_values(params: &ModelParams) -> Result<RvmParams, Error> {
    match params {
        ModelParams::Rvm(params) => Ok(params.clone()),
        other => Err(other.kind().unable("answer with values", Kind::answers_values)),
    }
}

/// Lengths of a kernel by name.
pub(crate) fn named_lengths(lengths: &[f64]) -> Vec<(String, f64)> {
    match lengths {
        [one] => vec![("length_scale".into(), *one)],
        each => each.iter().enumerate().map(|(i, l)| (format!("length_scale[{i}]"), *l)).collect(),
    }
}

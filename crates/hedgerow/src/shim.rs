//! Temporary: stands in for what `IvmClassifier` does not have yet. Everything here goes when it has.
//!
//! The trait's methods are named as the real ones will be, and real ones win over it. To remove it: delete this file and its
//! `use` lines in `model.rs` and `file/mod.rs`; there, `kernel::plan(&**ivm, ..)` and `kernel::read::<IvmClassifier>(..)` do it.

use hedgerow_core::{Checked, Classifier as _, Error, Lesson, ModelProblem, Result, Rows, Schema, Training};
use hedgerow_gp::{IvmClassifier, IvmParams};
use ndarray::{Array2, CowArray, Ix2};

/// What is missing.
pub(crate) trait Unfinished: Sized {
    fn new(schema: &Schema, params: &Checked<IvmParams>) -> Result<Self>;
    fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Lesson>;
    fn n_seen(&self) -> u64;
    fn n_remembered(&self) -> usize;
    fn bytes(&self) -> usize;
    fn can_learn(&self) -> bool;
    fn frozen(self) -> Self;
    fn active_rows(&self) -> Array2<f32>;
}

impl Unfinished for IvmClassifier {
    fn new(_: &Schema, _: &Checked<IvmParams>) -> Result<Self> {
        Err(Error::NoRows)
    }

    fn learn(&mut self, _: &Schema, _: Rows<'_>, _: &Training<'_>) -> Result<Lesson> {
        Err(Error::NoRows)
    }

    fn n_seen(&self) -> u64 {
        0
    }

    fn n_remembered(&self) -> usize {
        0
    }

    fn bytes(&self) -> usize {
        self.n_active() * self.n_features() * size_of::<f32>()
    }

    fn can_learn(&self) -> bool {
        false
    }

    fn frozen(self) -> Self {
        self
    }

    fn active_rows(&self) -> Array2<f32> {
        Array2::zeros((0, self.n_features()))
    }
}

/// A machine that can be neither written nor read.
pub(crate) struct Unsaved(pub(crate) IvmClassifier);

/// Refuses to be written.
pub(crate) fn saved(_: &IvmClassifier) -> Result<&Unsaved> {
    Err(unwritable())
}

impl hedgerow_gp::Saved for Unsaved {
    type Facts = ();

    fn facts(&self) {}

    fn tables(&self) -> Vec<(String, CowArray<'_, f64, Ix2>)> {
        Vec::new()
    }

    fn restore((): (), _: &mut dyn FnMut(&str) -> Result<Array2<f64>>) -> Result<Self> {
        Err(unwritable())
    }
}

fn unwritable() -> Error {
    let detail = "models of this kind cannot be saved yet".into();
    Error::model(ModelProblem::Part { part: "ivm".into(), detail })
}

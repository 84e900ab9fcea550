//! Models as text and arrays, which is what a model file holds.
//!
//! A model is serialized by serde into JSON. Fields marked with [`mod@array`], [`optional`] or [`columns`] go into arrays of numbers and leave
//! only the number of the array in the text, so that their values come back to the last bit. Whatever follows from other fields is skipped;
//! after reading, [`Saved::complete`] checks everything and makes it again.
//!
//! A [`Plan`] serializes the model once to learn the types and shapes of its arrays, then once for each width of numbers to write them, the
//! widest first: no array is copied as a whole. The text of those later passes goes nowhere; whenever a piece of it is written, the
//! bytes that have gathered go to the file. What is costly to make for a file is made [`once`].
//!
//! Fields must not be flattened into others (`serde(flatten)`): serde would keep them back instead of writing them.

mod arrays;
mod number;
mod scope;

use std::any::Any;
use std::io::{self, Write};
use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use arrays::{
    Array, Columnar, Lists, Numbers, Parts, array, column, columns, lists_of, optional, parts_of,
};
pub use number::{Dtype, Number, Raw, StoredArray, Values};
pub(crate) use scope::{put, take};

use crate::data::Schema;
use crate::error::{Error, ModelProblem, Result};
use crate::traits::Classifier;
use scope::Pass;

/// A model that a file can hold.
pub trait Saved: Serialize + DeserializeOwned {
    /// Checks a model that was read, and makes what was not written. Nothing is trusted: what does not fit together is an error.
    fn complete(&mut self, schema: &Schema) -> Result<()>;
}

/// Type and shape of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayInfo {
    /// The type of its numbers.
    pub dtype: Dtype,
    /// Its sides.
    pub shape: Vec<usize>,
}

impl ArrayInfo {
    /// How many numbers it has.
    pub fn n_items(&self) -> usize {
        self.shape.iter().product()
    }

    /// How many bytes they take.
    pub fn n_bytes(&self) -> u64 {
        self.n_items() as u64 * self.dtype.width() as u64
    }
}

/// What will be written of a model.
pub struct Plan<'a, M> {
    model: &'a M,
    json: String,
    arrays: Vec<ArrayInfo>,
    made: Vec<Rc<dyn Any>>,
}

impl<'a, M: Serialize> Plan<'a, M> {
    /// Looks at a model.
    pub fn new(model: &'a M) -> Result<Self> {
        let (json, pass) = scope::writing(Pass::first(), || serde_json::to_string(model));
        let Pass { arrays, made, .. } = pass;
        Ok(Self { model, json: json.map_err(|wrong| malformed(wrong.to_string()))?, arrays, made })
    }

    /// The text, in which arrays are numbers.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The arrays with their numbers, in the order in which they are written.
    pub fn arrays(&self) -> Vec<(usize, &ArrayInfo)> {
        let mut order: Vec<_> = self.arrays.iter().enumerate().collect();
        order.sort_by_key(|(_, array)| std::cmp::Reverse(array.dtype.width()));
        order
    }

    /// Writes the numbers of all arrays, little-endian.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for width in [8, 4, 2, 1] {
            if self.arrays.iter().any(|array| array.dtype.width() == width) {
                let pass = Pass::of_width(width, self.arrays.clone(), self.made.clone());
                scope::writing(pass, || serde_json::to_writer(scope::Drain(out), self.model)).0?;
            }
        }
        Ok(())
    }
}

/// The model of a text and arrays. It still has to be completed.
pub fn read<M: DeserializeOwned>(json: &str, arrays: Vec<StoredArray>) -> Result<M> {
    let (model, n_left) = scope::reading(arrays, || serde_json::from_str(json));
    let model = model.map_err(|wrong| malformed(wrong.to_string()))?;
    require(n_left == 0, || format!("{n_left} arrays belong to nothing"))?;
    Ok(model)
}

/// What `make` gives, made once for a file however often the model is serialized for it.
pub fn once<T: 'static>(make: impl FnOnce() -> T) -> Rc<T> {
    scope::once(make)
}

/// Whether a file would hold the same of two models.
pub fn are_alike<M: Serialize>(a: &M, b: &M) -> bool {
    let written = |model: &M| {
        let plan = Plan::new(model).ok()?;
        let mut arrays = Vec::new();
        plan.write(&mut arrays).ok()?;
        Some((plan.json, arrays))
    };
    let [a, b] = [a, b].map(written);
    a.is_some() && a == b
}

/// Fails with the detail unless a condition holds.
pub fn require<D: Into<String>>(holds: bool, detail: impl FnOnce() -> D) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::model(ModelProblem::Inconsistent { detail: detail().into() })) }
}

/// Fails unless a model has the columns and classes of the schema.
pub fn require_sizes(model: &impl Classifier, schema: &Schema) -> Result<()> {
    let (expected, got) =
        ([schema.n_features(), schema.n_classes()], [model.n_features(), model.n_classes()]);
    require(expected == got, || format!("the schema has {expected:?} columns and classes, the model {got:?}"))
}

/// Fails, with the name of the part, unless its parameters keep their rules.
pub fn require_rules(params: &impl crate::Params) -> Result<()> {
    params.rules().map_err(|wrong| {
        Error::model(ModelProblem::Part { part: "params".into(), detail: wrong.to_string() })
    })
}

fn malformed(detail: String) -> Error {
    Error::model(ModelProblem::Part { part: "model".into(), detail })
}

#[cfg(test)]
mod tests;

//! One model out of several.

use hedgerow_core::{Error, ReferenceRows, Result, Schema};

use crate::kinds::{Kind, Learner};
use crate::model::Model;

/// One model out of several of the same kind and columns; classes may differ. It can go on learning if all of them can: then it
/// has the rows of all, and learns those that a part has not seen with the first update.
pub fn merge(models: &[&Model]) -> Result<Model> {
    if models.len() < 2 {
        return Err(Error::param("models", "two or more to merge", models.len()));
    }
    for model in models {
        let (first, kind) = (models[0].kind(), model.kind());
        if kind != first {
            return Err(Error::Merge { what: "kinds", left: first.to_string(), right: kind.to_string() });
        }
        if !kind.merges() {
            return Err(kind.unable("be merged", Kind::merges));
        }
    }
    let of_all: Vec<(&Schema, &Learner)> =
        models.iter().map(|model| (&model.schema, &model.learner)).collect();
    let (schema, learner) = models[0].params().merge(&of_all)?;
    let parts: Option<Vec<(&Schema, &ReferenceRows)>> =
        models.iter().map(|model| Some((&model.schema, &**model.reference.as_ref()?))).collect();
    let reference = parts.map_or(Ok(None), |parts| ReferenceRows::merge(&parts, &schema))?;
    let reference = reference.map(Box::new);
    Ok(Model { reference, ..Model::from_parts(schema, learner)? })
}

//! One model out of several.

use hedgerow_core::{Dataset, Error, ReferenceRows, Result, Schema};
use hedgerow_forest::{Forest, ForestModel};

use crate::kinds::{Kind, Learner};
use crate::model::Model;

/// One model out of several of the same kind and columns; classes may differ. It can go on learning if all of them can: then it
/// has the rows of all, and its trees learn those they have not seen with the first update.
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
    let forests: Vec<(&Schema, &Forest)> =
        models.iter().filter_map(|model| Some((&model.schema, model.as_forest()?))).collect();
    let (schema, forest) = hedgerow_forest::merge(&forests)?;
    let mut rows: Option<Dataset> = None;
    for model in models {
        let Some(own) = model.retained_rows()? else {
            return Model::from_parts(schema, Learner::Forest(Box::new(ForestModel::Frozen(forest))));
        };
        let own = own.under(&schema)?;
        match &mut rows {
            None => rows = Some(own),
            Some(rows) => rows.append(&own)?,
        }
    }
    let merged = match rows {
        Some(rows) => ForestModel::fitted(forest, rows),
        None => ForestModel::Frozen(forest),
    };
    let parts: Option<Vec<(&Schema, &ReferenceRows)>> =
        models.iter().map(|model| Some((&model.schema, &**model.reference.as_ref()?))).collect();
    let reference = parts.map_or(Ok(None), |parts| ReferenceRows::merge(&parts, &schema))?;
    let reference = reference.map(Box::new);
    Ok(Model { reference, ..Model::from_parts(schema, Learner::Forest(Box::new(merged)))? })
}

//! A model of values in a file: like one of classes of the same kind, with a text that says what it answers.

use hedgerow_core::{Error, ModelProblem, Regressor as _, Result, Schema};
use hedgerow_rvm::RvmRegressor;

use super::layout::{Parts, Plan};
use super::{check_schema, json, kernel};
use crate::kinds::Kind;
use crate::values::ValueModel;

const TASK: &str = "task";
const VALUES: &str = "values";

/// Whether a file holds a model of values.
pub(super) fn is_there(parts: &Parts<'_>) -> bool {
    json::<String>(parts, TASK).is_ok_and(|task| task == VALUES)
}

pub(super) fn plan(model: &ValueModel) -> Result<Plan<'_>> {
    let mut plan = Plan::new(model.kind().name());
    plan.json(TASK, &VALUES)?;
    plan.json("schema", &model.schema)?;
    kernel::plan(&model.regressor, &mut plan)?;
    plan.finish()
}

pub(super) fn read(parts: &Parts<'_>) -> Result<ValueModel> {
    let schema: Schema = json(parts, "schema")?;
    check_schema(&schema)?;
    let kind = parts.text("kind")?;
    if kind.parse().ok() != Some(Kind::Rvm) {
        return Err(Error::model(ModelProblem::Kind { kind: format!("{kind} for values") }));
    }
    let regressor: RvmRegressor = kernel::read(parts)?;
    if regressor.n_features() != schema.n_features() {
        let detail =
            format!("the schema has {} columns, the model {}", schema.n_features(), regressor.n_features());
        return Err(Error::model(ModelProblem::Inconsistent { detail }));
    }
    Ok(ValueModel { schema, regressor })
}

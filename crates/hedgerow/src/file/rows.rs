//! Rows that a model remembers, as narrow as they were in memory, and their classes.

use hedgerow_core::{ClassId, Features, Result, Schema};
use safetensors::Dtype;

use super::forest::each;
use super::layout::{Parts, Plan};
use super::malformed;

/// Rows with their classes, if there are any.
pub(super) fn plan<'a>(features: &'a Features, classes: &'a [u16], plan: &mut Plan<'a>) {
    plan_features(features, plan);
    plan.array("rows.classes", Dtype::U16, vec![classes.len()], |out| {
        each(classes, out, |v| v.to_le_bytes())
    });
}

/// Rows alone.
pub(super) fn plan_features<'a>(features: &'a Features, plan: &mut Plan<'a>) {
    let shape = vec![features.n_rows(), features.n_features()];
    match features {
        Features::Floats { values, .. } => {
            plan.array("rows.floats", Dtype::F32, shape, |out| each(values, out, |v| v.to_le_bytes()));
        }
        Features::Bytes { values, .. } => {
            plan.array("rows.bytes", Dtype::U8, shape, |out| out.write_all(values));
        }
    }
}

/// Rows with their classes, which may have been left out.
pub(super) fn read(
    parts: &Parts<'_>,
    schema: &Schema,
    may_lack_classes: bool,
) -> Result<(Features, Vec<ClassId>)> {
    let n_features = schema.n_features();
    let features = read_features(parts, n_features)?;
    let n_rows = features.n_rows();
    let classes: Vec<ClassId> =
        parts.u16s("rows.classes")?.into_iter().map(|class| ClassId(u32::from(class))).collect();
    let fits = classes.len() == n_rows || (may_lack_classes && classes.is_empty());
    if !fits || classes.iter().any(|class| class.index() >= schema.n_classes()) {
        return Err(malformed(
            "rows.classes",
            format!("expected {n_rows} of {} classes", schema.n_classes()),
        ));
    }
    Ok((features, classes))
}

/// Rows alone: whole ones.
pub(super) fn read_features(parts: &Parts<'_>, n_features: usize) -> Result<Features> {
    let (features, n_values) = if parts.has("rows.bytes") {
        let values = parts.u8s("rows.bytes")?;
        let n = values.len();
        (Features::Bytes { values: values.into(), n_features }, n)
    } else {
        let values = parts.f32s("rows.floats")?;
        let n = values.len();
        (Features::Floats { values: values.into(), n_features }, n)
    };
    if n_values != features.n_rows() * n_features {
        return Err(malformed(
            "rows",
            format!("expected whole rows of {n_features} values, got {n_values} values"),
        ));
    }
    Ok(features)
}

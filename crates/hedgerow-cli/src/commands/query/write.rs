//! The table of the chosen rows.

use std::path::PathBuf;

use anyhow::Context as _;
use hedgerow::active::Pool;

use super::Query;
use crate::commands::{cell, open_out};

/// Writes the chosen rows with their values; the last column is the target, which is empty.
pub(super) fn write(out: &PathBuf, pool: &Pool, queries: &[Query]) -> anyhow::Result<()> {
    let mut writer = csv::Writer::from_writer(open_out(Some(out))?);
    let schema = pool.schema();
    let own = ["row", "utility", "reason", "prediction", "probability"];
    let columns = schema.columns.iter().map(|column| column.name.as_str());
    writer.write_record(own.into_iter().chain(columns).chain(schema.target.as_deref()))?;
    for query in queries {
        let [row, utility] = [query.row.to_string(), format!("{:.6}", query.utility)];
        let probability = query.probability.map_or_else(String::new, |p| format!("{p:.6}"));
        let prediction = query.prediction.clone().unwrap_or_default();
        let values = (0..schema.n_features())
            .map(|column| cell(schema, column, pool.features().value(query.row, column)));
        let target = schema.target.as_ref().map(|_| String::new());
        let own = [row, utility, query.reason.clone(), prediction, probability];
        writer.write_record(own.into_iter().chain(values).chain(target))?;
    }
    writer.flush().with_context(|| out.display().to_string())
}

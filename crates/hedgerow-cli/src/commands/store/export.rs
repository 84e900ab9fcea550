//! `store export`: rows with their current labels as CSV.

use std::io::Write;

use anyhow::Context as _;
use hedgerow::store::{Change, Store};

use crate::args::StoreExportArgs;
use crate::commands::{Outcome, cell, name_of_out, open_out};

/// Events read at once.
const BLOCK: usize = 4_096;

pub(super) fn run(args: &StoreExportArgs) -> anyhow::Result<Outcome> {
    let store = Store::open_to_read(&args.dir)?;
    let out = args.out.as_ref();
    write(&store, open_out(out)?, args.labelled).with_context(|| name_of_out(out))?;
    Ok(Outcome::Done)
}

fn write(store: &Store, out: impl Write, only_labelled: bool) -> anyhow::Result<()> {
    let schema = store.schema();
    let mut out = csv::Writer::from_writer(out);
    let target = schema.target.clone().unwrap_or_else(|| "label".into());
    let names = schema.columns.iter().map(|column| column.name.as_str());
    out.write_record(["row"].into_iter().chain(names).chain([target.as_str()]))?;
    let mut reader = store.subscribe(0);
    while let Some(block) = reader.next(BLOCK)? {
        for (i, &change) in block.changes.iter().enumerate() {
            let Change::Row(_) = change else { break };
            let label = store.label_of(block.rows[i])?;
            if label.is_none() && only_labelled {
                continue;
            }
            let values = block.x.row(i);
            let cells = values.iter().enumerate().map(|(column, &value)| cell(&schema, column, value));
            let label = label.map_or(String::new(), |class| schema.labels.name(class).to_string());
            out.write_record([block.rows[i].to_string()].into_iter().chain(cells).chain([label]))?;
        }
    }
    Ok(out.flush()?)
}

//! `store label`: labels that come later than their rows, and corrections.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use hedgerow::core::Schema;
use hedgerow::store::{Labelled, Options, Store};
use serde::Serialize;

use crate::args::StoreLabelArgs;
use crate::commands::Outcome;
use crate::output;

/// What `store label` tells.
#[derive(Debug, Serialize)]
pub(crate) struct StoreLabelled {
    pub(crate) dir: PathBuf,
    #[serde(flatten)]
    pub(crate) labels: Labelled,
    pub(crate) new_classes: Vec<String>,
}

pub(super) fn run(args: &StoreLabelArgs) -> anyhow::Result<Outcome> {
    let store = Store::open(&args.dir, &Options::default())?;
    store.notes().iter().for_each(|note| output::note(note));
    let known = store.schema();
    let mut schema = Schema::clone(&known);
    let input: Box<dyn Read> = if args.labels == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(&args.labels).with_context(|| args.labels.display().to_string())?)
    };
    let mut labels = Vec::new();
    let mut lines = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(io::BufReader::new(input));
    for (i, line) in lines.records().enumerate() {
        let place = || format!("{}: line {}", args.labels.display(), i + 1);
        let line = line.with_context(place)?;
        let (row, label) = (line.get(0).unwrap_or(""), line.get(1).unwrap_or(""));
        let Ok(row) = row.parse::<u64>() else {
            if i == 0 {
                continue;
            }
            bail!("{}: expected the number of a row, got {row:?}", place());
        };
        if label.is_empty() {
            bail!("{}: expected a label for row {row}, got nothing", place());
        }
        labels.push((row, schema.labels.get_or_add(label).with_context(place)?));
    }
    let labels = store.label(&schema, &labels)?;
    let new_classes = store.schema().labels.names()[known.n_classes()..].to_vec();
    let result = StoreLabelled { dir: args.dir.clone(), labels, new_classes };
    output::show(&result, args.json)
}

//! `stream --store`: rows are kept before they are learnt, and what was stopped goes on.

use std::path::{Path, PathBuf};

use hedgerow::core::{Error, StoreProblem};
use hedgerow::io::RowReader;
use hedgerow::store::Store;
use hedgerow::{Model, ModelParams};

use super::learner::Found;
use crate::args::StreamArgs;
use crate::commands::learning::{Config, Cut, Keeper, Plan, StoredRows, StreamRun, TestRows};
use crate::commands::stream::read_test;
use crate::commands::{Feed, open_to_learn};

/// The window without `--window`.
const WINDOW: u64 = 1_000;

/// A stream of rows that go through the store in a folder, which is made if it is not there, with its rows and its title.
pub(crate) fn begin<'a>(
    args: &StreamArgs,
    dir: &Path,
    mut plan: Plan<'a>,
) -> anyhow::Result<(StreamRun<'a>, Feed<'static>, PathBuf)> {
    let found = Found::open(dir, &args.learner)?;
    let given = (args.model, args.settings.as_slice(), args.seed);
    let begun = found.begun.as_ref().filter(|_| plan.cut == Cut::Windows(WINDOW));
    let cut = begun.map_or(plan.cut, |begun| begun.cut);
    let (mut config, params) = found.settings(given, cut, plan.max_memory)?;
    if args.delay > 0 {
        config.delay = args.delay;
        found.begun.as_ref().map_or(Ok(()), |begun| begun.check_same(&args.learner, &config))?;
    }
    plan.delay = config.delay;
    let from = base_model(args, &config)?;
    let (known, data) = (found.schema(), found.input(args.data.as_deref())?);
    let schema = known.as_deref().or(from.as_ref().map(|(model, _)| model.schema()));
    let open = |path| open_to_learn(path, &args.common.data.options(), schema);
    let mut reader = data.as_deref().map(open).transpose()?;
    if let Some(schema) = reader.as_ref().map(RowReader::schema).or(schema)
        && let Some((rows, grown)) = read_test(args, schema)?
    {
        reader = reader.map(|reader| reader.with_schema(&grown)).transpose()?;
        plan.test = Some(TestRows::Memory(rows));
    }
    let learner = found.or_new(reader.as_ref())?;

    config.from = from.as_ref().map(|(_, named)| named.clone()).or(config.from);
    let (model, kept) = match learner.restore()? {
        Some((cursor, model, state)) => (model, Some((cursor, state))),
        None => (first_model(&learner.store, from, &params, &config)?, None),
    };
    let at = kept.as_ref().map(|(cursor, _)| *cursor);
    (plan.cut, plan.budget.bytes, plan.max_memory) = (config.cut, config.bytes, config.max_memory);
    let rows = StoredRows::new(learner.store.clone(), at.unwrap_or(0), reader)?;
    plan.keeper = Some(Keeper::new(learner, args.checkpoint_every, config, at)?);
    let title = data.unwrap_or_else(|| dir.to_path_buf());
    Ok((StreamRun::new(model, plan, kept)?, Feed::Stored(Box::new(rows)), title))
}

/// The model that `--from` names, with its path and a checksum of its file. It must be the one the learner was begun with.
fn base_model(args: &StreamArgs, config: &Config) -> anyhow::Result<Option<(Model, (String, u32))>> {
    let Some(path) = &args.from else { return Ok(None) };
    let named = (path.display().to_string(), checksum(path)?);
    if let Some(begun) = &config.from {
        let was = Config { from: Some(begun.clone()), ..config.clone() };
        was.check_same(&args.learner, &Config { from: Some(named.clone()), ..config.clone() })?;
    }
    Ok(Some((Model::load(path)?, named)))
}

fn checksum(path: &Path) -> Result<u32, Error> {
    let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
    // FNV-1a, folded: it only has to notice another file.
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Ok((hash ^ (hash >> 32)) as u32)
}

/// The model that a learner begins with.
fn first_model(
    store: &Store,
    from: Option<(Model, (String, u32))>,
    params: &ModelParams,
    config: &Config,
) -> anyhow::Result<Model> {
    if let Some((model, _)) = from {
        return Ok(model);
    }
    let Some((path, sum)) = &config.from else { return Ok(Model::new(store.first_schema(), params)?) };
    if checksum(Path::new(path)).ok() != Some(*sum) {
        let detail = format!("the learner began with {path}, which is not there any more or has changed");
        return Err(Error::store(StoreProblem::Input(detail)).into());
    }
    Ok(Model::load(path)?)
}

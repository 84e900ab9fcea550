//! `stream --store`: rows are kept before they are learnt, and what was stopped goes on.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};
use hedgerow::core::{Error, Schema, StoreProblem};
use hedgerow::io::RowReader;
use hedgerow::store::{Input, Options, Store};
use hedgerow::{Kind, Model, ModelParams};

use crate::args::{DataArgs, StreamArgs};
use crate::commands::learning::{
    Config, Cut, Feed, Keeper, LearnResult, Plan, StoreFacts, StoredRows, StreamRun, StreamState, TestData,
};
use crate::commands::stream::{check_learns, test_options};
use crate::commands::{Outcome, after_bad_row, check_room, check_writable, interrupt, note_dates, params};
use crate::output::{self, text};

/// The window without `--window`.
const WINDOW: u64 = 1_000;

pub(crate) fn run(args: &StreamArgs, dir: &Path) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    for path in args.out.iter().chain(&args.report) {
        check_writable(path)?;
    }
    check_room(&args.limits)?;
    let par = args.run.par()?;
    let budget = args.limits.budget(start);
    interrupt::listen(&budget)?;

    let found = Store::is_there(dir).then(|| Store::open(dir, &Options::default())).transpose()?;
    found.iter().flat_map(Store::notes).for_each(|note| output::note(note));
    let begun = found.as_ref().map(|store| begun(store, &args.learner)).transpose()?.flatten();
    let (config, params) = settings(args, begun.as_ref())?;
    let from = base_model(args, &config)?;
    let data = input(args.data.as_deref(), found.as_ref())?;
    let known = found.as_ref().map(Store::schema);
    let schema = known.as_deref().or(from.as_ref().map(|(model, _)| model.schema()));
    let mut reader = data.as_deref().map(|path| open(&args.data_args, path, schema)).transpose()?;
    let test = read_test(args, &mut reader, schema)?;
    let store = found_or_new(dir, found, reader.as_ref())?;

    let config = Config { from: from.as_ref().map(|(_, named)| named.clone()).or(config.from), ..config };
    let restored = restore(&store, &args.learner)?;
    let (cursor, model, state) = match restored {
        Some((cursor, model, state)) => (cursor, model, Some(state)),
        None => (0, beginning(&store, from, &params, &config)?, None),
    };
    let at = state.as_ref().map(|_| cursor);
    let (cut, bytes, max_memory) = (config.cut, config.bytes, config.max_memory);
    let keeper = Keeper::new(store.clone(), &args.learner, args.checkpoint_every, config, at)?;
    let budget = hedgerow::core::Budget { bytes, ..budget };
    let wants_report = args.report.is_some();
    let plan = Plan { cut, test, par: &par, budget, max_memory, wants_report, keeper: Some(keeper) };
    let mut stream = StreamRun::new(model, plan)?;
    if let Some(state) = state {
        state.restore(cursor, &mut stream);
    }
    let shown = data.clone().unwrap_or_else(|| dir.to_path_buf());
    stream.seconds.read += start.elapsed().as_secs_f64();
    let mut feed = Feed::of_store(StoredRows::new(store.clone(), cursor, reader.zip(data.as_deref()))?);
    let mut lines = text::Lines::new(args.run.json, args.test.is_some() && !matches!(cut, Cut::Windows(_)));
    stream.run(&mut feed, &mut |window| lines.tell(window))?;
    let mut result =
        LearnResult::finish(&mut stream, &shown, [args.out.as_ref(), args.report.as_ref()], start)?;
    result.store = Some(StoreFacts {
        dir: dir.to_path_buf(),
        learner: args.learner.clone(),
        rows: store.n_rows(),
        events: store.end(),
        resumed_at: cursor,
    });
    if let Some(problem) = stream.problem {
        after_bad_row(result.rows, result.out.as_deref());
        return Err(problem.into());
    }
    result.batches = std::mem::take(&mut stream.windows.all);
    let has_learnt = result.rows > 0;
    note_dates(stream.model.schema(), &args.data_args.options());
    output::show(&text::Streamed(result), args.run.json)?;
    if !has_learnt && store.n_rows() > 0 {
        output::note(
            "no row has a label yet: name the column with --target, or give labels with `hedgerow store label`",
        );
    }
    Ok(Outcome::Done)
}

/// How a learner of the store was begun, if there is one of this name.
pub(crate) fn begun(store: &Store, name: &str) -> anyhow::Result<Option<Config>> {
    let learners = store.learners()?;
    let learner = learners.into_iter().find(|learner| learner.name == name && !learner.config.is_empty());
    Ok(learner.map(|learner| Config::read(&learner.config)).transpose()?)
}

/// The store in a folder: the one that was found, or a new one for the rows of an input.
pub(crate) fn found_or_new(
    dir: &Path,
    found: Option<Store>,
    reader: Option<&RowReader>,
) -> anyhow::Result<Store> {
    Ok(match (found, reader) {
        (Some(store), None) if store.n_rows() == 0 => {
            bail!("{}: there are no rows in the store yet; give the data to fill it with", dir.display())
        }
        (Some(store), _) => store,
        (None, Some(reader)) => Store::create(dir, reader.schema(), &Options::default())?,
        (None, None) => bail!("{}: there is no store yet; give the data to fill it with", dir.display()),
    })
}

/// How to learn: as the learner was begun, which what is asked for must not contradict; or, for a new one, as is asked for.
fn settings(args: &StreamArgs, begun: Option<&Config>) -> anyhow::Result<(Config, ModelParams)> {
    let cut = args.batch_rows.map_or(Cut::Windows(args.window), Cut::Every);
    let is_plain = args.model.is_none() && args.settings.is_empty() && args.seed.is_none();
    let Some(begun) = begun else {
        let params = params(check_learns(args)?, &args.settings, args.seed)?;
        let given = (args.settings.as_slice(), args.seed);
        return Ok((Config::new(&params, given, cut, args.limits.max_memory), params));
    };
    let kind: Kind = begun.model.parse().ok().with_context(|| format!("unknown kind {:?}", begun.model))?;
    let kept = params(kind, &begun.settings, begun.seed)?;
    let asked = if is_plain { kept.clone() } else { params(check_learns(args)?, &args.settings, args.seed)? };
    let cut = if cut == Cut::Windows(WINDOW) { begun.cut } else { cut };
    let max_memory = args.limits.max_memory.or(begun.max_memory);
    let now = Config {
        from: begun.from.clone(),
        bytes: begun.bytes,
        ..Config::new(&asked, (&begun.settings, begun.seed), cut, max_memory)
    };
    begun.check_same(&args.learner, &now)?;
    Ok((now, kept))
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

/// The data to read: what was named, or the input that the store was being filled with.
pub(crate) fn input(given: Option<&Path>, store: Option<&Store>) -> anyhow::Result<Option<PathBuf>> {
    if let Some(given) = given {
        return Ok(Some(given.to_path_buf()));
    }
    let Some(store) = store else { return Ok(None) };
    let unfinished = store.inputs()?.into_iter().rfind(|input: &Input| !input.is_done);
    let Some(Input { name, rows, .. }) = unfinished else { return Ok(None) };
    let path = PathBuf::from(&name);
    if path.is_file() {
        output::note(&format!("going on with {name} after row {}", output::count(rows)));
        return Ok(Some(path));
    }
    output::note(&format!("{name} was not read to its end and is not here; only what is stored is learnt"));
    Ok(None)
}

/// Rows of an input, as they are appended to a store of such columns and classes.
pub(crate) fn open(args: &DataArgs, path: &Path, schema: Option<&Schema>) -> Result<RowReader, Error> {
    let options = args.options();
    match schema {
        Some(schema) => RowReader::open_growing(path, &options, schema),
        None => Ok(RowReader::open(path, &options)?.for_learning()),
    }
}

fn read_test(
    args: &StreamArgs,
    reader: &mut Option<RowReader>,
    schema: Option<&Schema>,
) -> anyhow::Result<Option<TestData>> {
    let Some(path) = &args.test else { return Ok(None) };
    let Some(mut opened) = reader.take() else {
        let Some(schema) = schema else { return Ok(None) };
        return Ok(Some(TestData::read(path, &test_options(args), schema)?.0));
    };
    let (data, grown) = TestData::read(path, &test_options(args), opened.schema())?;
    opened = opened.with_schema(&grown)?;
    *reader = Some(opened);
    Ok(Some(data))
}

/// The learner at its newest checkpoint that can be used.
fn restore(store: &Store, name: &str) -> anyhow::Result<Option<(u64, Model, StreamState)>> {
    loop {
        let restored = store.load_checkpoint(name)?;
        restored.warnings.iter().for_each(|warning| output::note(&format!("warning: {warning}")));
        let Some(checkpoint) = restored.checkpoint else {
            if !restored.warnings.is_empty() {
                output::note("warning: no checkpoint is left; everything is learnt again from the store");
            }
            return Ok(None);
        };
        let state = serde_json::from_str(&checkpoint.state).map_err(anyhow::Error::from);
        match Model::from_bytes(&checkpoint.model).map_err(anyhow::Error::from).and_then(|m| Ok((m, state?)))
        {
            Ok((model, state)) => return Ok(Some((checkpoint.cursor, model, state))),
            Err(error) => {
                let cursor = checkpoint.cursor;
                output::note(&format!(
                    "warning: the checkpoint at event {cursor} cannot be used ({})",
                    output::with_causes(&error)
                ));
                store.drop_checkpoint(name, cursor)?;
            }
        }
    }
}

/// The model that a learner begins with.
fn beginning(
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
        return Err(Error::store(StoreProblem::Input { detail }).into());
    }
    Ok(Model::load(path)?)
}

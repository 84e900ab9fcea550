//! The loop that `update`, `stream` and `demo` share: rows are predicted, the predictions evaluated, and the rows learnt.

mod keeper;
mod memory;
mod page;
mod predictions;
mod result;
mod state;
mod stored;
mod windows;

use std::path::PathBuf;

use hedgerow::active::stream::Because;
use hedgerow::core::traits::largest;
use hedgerow::core::{
    Budget, Drift, Error, Par, Result, Schema, Silent, StopReason, Target, Training, Update,
};
use hedgerow::io::ReadOptions;
use hedgerow::report::LeastSure;
use hedgerow::{Delay, Model, Selective};
use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

pub(crate) use keeper::{Config, Keeper};
pub(crate) use predictions::Predictions;
pub(crate) use result::{LearnResult, QueryFigures, SetFigures};
pub(crate) use state::StreamState;
pub(crate) use stored::{Reading, StoredRows};
pub(crate) use windows::{Prequential, Score, Window, Windows};

use super::{Chunk, Evaluation, Feed, LeftOut, NumberedRows, Renewed, RunningMetrics, timed};
use state::PredictedRow;

/// Values learnt at once, predictions included, with and without a limit on memory; and rows.
const CHUNK_VALUES_IF_LIMITED: usize = 1 << 18;
const CHUNK_VALUES: usize = 1 << 21;
const CHUNK_ROWS: usize = 4_096;
/// Rows learnt at once where the time is limited, so that the limit is noticed.
const CHUNK_ROWS_IN_HASTE: usize = 256;
/// Drifts that are kept; more are counted.
const MOST_DRIFTS: usize = 1_000;

/// Where batches end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cut {
    /// There are none, only windows of so many rows.
    Windows(u64),
    /// After every so many rows.
    Every(u64),
    /// So many equal batches of so many rows in all.
    Equal { batches: u64, rows: u64 },
}

impl Cut {
    /// The end of the batch in which a row lies, in rows.
    fn end_after(self, row: u64) -> u64 {
        match self {
            Self::Windows(_) => u64::MAX,
            Self::Every(n) => (row / n + 1) * n,
            Self::Equal { batches, rows } => {
                let end = |batch: u64| (u128::from(batch) * u128::from(rows) / u128::from(batches)) as u64;
                (1..=batches).map(end).find(|&end| end > row).unwrap_or(u64::MAX)
            }
        }
    }
}

/// Why the label of each row was asked for, if it was.
type Asked = Vec<Option<Because>>;

/// What is called with every stretch that has ended.
pub(crate) type Tell<'a> = dyn FnMut(&Window) -> anyhow::Result<()> + 'a;

/// How rows are to be learnt.
pub(crate) struct Plan<'a> {
    pub(crate) cut: Cut,
    pub(crate) test: Option<TestRows>,
    pub(crate) par: &'a Par,
    pub(crate) budget: Budget,
    pub(crate) max_memory: Option<u64>,
    /// Whether a report will be written.
    pub(crate) wants_report: bool,
    /// Saves the model in a store on the way.
    pub(crate) keeper: Option<Keeper>,
    /// Rows that come before the label of one does.
    pub(crate) delay: usize,
    /// Where predictions are written.
    pub(crate) predictions: Option<Predictions>,
    /// Asks for labels, where only some are learnt.
    pub(crate) selective: Option<Selective>,
}

impl<'a> Plan<'a> {
    /// The plan of a stream that is only learnt.
    pub(crate) fn new(cut: Cut, par: &'a Par, budget: Budget) -> Self {
        Self {
            cut,
            test: None,
            par,
            budget,
            max_memory: None,
            wants_report: false,
            keeper: None,
            delay: 0,
            predictions: None,
            selective: None,
        }
    }
}

/// Rows to evaluate the model on.
pub(crate) enum TestRows {
    /// In memory, to be predicted again and again.
    Memory(NumberedRows),
    /// In a file that is read at the end.
    File(PathBuf, ReadOptions),
}

/// A model that predicts and learns a stream of rows.
pub(crate) struct StreamRun<'a> {
    pub(crate) model: Model,
    plan: Plan<'a>,
    pub(crate) state: StreamState,
    /// The place in the store's log after the last row learnt.
    cursor: u64,
    /// Rows learnt before the program was started, where a store kept them.
    rows_before: u64,
    stop: StopReason,
    /// What ended it, if it was bad input.
    problem: Option<Error>,
    left_out: LeftOut,
}

impl<'a> StreamRun<'a> {
    /// A run for a model that can learn row by row, from the start or from where a store has kept it; fails if it cannot.
    pub(crate) fn new(model: Model, plan: Plan<'a>, kept: Option<(u64, StreamState)>) -> Result<Self> {
        model.check_can_learn()?;
        let (cursor, state) = kept.unwrap_or_else(|| {
            let seen_before = model.n_seen().unwrap_or(0);
            let size = if let Cut::Windows(n) = plan.cut { Some(n) } else { None };
            let knows = if seen_before > 0 { model.schema().n_classes() } else { 0 };
            let (windows, has_met) = (Windows::new(size), vec![true; knows]);
            let (delay, running) = (Delay::new(plan.delay), RunningMetrics::new(model.task()));
            (0, StreamState { running, windows, has_met, seen_before, delay, ..StreamState::default() })
        });
        Ok(Self {
            model,
            plan,
            rows_before: state.windows.rows_seen(),
            state,
            cursor,
            stop: StopReason::Done,
            problem: None,
            left_out: LeftOut::default(),
        })
    }

    /// Learns everything there is, and tells of every stretch as it ends.
    pub(crate) fn run(&mut self, feed: &mut Feed<'_>, tell: &mut Tell<'_>) -> anyhow::Result<()> {
        let mut has_started = false;
        let mut end = self.plan.cut.end_after(self.state.windows.rows_seen());
        while self.stop == StopReason::Done {
            // What is told of a window is of the model as it is at its end.
            let room = (end - self.state.windows.rows_seen()).min(self.state.windows.room());
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            let most = self.chunk_rows(feed.schema()).min(room);
            let chunk = match timed(&mut self.state.seconds.read, || feed.next(most)) {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) if has_started => {
                    self.problem = Some(error);
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            if !std::mem::replace(&mut has_started, true) {
                self.limit_memory(feed.schema())?;
            }
            if chunk.old.is_some() {
                self.correct(&chunk, feed.schema())?;
            } else {
                self.learn(&chunk, feed.schema(), tell)?;
            }
            if self.state.windows.rows_seen() >= end {
                self.end_batch(tell)?;
                end = self.plan.cut.end_after(self.state.windows.rows_seen());
            }
            if let Some(reason) = self.plan.budget.spent() {
                self.stop = reason;
            }
            self.keep_safe(false)?;
        }
        // Before the last stretch is closed: if more rows come, it goes on, and the labels that are yet to come do.
        self.keep_safe(true)?;
        if self.plan.keeper.is_none() && has_started {
            self.learn_waiting(feed.schema())?;
        }
        self.left_out = feed.left_out()?;
        if self.state.windows.is_open() {
            self.end_batch(tell)?;
        }
        Ok(())
    }

    /// Whether the model is evaluated after batches, and not at the end only.
    pub(crate) fn has_batches(&self) -> bool {
        !matches!(self.plan.cut, Cut::Windows(_))
    }

    /// What came of trying new parts of the model.
    fn renewed(&self) -> Renewed {
        Renewed { kind: self.model.kind(), numbers: [self.state.n_tried, self.state.n_replaced] }
    }

    /// The predictions for the test data now.
    pub(crate) fn evaluate(&mut self, for_report: bool) -> Result<Option<Evaluation>> {
        let evaluation = match &self.plan.test {
            None => return Ok(None),
            Some(TestRows::Memory(rows)) => {
                Evaluation::of_rows(&self.model, rows, self.plan.par, for_report)?
            }
            Some(TestRows::File(path, options)) => {
                Evaluation::of_file(&self.model, path, options, self.plan.par, for_report)?
            }
        };
        self.state.seconds.predict += evaluation.seconds.predict;
        Ok(Some(evaluation))
    }

    /// The most uncertain predictions among the newest rows.
    fn least_sure(&self) -> LeastSure {
        let mut least = LeastSure::default();
        for PredictedRow { number, prediction, truth, values } in &self.state.newest {
            if let Target::Class(class) = truth {
                least.add(*number, ArrayView1::from(prediction), Some(*class), ArrayView1::from(values));
            }
        }
        least
    }

    fn end_batch(&mut self, tell: &mut Tell<'_>) -> anyhow::Result<()> {
        let evaluation = if self.has_batches() { self.evaluate(false)? } else { None };
        let metrics = evaluation.map(|evaluation| evaluation.metrics()).transpose()?;
        tell(&self.state.windows.close(metrics, self.model.memory_weights()))
    }

    fn chunk_rows(&self, schema: &Schema) -> usize {
        let most = if self.plan.budget.deadline.is_some() { CHUNK_ROWS_IN_HASTE } else { CHUNK_ROWS };
        let values = if self.plan.max_memory.is_some() { CHUNK_VALUES_IF_LIMITED } else { CHUNK_VALUES };
        (values / (schema.n_features() + 2 * schema.n_classes()).max(1)).clamp(16, most)
    }

    /// Tells the learner how much memory it may take, now that everything else is there.
    fn limit_memory(&mut self, schema: &Schema) -> Result<()> {
        let Some(limit) = self.plan.max_memory else { return Ok(()) };
        if self.plan.budget.bytes.is_some() {
            return Ok(());
        }
        let n_values = schema.n_features() + 2 * schema.n_classes();
        let chunk = (self.chunk_rows(schema) * n_values * size_of::<f64>()) as u64;
        let evaluating = match &self.plan.test {
            Some(TestRows::Memory(rows)) => memory::evaluation_bytes(&rows.data, schema.n_classes()),
            _ => 0,
        };
        let bytes = memory::learner_bytes(limit, &self.model, self.plan.par, chunk + evaluating)?;
        self.plan.budget.bytes = Some(bytes);
        // The model depends on it, so it must be the same when the program goes on later.
        self.plan.keeper.as_mut().map_or(Ok(()), |keeper| keeper.note_bytes(bytes))
    }

    /// Learns rows whose label was wrong: the model forgets what it can and learns the row with the new label. It has seen these
    /// rows, so its predictions for them do not count.
    fn correct(&mut self, chunk: &Chunk, schema: &Schema) -> Result<()> {
        // A label that can be corrected has come.
        self.learn_waiting(schema)?;
        for (i, &old) in chunk.old.iter().flatten().enumerate() {
            let forgot = self.model.forget(chunk.x.row(i), old, self.plan.par);
            let update = self.timed_learning(|_, model, training| {
                model.learn_rows(schema, chunk.rows().slice(i..i + 1), training)
            })?;
            self.state.count(&update.0);
            self.state.n_forgotten += usize::from(forgot);
            self.state.n_corrected += 1;
            self.cursor = chunk.cursor_after(i + 1);
            if self.plan.budget.spent().is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Has the model learn something; what came of it, and how long it took.
    fn timed_learning(
        &mut self,
        learn: impl FnOnce(&mut Delay, &mut Model, &Training<'_>) -> Result<Update>,
    ) -> Result<(Update, f64)> {
        let training = Training { par: self.plan.par, budget: &self.plan.budget, observer: &Silent };
        let mut seconds = 0.0;
        let update = timed(&mut seconds, || learn(&mut self.state.delay, &mut self.model, &training))?;
        self.state.seconds.fit += seconds;
        Ok((update, seconds))
    }

    /// Predicts and learns some rows, all or those whose labels are asked for. Returns why labels were asked for, where that is known yet, and how long it took.
    fn learn_chunk(&mut self, chunk: &Chunk, schema: &Schema) -> Result<(Update, Option<Asked>, f64)> {
        let Some(mut selective) = self.plan.selective.take() else {
            let learnt = self.timed_learning(|delay, model, training| {
                delay.learn(model, schema, chunk.rows(), training)
            })?;
            return Ok((learnt.0, None, learnt.1));
        };
        let mut because = Vec::new();
        let learnt = self.timed_learning(|_, model, training| {
            let (update, asked) = selective.learn(model, schema, chunk.rows(), training)?;
            because = asked;
            Ok(update)
        });
        // Of a batch, it is known at its end, when its first rows may have been written.
        let is_known = selective.params().batch == 1;
        self.plan.selective = Some(selective);
        let (update, seconds) = learnt?;
        Ok((update, is_known.then_some(because), seconds))
    }

    /// Learns the rows whose labels were yet to come.
    fn learn_waiting(&mut self, schema: &Schema) -> Result<()> {
        let (update, _) =
            self.timed_learning(|delay, model, training| delay.finish(model, schema, training))?;
        self.state.count(&update);
        Ok(())
    }

    /// Lets the keeper save the model if it is time.
    fn keep_safe(&mut self, is_end: bool) -> Result<()> {
        let Some(mut keeper) = self.plan.keeper.take() else { return Ok(()) };
        let kept = keeper.keep(self, is_end);
        self.plan.keeper = Some(keeper);
        kept
    }

    /// Predicts and learns some rows, and notes what came of it.
    fn learn(&mut self, chunk: &Chunk, schema: &Schema, tell: &mut Tell<'_>) -> anyhow::Result<()> {
        let (update, queried, seconds) = self.learn_chunk(chunk, schema)?;
        if let Some(predictions) = &mut self.plan.predictions {
            predictions.write(chunk, &update, queried.as_deref(), schema)?;
        }
        self.cursor = chunk.cursor_after(update.n_learnt);
        let is_selective = self.plan.selective.is_some();
        let state = &mut self.state;
        state.count(&update);
        // Where only some labels are learnt, drifts are counted in the rows of this stream already.
        let counted = |&drift: &Drift| if is_selective { drift } else { state.counted_here(drift) };
        let drifts: Vec<Drift> = update.drifts.iter().map(counted).collect();
        state.n_drifts += drifts.len();
        state.drifts.extend(drifts.iter().take(MOST_DRIFTS.saturating_sub(state.drifts.len())));
        let mut drifts = drifts.into_iter().peekable();
        for (i, truth) in chunk.targets.view().iter().take(update.n_learnt).enumerate() {
            let prediction = update.predictions.row(i);
            let weight = chunk.weights.as_ref().map_or(1.0, |w| w[i]);
            while let Some(drift) = drifts.next_if(|drift| drift.noticed_at <= state.windows.rows_seen() + 1)
            {
                state.windows.note_drift(drift);
            }
            state.running.add(prediction, truth, weight);
            let score = match truth {
                Target::Class(class) => {
                    state.meet(class, schema.labels.name(class));
                    let set = update.sets.get(i).copied().unwrap_or_default();
                    state.sets.add(set);
                    let best = largest(prediction);
                    Score::Class {
                        is_right: best == Some(class.index()),
                        log_loss: -prediction[class.index()].max(1e-15).ln(),
                        top: best.map_or(0.0, |class| prediction[class]),
                        set,
                    }
                }
                Target::Value(truth) => Score::Value { mean: prediction[0], variance: prediction[1], truth },
            };
            let is_end = state.windows.add(score, seconds / update.n_learnt as f64);
            if self.plan.wants_report {
                state.keep(PredictedRow {
                    number: chunk.numbers[i],
                    prediction: prediction.to_vec(),
                    truth,
                    values: chunk.x.row(i).to_vec(),
                });
            }
            if is_end {
                tell(&state.windows.close(None, self.model.memory_weights()))?;
            }
        }
        Ok(())
    }
}

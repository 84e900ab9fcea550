//! The loop that `update`, `stream` and `demo` share: rows are predicted, the predictions evaluated, and the rows learnt.

mod feed;
mod keeper;
mod memory;
mod page;
mod result;
mod state;
mod stored;
mod test_data;
mod windows;

use std::collections::VecDeque;
use std::time::Instant;

use hedgerow::Model;
use hedgerow::core::metrics::{Report, Running};
use hedgerow::core::traits::largest;
use hedgerow::core::{
    Budget, ClassId, Drift, Error, Par, Result, Rows, Schema, Silent, StopReason, Training, Update,
};
use hedgerow::report::LeastSure;
use ndarray::{Array2, ArrayView1, s};
use serde::{Deserialize, Serialize};

pub(crate) use feed::{Feed, count_rows, no_target};
pub(crate) use keeper::{Config, Keeper, write_model};
pub(crate) use page::page;
pub(crate) use result::{LearnResult, StoreFacts};
pub(crate) use state::StreamState;
pub(crate) use stored::{Reading, StoredRows};
pub(crate) use test_data::TestData;
pub(crate) use windows::{Window, Windows};

use super::Renewed;
use super::fit::Seconds;
use feed::Chunk;

/// Values learnt at once, predictions included, with and without a limit on memory; and rows.
const CHUNK_VALUES_IF_LIMITED: usize = 1 << 18;
const CHUNK_VALUES: usize = 1 << 21;
const CHUNK_ROWS: usize = 4_096;
/// Rows learnt at once where the time is limited, so that the limit is noticed.
const CHUNK_ROWS_IN_HASTE: usize = 256;
/// Newest rows that are kept for a report.
const NEWEST: usize = 1_000;
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

/// How rows are to be learnt.
pub(crate) struct Plan<'a> {
    pub(crate) cut: Cut,
    pub(crate) test: Option<TestData>,
    pub(crate) par: &'a Par,
    pub(crate) budget: Budget,
    pub(crate) max_memory: Option<u64>,
    /// Whether a report will be written.
    pub(crate) wants_report: bool,
    /// Saves the model in a store on the way.
    pub(crate) keeper: Option<Keeper>,
}

/// A model that predicts and learns a stream of rows.
pub(crate) struct StreamRun<'a> {
    pub(crate) model: Model,
    plan: Plan<'a>,
    /// Prequential metrics.
    pub(crate) running: Running,
    pub(crate) windows: Windows,
    pub(crate) seconds: Seconds,
    pub(crate) n_tried: usize,
    pub(crate) n_replaced: usize,
    pub(crate) n_forgotten: usize,
    pub(crate) drifts: Vec<Drift>,
    pub(crate) n_drifts: usize,
    /// Classes that came up for the first time.
    pub(crate) new_classes: Vec<String>,
    has_met: Vec<bool>,
    /// Rows that the model had learnt before.
    seen_before: u64,
    newest: VecDeque<PredictedRow>,
    /// The place in the store's log after the last row learnt.
    cursor: u64,
    /// Rows learnt before the program was started, where a store kept them; and rows learnt again with another label.
    pub(crate) rows_before: u64,
    pub(crate) n_corrected: u64,
    pub(crate) stop: StopReason,
    /// What ended it, if it was bad input.
    pub(crate) problem: Option<Error>,
    pub(crate) without_label: u64,
}

/// A row and its prediction.
struct PredictedRow {
    number: u64,
    prediction: Vec<f64>,
    truth: ClassId,
    values: Vec<f32>,
}

impl<'a> StreamRun<'a> {
    /// A run for a model that can learn row by row; fails if it cannot.
    pub(crate) fn new(model: Model, plan: Plan<'a>) -> Result<Self> {
        model.classifier()?;
        model.check_can_learn()?;
        let seen_before = model.n_seen().unwrap_or(0);
        let size = if let Cut::Windows(n) = plan.cut { Some(n) } else { None };
        let knows = if seen_before > 0 { model.schema().n_classes() } else { 0 };
        Ok(Self {
            has_met: vec![true; knows],
            seen_before,
            model,
            plan,
            running: Running::default(),
            windows: Windows::new(size),
            seconds: Seconds::default(),
            n_tried: 0,
            n_replaced: 0,
            n_forgotten: 0,
            drifts: Vec::new(),
            n_drifts: 0,
            new_classes: Vec::new(),
            newest: VecDeque::new(),
            cursor: 0,
            rows_before: 0,
            n_corrected: 0,
            stop: StopReason::Done,
            problem: None,
            without_label: 0,
        })
    }

    /// Learns everything there is, and tells of every stretch as it ends.
    pub(crate) fn run(
        &mut self,
        feed: &mut Feed,
        tell: &mut dyn FnMut(&Window) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut has_started = false;
        let mut end = self.plan.cut.end_after(self.windows.rows_seen());
        while self.stop == StopReason::Done {
            let clock = Instant::now();
            let room = end - self.windows.rows_seen();
            let chunk =
                feed.next(self.chunk_rows(feed.schema()).min(usize::try_from(room).unwrap_or(usize::MAX)));
            self.seconds.read += clock.elapsed().as_secs_f64();
            let chunk = match chunk {
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
            if self.windows.rows_seen() >= end {
                self.end_batch(tell)?;
                end = self.plan.cut.end_after(self.windows.rows_seen());
            }
            if let Some(reason) = self.plan.budget.spent() {
                self.stop = reason;
            }
            self.keep_safe(false)?;
        }
        // Before the last stretch is closed: if more rows come, it goes on.
        self.keep_safe(true)?;
        self.without_label = feed.without_label;
        if self.windows.is_open() {
            self.end_batch(tell)?;
        }
        Ok(())
    }

    pub(crate) fn test(&self) -> Option<&TestData> {
        self.plan.test.as_ref()
    }

    /// What came of trying new parts of the model.
    pub(crate) fn renewed(&self) -> Renewed {
        Renewed { kind: self.model.kind(), numbers: [self.n_tried, self.n_replaced] }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.windows.rows_seen()
    }

    /// The predictions for the test data now, and how good they are.
    pub(crate) fn evaluate(&mut self) -> Result<Option<(Array2<f64>, Report)>> {
        let Some(test) = &self.plan.test else { return Ok(None) };
        let clock = Instant::now();
        let proba = test.predictions(&self.model, self.plan.par)?;
        self.seconds.predict += clock.elapsed().as_secs_f64();
        let report = test.evaluate(&proba)?;
        Ok(Some((proba, report)))
    }

    /// The most uncertain predictions among the newest rows.
    pub(crate) fn least_sure(&self) -> LeastSure {
        let mut least = LeastSure::default();
        for row in &self.newest {
            least.add(
                row.number,
                ArrayView1::from(&row.prediction),
                Some(row.truth),
                ArrayView1::from(&row.values),
            );
        }
        least
    }

    /// The newest rows, with their classes.
    fn newest_rows(&self) -> (Array2<f32>, Vec<ClassId>) {
        let n_features = self.model.schema().n_features();
        let x = Array2::from_shape_fn((self.newest.len(), n_features), |(i, d)| self.newest[i].values[d]);
        (x, self.newest.iter().map(|row| row.truth).collect())
    }

    fn end_batch(&mut self, tell: &mut dyn FnMut(&Window) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let has_batches = !matches!(self.plan.cut, Cut::Windows(_));
        let metrics = if has_batches { self.evaluate()?.map(|(_, report)| report) } else { None };
        tell(&self.windows.close(metrics))
    }

    fn chunk_rows(&self, schema: &Schema) -> usize {
        let most = if self.plan.budget.is_limited_in_time() { CHUNK_ROWS_IN_HASTE } else { CHUNK_ROWS };
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
        let evaluating = self.plan.test.as_ref().map_or(0, |test| test.evaluation_bytes(schema.n_classes()));
        self.plan.budget.bytes =
            Some(memory::learner_bytes(limit, &self.model, self.plan.par, chunk + evaluating)?);
        // The model depends on it, so it must be the same when the program goes on later.
        match (&mut self.plan.keeper, self.plan.budget.bytes) {
            (Some(keeper), Some(bytes)) => keeper.note_bytes(bytes),
            _ => Ok(()),
        }
    }

    /// Predicts and learns some rows.
    fn learn(
        &mut self,
        chunk: &Chunk,
        schema: &Schema,
        tell: &mut dyn FnMut(&Window) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let rows = Rows::new(chunk.x.view(), chunk.labels.as_slice(), chunk.weights.as_deref());
        let training = Training { par: self.plan.par, budget: &self.plan.budget, observer: &Silent };
        let clock = Instant::now();
        let update = self.model.learn_rows(schema, rows, &training)?;
        let seconds = clock.elapsed().as_secs_f64();
        self.seconds.fit += seconds;
        self.note(chunk, &update, seconds, tell)?;
        self.cursor = chunk.cursor_after(update.n_learnt);
        Ok(())
    }

    /// Learns rows whose label was wrong: the model forgets what it can and learns the row with the new label. It has seen these
    /// rows, so its predictions for them do not count.
    fn correct(&mut self, chunk: &Chunk, schema: &Schema) -> Result<()> {
        for (i, &old) in chunk.old.iter().flatten().enumerate() {
            let clock = Instant::now();
            self.n_forgotten += usize::from(self.model.forget(chunk.x.row(i), old, self.plan.par));
            let rows = Rows::new(
                chunk.x.slice(s![i..=i, ..]),
                &chunk.labels[i..=i],
                chunk.weights.as_ref().map(|w| &w[i..=i]),
            );
            let training = Training { par: self.plan.par, budget: &self.plan.budget, observer: &Silent };
            let update = self.model.learn_rows(schema, rows, &training)?;
            self.seconds.fit += clock.elapsed().as_secs_f64();
            self.n_tried += update.n_tried;
            self.n_replaced += update.n_replaced;
            self.n_forgotten += update.n_forgotten;
            self.n_corrected += 1;
            self.cursor = chunk.cursor_after(i + 1);
            if self.plan.budget.spent().is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Lets the keeper save the model if it is time.
    fn keep_safe(&mut self, is_end: bool) -> Result<()> {
        let Some(mut keeper) = self.plan.keeper.take() else { return Ok(()) };
        let kept = keeper.keep(self, is_end);
        self.plan.keeper = Some(keeper);
        kept
    }

    /// Notes what came of some rows.
    fn note(
        &mut self,
        chunk: &Chunk,
        update: &Update,
        seconds: f64,
        tell: &mut dyn FnMut(&Window) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.n_tried += update.n_tried;
        self.n_replaced += update.n_replaced;
        self.n_forgotten += update.n_forgotten;
        let drifts: Vec<Drift> = update.drifts.iter().map(|&drift| self.counted_here(drift)).collect();
        self.n_drifts += drifts.len();
        self.drifts.extend(drifts.iter().take(MOST_DRIFTS.saturating_sub(self.drifts.len())));
        let mut drifts = drifts.into_iter().peekable();
        for i in 0..update.n_learnt {
            let (prediction, truth) = (update.predictions.row(i), chunk.labels[i]);
            let weight = chunk.weights.as_ref().map_or(1.0, |w| w[i]);
            self.meet(truth);
            while let Some(drift) = drifts.next_if(|drift| drift.noticed_at <= self.windows.rows_seen() + 1) {
                self.windows.note_drift(drift);
            }
            self.running.add(prediction, truth, weight);
            let loss = -prediction[truth.index()].max(1e-15).ln();
            let is_right = largest(prediction) == Some(truth.index());
            let is_end = self.windows.add(is_right, loss, seconds / update.n_learnt as f64);
            if self.plan.wants_report {
                self.keep(PredictedRow {
                    number: chunk.numbers[i],
                    prediction: prediction.to_vec(),
                    truth,
                    values: chunk.x.row(i).to_vec(),
                });
            }
            if is_end {
                tell(&self.windows.close(None))?;
            }
        }
        Ok(())
    }

    /// Notes a class that comes up for the first time.
    fn meet(&mut self, class: ClassId) {
        if self.has_met.len() <= class.index() {
            self.has_met.resize(class.index() + 1, false);
        }
        if !std::mem::replace(&mut self.has_met[class.index()], true) {
            let name = self.model.schema().labels.name(class).to_string();
            self.windows.note_class(&name);
            self.new_classes.push(name);
        }
    }

    /// The drift with its rows counted from the start of this stream.
    fn counted_here(&self, drift: Drift) -> Drift {
        let here = |row: u64| row.saturating_sub(self.seen_before);
        Drift { noticed_at: here(drift.noticed_at), since: here(drift.since), ..drift }
    }

    fn keep(&mut self, row: PredictedRow) {
        if self.newest.len() >= NEWEST {
            self.newest.pop_front();
        }
        self.newest.push_back(row);
    }
}

//! An engine fed from a store: one append there sets off all learning.
//!
//! A thread waits at the end of the store's log and hands on what is appended: rows that have a label, rows whose label comes later, and labels that were corrected.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hedgerow_core::{ClassId, Dataset, Error, Features, Result, Schema};
use hedgerow_store::{Block, Change, Store, Subscription};
use hedgerow_trainer::Access;
use ndarray::Axis;

use super::Engine;
use super::host::EngineHost;

/// Events read at once.
const BLOCK: usize = 4096;
/// How soon the thread looks whether it is still wanted, and how soon others look whether it has come to the end.
const LOOK: Duration = Duration::from_millis(50);
const SOON: Duration = Duration::from_millis(1);

/// How far an engine has read the store that it observes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The place after the last event that it was given.
    pub cursor: u64,
    /// What went wrong; nothing more is read then.
    pub problem: Option<String>,
}

/// A store that is being observed.
pub(super) struct Observation {
    store: Store,
    is_over: Arc<AtomicBool>,
    observed: Arc<Mutex<Observed>>,
    thread: Option<JoinHandle<()>>,
}

impl Observation {
    fn observed(&self) -> Observed {
        lock(&self.observed).clone()
    }

    fn is_behind(&self) -> bool {
        let Observed { cursor, problem } = self.observed();
        problem.is_none() && cursor < self.store.end()
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Engine {
    /// Gives it all rows and labels of a store, and from now on whatever is appended there. It was started with the store's [first schema](Store::first_schema), or with a
    /// later one. Returns when it has been given what the store holds.
    pub fn observe(&self, store: &Store) -> Result<()> {
        let mut own = lock(&self.observation);
        if own.is_some() {
            return Err(Error::param("store", "one for an engine", "a second one"));
        }
        let mut feeder =
            Feeder { access: self.trainer.access(), events: store.subscribe(0), places: Vec::new() };
        // All that is there at once: the first look at rows should see as many as possible, and always the same.
        feeder.feed(usize::MAX)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let observed = Arc::new(Mutex::new(Observed { cursor: feeder.events.cursor(), problem: None }));
        let (end, progress) = (Arc::clone(&is_over), Arc::clone(&observed));
        let thread =
            std::thread::Builder::new().name("observer".into()).spawn(move || feeder.run(&end, &progress));
        let failed = |e: std::io::Error| Error::Threads { threads: 1, reason: e.to_string() };
        let thread = Some(thread.map_err(failed)?);
        *own = Some(Observation { store: store.clone(), is_over, observed, thread });
        Ok(())
    }

    /// How far it has read the store that it observes; none if it observes none.
    pub fn observed(&self) -> Option<Observed> {
        lock(&self.observation).as_ref().map(Observation::observed)
    }

    pub(super) fn is_behind(&self) -> bool {
        lock(&self.observation).as_ref().is_some_and(Observation::is_behind)
    }

    /// Waits until it has been given all that the store holds, or the work has ended.
    pub(super) fn catch_up(&self) {
        while self.is_behind() && self.trainer.rest().is_none_or(|reason| !super::is_end(reason)) {
            std::thread::sleep(SOON);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands on what a store holds.
struct Feeder {
    access: Access<EngineHost>,
    events: Subscription,
    /// The place in the engine of each row of the store, by number; the largest number where it has none.
    places: Vec<u64>,
}

impl Feeder {
    fn run(mut self, is_over: &AtomicBool, observed: &Mutex<Observed>) {
        while !is_over.load(Ordering::Acquire) {
            if !self.events.wait(LOOK) {
                continue;
            }
            let fed = self.feed(1);
            let mut observed = lock(observed);
            match fed {
                Ok(()) => observed.cursor = self.events.cursor(),
                Err(error) => {
                    observed.problem = Some(error.to_string());
                    return;
                }
            }
        }
    }

    /// Hands on events, so many blocks at most, together.
    fn feed(&mut self, most: usize) -> Result<()> {
        let mut blocks = Vec::new();
        while blocks.len() < most
            && let Some(block) = self.events.next(BLOCK)?
        {
            blocks.push(Labelled::new(&block)?);
        }
        let places = &mut self.places;
        let given = self.access.with(|host| blocks.into_iter().try_for_each(|rows| rows.give(host, places)));
        given.unwrap_or(Ok(()))
    }
}

/// What a block of events tells about labels.
struct Labelled {
    /// Rows that have a label from now on, and their numbers.
    data: Dataset,
    numbers: Vec<u64>,
    /// Rows that have another label from now on, by number.
    corrections: Vec<(u64, ClassId)>,
}

impl Labelled {
    fn new(block: &Block) -> Result<Self> {
        let (mut chosen, mut labels, mut corrections) = (Vec::new(), Vec::new(), Vec::new());
        for (i, change) in block.changes.iter().enumerate() {
            match change {
                Change::Row(Some(label)) | Change::Label(label) => {
                    chosen.push(i);
                    labels.push(*label);
                }
                Change::Correction { new, .. } => corrections.push((block.rows[i], *new)),
                Change::Row(None) => {}
            }
        }
        let features = Features::from_view(block.x.select(Axis(0), &chosen).view());
        let weights = block.weights.as_ref().map(|weights| chosen.iter().map(|&i| weights[i]).collect());
        let data = Dataset::new(Schema::clone(&block.schema), features, labels, weights)?;
        Ok(Self { data, numbers: chosen.iter().map(|&i| block.rows[i]).collect(), corrections })
    }

    fn give(mut self, host: &mut EngineHost, places: &mut Vec<u64>) -> Result<()> {
        // An engine that was started later knows more classes than the first events do.
        if host.inbox.schema.check_growth(&self.data.schema).is_err() {
            self.data.schema.check_growth(&host.inbox.schema)?;
            self.data.edit(|data| data.schema = host.inbox.schema.clone())?;
        }
        let schema = self.data.schema.clone();
        let first = host.inbox.append(self.data);
        for (number, place) in self.numbers.into_iter().zip(first..) {
            let row = number.saturating_sub(1) as usize;
            if places.len() <= row {
                places.resize(row + 1, u64::MAX);
            }
            places[row] = place;
        }
        let place = |row: u64| places.get(row.saturating_sub(1) as usize).copied().filter(|p| *p != u64::MAX);
        let labels = self.corrections.iter().filter_map(|(row, class)| Some((place(*row)?, *class)));
        host.inbox.relabel(&schema, labels.collect());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{LabelTable, Par, StopReason};
    use hedgerow_forest::ForestParams;
    use hedgerow_store::{NewRows, Options};

    use super::*;
    use crate::engine::{Earlier, EngineOptions, Finished};
    use crate::kinds::ModelParams;

    fn params() -> ModelParams {
        ForestParams { n_trees: 8, ..Default::default() }.into()
    }

    /// Threads that do not give way: other tests keep the cores busy.
    fn options() -> EngineOptions {
        EngineOptions { threads: 2, gives_way: false, ..Default::default() }
    }

    fn append(store: &Store, data: &Dataset, rows: std::ops::Range<usize>, has_labels: bool) {
        let x = data.features.to_array(rows.clone());
        let labels: Vec<Option<ClassId>> = data.labels()[rows].iter().map(|label| Some(*label)).collect();
        let labels = has_labels.then_some(&labels[..]);
        store.append(&data.schema, &NewRows { x: x.view(), labels, weights: None }).unwrap();
    }

    fn right(model: &crate::Model, data: &Dataset) -> f64 {
        let x = data.features.to_array(0..data.n_rows());
        let said = model.predict_classes(x.view(), &Par::sequential()).unwrap();
        said.iter().zip(data.labels()).filter(|(a, b)| a == b).count() as f64 / data.n_rows() as f64
    }

    /// The literal promise: nothing but an append, and the published model is another one that knows what was appended.
    #[test]
    fn one_append_sets_off_all_learning() {
        let data = blobs(600, 3, 3, 1);
        let mut schema = data.schema.clone();
        schema.labels = LabelTable::default();
        let dir = tempfile::tempdir().unwrap();
        let durable = Store::create(dir.path().join("kept"), &schema, &Options::default()).unwrap();
        for store in [Store::in_memory(schema.clone()).unwrap(), durable] {
            let engine = Engine::start(store.first_schema(), &params(), &options()).unwrap();
            engine.observe(&store).unwrap();
            let before = engine.snapshot();
            assert!(!before.is_trained());
            append(&store, &data, 0..300, true);
            let start = std::time::Instant::now();
            while Arc::ptr_eq(&before, &engine.snapshot()) {
                assert!(start.elapsed() < Duration::from_secs(60), "{:?}", engine.observed());
                std::thread::sleep(SOON);
            }
            assert_eq!(engine.wait(), StopReason::Done);
            assert!(right(&engine.snapshot().model, &data) > 0.9);
            // And again.
            append(&store, &data, 300..600, true);
            assert_eq!(engine.wait(), StopReason::Done);
            assert_eq!(engine.observed().unwrap(), Observed { cursor: 600, problem: None });
            assert_eq!(engine.finish().unwrap().model.n_seen(), Some(600));
        }
    }

    #[test]
    fn labels_may_come_late_and_be_corrected() {
        let data = blobs(400, 3, 3, 2);
        let store = Store::in_memory(data.schema.clone()).unwrap();
        append(&store, &data, 0..200, false);
        append(&store, &data, 200..400, true);
        let engine = Engine::start(data.schema.clone(), &params(), &options()).unwrap();
        engine.observe(&store).unwrap();
        assert!(engine.observe(&store).is_err(), "one store only");
        engine.wait();
        assert_eq!(engine.jobs()[0].status.points, 200, "rows without a label are not learnt");
        // All get the label of the next class, then their own.
        let all = |turn: u32| -> Vec<(u64, ClassId)> {
            let of = |(row, label): (usize, &ClassId)| (row as u64 + 1, ClassId((label.0 + turn) % 3));
            data.labels().iter().enumerate().map(of).collect()
        };
        store.label(&data.schema, &all(1)).unwrap();
        engine.wait();
        assert_eq!(engine.jobs()[0].status.points, 400);
        assert!(right(&engine.snapshot().model, &data) < 0.1);
        store.label(&data.schema, &all(0)).unwrap();
        engine.wait();
        assert!(right(&engine.snapshot().model, &data) > 0.9);
        assert_eq!(engine.jobs()[0].status.points, 400, "a correction is no new row");
        assert!(engine.relabel(&data.schema, &[(400, ClassId(0))]).is_err());
        assert!(engine.relabel(&data.schema, &[(0, ClassId(3))]).is_err());
    }

    /// What is kept while an engine goes on is a whole model.
    #[test]
    fn a_snapshot_can_be_kept_while_training_goes_on() {
        let data = blobs(800, 3, 3, 4);
        let store = Store::in_memory(data.schema.clone()).unwrap();
        append(&store, &data, 0..500, true);
        let engine = Engine::start(data.schema.clone(), &params(), &options()).unwrap();
        engine.observe(&store).unwrap();
        let mut kept = Vec::new();
        while engine.rest().is_none() {
            kept.push(engine.snapshot());
        }
        append(&store, &data, 500..800, true);
        kept.push(engine.snapshot());
        engine.wait();
        kept.push(engine.snapshot());
        let last = kept.last().unwrap().model.clone();
        assert!(last == engine.finish().unwrap().model);
        for snapshot in kept.iter().filter(|snapshot| snapshot.is_trained()) {
            let model = snapshot.model.clone();
            assert!(crate::Model::from_bytes(&model.to_bytes().unwrap()).unwrap() == model);
            assert!(right(&model, &data) > 0.8 && model.n_seen() >= Some(500));
        }
    }

    #[test]
    fn an_engine_goes_on_from_what_another_left() {
        let data = blobs(600, 3, 3, 3);
        let store = Store::in_memory(data.schema.clone()).unwrap();
        append(&store, &data, 0..400, true);
        let first = Engine::start(data.schema.clone(), &params(), &options()).unwrap();
        first.observe(&store).unwrap();
        first.wait();
        let Finished { model, validation, n_rows, .. } = first.finish().unwrap();
        assert_eq!(n_rows, 400);
        append(&store, &data, 400..600, true);
        let earlier = Earlier { model: model.clone(), validation };
        let second = Engine::start_from(data.schema.clone(), &params(), &options(), earlier.clone()).unwrap();
        assert!(second.snapshot().model == model, "it predicts at once");
        second.pause();
        second.observe(&store).unwrap();
        second.resume();
        second.wait();
        let after = second.finish().unwrap();
        assert_eq!((after.n_rows, after.model.n_seen()), (600, Some(600)));
        assert!(after.validation.is_some() && right(&after.model, &data) > 0.95);
        // One that ends before it has looked at any row leaves what it was given.
        let third = Engine::start_from(data.schema.clone(), &params(), &options(), earlier.clone()).unwrap();
        third.pause();
        third.observe(&store).unwrap();
        let left = third.finish().unwrap();
        assert!(left.model == model && left.validation == earlier.validation);
        let other = ModelParams::new(crate::Kind::Ivm);
        assert!(Engine::start_from(data.schema.clone(), &other, &options(), earlier).is_err());
    }
}

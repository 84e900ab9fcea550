//! What happens to an engine under stress.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::testing::blobs;
use hedgerow::core::{ClassId, Dataset, Par, Quality, Schema};
use hedgerow::engine::EngineOptions;
use hedgerow::{Engine, Model, ModelParams};

/// Rows in all, those to begin with, and when the third class comes.
const N_ROWS: usize = 4000;
const FIRST: usize = 200;
const LATE: usize = 1000;
/// Labels that are wrong at a time, at most.
const MOST_WRONG: usize = 40;

/// A kind of engine.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) params: ModelParams,
    /// What its jobs may hold.
    pub(crate) bytes: Option<u64>,
    /// Whether it comes to rest by itself.
    pub(crate) has_end: bool,
}

/// An engine, its rows, and how far they were given.
pub(crate) struct SoakRun<'a> {
    pub(crate) engine: Engine,
    scene: &'a Scene,
    data: Dataset,
    seed: u64,
    given: Mutex<Given>,
}

#[derive(Default)]
struct Given {
    n_rows: usize,
    /// Rows that have a wrong label now.
    wrong: Vec<usize>,
    n_cancelled: usize,
}

impl<'a> SoakRun<'a> {
    /// An engine that knows two classes and has some rows of them.
    pub(crate) fn start(scene: &'a Scene, options: &EngineOptions, seed: u64) -> Self {
        let mut data = blobs(N_ROWS, 4, 3, seed);
        // The third class comes late.
        for row in 0..LATE {
            if data.labels()[row].0 == 2 {
                data = swapped(data, row);
            }
        }
        let engine = Engine::start(early(&data.schema), &scene.params, options).unwrap();
        let course = Self { engine, scene, data, seed, given: Mutex::default() };
        course.give(FIRST);
        course
    }

    /// Gives it so many rows more; those of the third class bring a schema that knows it.
    fn give(&self, n: usize) {
        let mut given = self.given.lock().unwrap();
        let end = (given.n_rows + n).min(N_ROWS);
        if end == given.n_rows {
            return;
        }
        let rows: Vec<usize> = (given.n_rows..end).collect();
        let (rows, schema) = (self.data.select(&rows), &self.data.schema);
        let rows = if end <= LATE { rows.under(&early(schema)).unwrap() } else { rows };
        let first = self.engine.append_data(rows).unwrap();
        assert_eq!(first as usize, given.n_rows, "rows have their places");
        given.n_rows = end;
    }

    /// Gives wrong labels to some rows, or the right ones back.
    fn relabel(&self, rng: &mut Rng) {
        let mut given = self.given.lock().unwrap();
        let schema = if given.n_rows <= LATE { early(&self.data.schema) } else { self.data.schema.clone() };
        let n_classes = schema.n_classes() as u32;
        let labels: Vec<(u64, ClassId)> = if given.wrong.is_empty() {
            given.wrong = (0..=rng.index(MOST_WRONG)).map(|_| rng.index(given.n_rows)).collect();
            let other = |row: &usize| (*row as u64, ClassId((self.data.labels()[*row].0 + 1) % n_classes));
            given.wrong.iter().map(other).collect()
        } else {
            let right = |row: usize| (row as u64, self.data.labels()[row]);
            std::mem::take(&mut given.wrong).into_iter().map(right).collect()
        };
        self.engine.relabel(&schema, &labels).unwrap();
    }

    /// Does something to it every few milliseconds.
    pub(crate) fn disturb_until(&self, end: Instant) {
        let mut rng = Rng::new(self.seed, Purpose::Data, 99);
        let start = Instant::now();
        let (length, mut next_labels) = (end - start, start + Duration::from_secs(3));
        while Instant::now() < end {
            match rng.index(8) {
                0 => self.engine.pause(),
                1..=3 => self.engine.resume(),
                4 => {
                    let job = rng.index(self.engine.jobs().len());
                    assert!(self.engine.set_job_paused(job, rng.index(2) == 0));
                }
                5 if start.elapsed() > length / 2 => self.cancel_one(),
                // Everything begins anew then, so not for ever.
                6 if Instant::now() > next_labels && start.elapsed() < length * 3 / 4 => {
                    self.relabel(&mut rng);
                    next_labels = Instant::now() + Duration::from_secs(2);
                }
                // So many that they come nearly until the end.
                _ => self.give(1 + rng.index(14)),
            }
            self.check_bytes();
            std::thread::sleep(Duration::from_millis(rng.index(60) as u64));
        }
    }

    /// Cancels one of the jobs that share a kind of work: the model can do without.
    fn cancel_one(&self) {
        let mut given = self.given.lock().unwrap();
        if given.n_cancelled < 2 {
            let shared =
                |job: &hedgerow::trainer::JobReport| ["trees", "kernel search"].contains(&job.status.kind);
            let job = self.engine.jobs().iter().rposition(shared);
            given.n_cancelled += usize::from(job.is_some_and(|job| self.engine.cancel_job(job)));
        }
    }

    fn check_bytes(&self) {
        let Some(limit) = self.scene.bytes else { return };
        let held: u64 = self.engine.jobs().iter().map(|job| job.status.bytes).sum();
        // The published model and rows that have come since are not the jobs' own.
        let own = self.engine.snapshot().model.bytes() as u64;
        assert!(held <= limit + own + limit / 4, "{}: {held} bytes of {limit}", self.scene.name);
    }

    /// Asks it all the time. Returns how often.
    pub(crate) fn ask_until(&self, end: Instant, asker: u64) -> usize {
        let mut rng = Rng::new(self.seed, Purpose::Data, 100 + asker);
        let (mut n_asked, mut newest) = (0, (0, Duration::ZERO));
        let par = Par::sequential();
        while Instant::now() < end {
            let row = rng.index(N_ROWS);
            let x = self.data.features.to_array(row..row + 1);
            let proba = self.engine.predict_proba(x.view()).unwrap();
            assert!((proba.sum() - 1.0).abs() < 1e-6 && proba.iter().all(|p| (0.0..=1.0).contains(p)));
            let snapshot = self.engine.snapshot();
            let version = (snapshot.steps, snapshot.elapsed);
            assert!(version >= newest, "{}: {version:?} after {newest:?}", self.scene.name);
            newest = version;
            // A snapshot stays as it is, whatever is published meanwhile.
            let first = snapshot.model.predict_proba_par(x.view(), &par).unwrap();
            assert_eq!(first.ncols(), snapshot.model.schema().n_classes());
            if rng.index(20) == 0 {
                std::thread::sleep(Duration::from_millis(3));
                assert_eq!(first, snapshot.model.predict_proba_par(x.view(), &par).unwrap());
                assert!(snapshot.validation.as_ref().is_none_or(|quality| quality.log_loss().is_finite()));
                assert!(self.engine.jobs().iter().all(|job| job.attraction.is_finite()));
            }
            if asker == 0 && rng.index(400) == 0 {
                self.check_whole();
            }
            n_asked += 1;
        }
        n_asked
    }

    /// What would be kept of it now is a whole model.
    fn check_whole(&self) {
        let model = self.engine.snapshot().model.clone();
        let loaded = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert!(loaded == model, "{}: something else came back", self.scene.name);
    }

    /// All rows, the right labels, and no job is paused.
    pub(crate) fn set_right(&self) {
        self.give(N_ROWS);
        if !self.given.lock().unwrap().wrong.is_empty() {
            self.relabel(&mut Rng::new(self.seed, Purpose::Data, 98));
        }
        for job in 0..self.engine.jobs().len() {
            self.engine.set_job_paused(job, false);
        }
        self.engine.resume();
    }

    /// What has come of it.
    pub(crate) fn check_end(self) {
        let Self { engine, scene, data, .. } = self;
        let name = scene.name;
        let snapshot = engine.snapshot();
        let quality = snapshot.validation.clone().unwrap();
        let is_good = matches!(&quality, Quality::Classes(quality) if quality.balanced_accuracy > 0.93);
        assert!(is_good, "{name}: {quality:?}");
        let finished = engine.finish().unwrap();
        assert_eq!(finished.model.schema().n_classes(), 3, "{name}");
        // Trees without end are busy for ever: a few rows that came last may still wait.
        let n_rows = snapshot.n_rows;
        assert!(n_rows == N_ROWS || (!scene.has_end && 4 * n_rows >= 3 * N_ROWS), "{name}: {n_rows}");
        let said = finished
            .model
            .predict_classes(data.features.to_array(0..N_ROWS).view(), &Par::sequential())
            .unwrap();
        let right = said.iter().zip(data.labels()).filter(|(a, b)| a == b).count();
        assert!(right > N_ROWS * 93 / 100, "{name}: {right} of {N_ROWS} right");
    }
}

/// A schema that does not know the third class yet.
fn early(schema: &Schema) -> Schema {
    schema.with_classes(2).into_owned()
}

/// The same with another row, of the first two classes, in the place of one.
fn swapped(data: Dataset, row: usize) -> Dataset {
    let other = (row + 1..N_ROWS).rfind(|other| *other >= LATE && data.labels()[*other].0 < 2).unwrap();
    let mut order: Vec<usize> = (0..N_ROWS).collect();
    order.swap(row, other);
    data.select(&order)
}

/// Most memory that the process has taken so far, where the system tells.
pub(crate) fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| 1024 * kilobytes)
}

//! A forest that keeps learning.
//!
//! Every row goes through the same three steps, whether it comes alone or in a batch: all trees answer it, all trees learn it,
//! and it joins the pool (`pool`), which a row of old leaves when it is full. Trees hold exactly the rows of the pool
//! (`live`, `lists`). Answers given before learning are kept for the newest rows (`window`): they rank the trees, set
//! the calibration, and show drift. Every 128 rows there is a look around (`upkeep`): trees that do worse than freshly
//! grown ones are replaced, and after a drift what is out of date is forgotten (`drift`).
//!
//! Rows are worked through tree by tree in blocks, which end at fixed numbers of rows learnt. Trees do not know of each other
//! within a block, so the result is that of rows in order, whatever the batches and threads.

mod answer;
mod arms;
mod block;
mod drift;
mod forget;
mod isolate;
mod lists;
mod live;
mod memory;
mod pool;
mod saved;
mod turned;
mod upkeep;
mod window;

use std::sync::Mutex;

use hedgerow_core::{Checked, Classifier, Dataset, Error, Lesson, Par, Result, Rows, Schema, Training};
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use crate::calibration::Calibration;
use crate::codes::{Code, ColumnCodes, Meaning};
use crate::forest::Forest;
use crate::grow::Ground;
use crate::params::{ClassWeights, ForestParams, Keep};
use crate::say::Say;
use crate::tree::{Tree, Value};
use answer::nearest;
use arms::Arms;
use block::Staged;
use drift::Monitor;
use live::{Hands, LiveTree, Soil};
use pool::{Pool, Values};
use turned::Turned;
use window::{Record, Window};

#[cfg(test)]
mod tests;

pub use saved::{Saved, SavedState};

/// Rows between two looks around: at least so many, a sixteenth of the pool, at most so many.
const BLOCK: std::ops::RangeInclusive<u64> = 128..=1024;

/// A forest, the rows it remembers, and what it knows about its trees.
///
/// Learning a row costs one walk a tree and, every few rows, the growth of a small subtree; looking around every 128 rows
/// adds about as much again. Neither grows with the rows seen once the pool is full.
#[derive(Debug, Clone)]
pub struct OnlineForest {
    forest: Forest,
    pool: Pool,
    turned: Turned,
    /// How wide the columns of the pool were at the last look around; see `Soil`.
    scales: Vec<f64>,
    columns: Vec<ColumnCodes>,
    /// For each tree its lists; no trees where the lists have not been made yet.
    live: Vec<LiveTree>,
    records: Vec<Record>,
    births: Vec<Birth>,
    /// Whether the leaves of the trees count exactly the rows of the pool.
    is_settled: bool,
    /// The ways to weigh leaves that may be used; the forest uses one of them.
    says: Vec<Say>,
    window: Window,
    monitor: Monitor,
    arms: Arms,
    class_weights: Vec<f64>,
    /// Rows learnt; how many there must be for the next look around, were at the last one that did something, and at the last
    /// calibration.
    seen: u64,
    look_at: u64,
    kept_up_at: u64,
    calibrated_at: u64,
    /// The share of wrong answers lately, which noise cannot exceed.
    noise: f64,
    /// Share of the new trees that may be tried which is tried: less while they are no better than those there are.
    appetite: f64,
    next_serial: u64,
    /// Most rows in the pool, so that a limit on memory is kept; none while there has been no need.
    most_rows: Option<usize>,
}

/// How a tree began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Birth {
    /// Trees are numbered as they are made; no number comes twice.
    serial: u64,
    /// Rows in the pool it was grown from.
    n_rows: u64,
    /// Whether it stops where noise may explain what is left.
    is_tolerant: bool,
}

impl OnlineForest {
    /// A forest that knows nothing yet.
    pub fn new(schema: &Schema, params: &Checked<ForestParams>) -> Result<Self> {
        let params = params.get().clone();
        if params.n_trees == 0 {
            return Err(Error::param("n_trees", "1 or more for a forest that learns online", 0));
        }
        let gains = vec![0.0; schema.n_features()];
        // Until there are answers to learn from, one more vote for every class keeps the first ones from being too sure.
        let calibration = params.calibrate.then_some(Calibration { pseudo_votes: 1.0, sharpness: 1.0 });
        let forest = Forest::from_parts(params, schema.n_classes(), Vec::new(), calibration, gains);
        Ok(Self::with_pool(forest, schema, Pool::new(schema.n_features())))
    }

    /// A forest that goes on learning after it was fitted to `data`. If there are more rows than the pool may have, the
    /// first ones are forgotten.
    pub fn from_fitted(forest: Forest, data: Dataset) -> Self {
        let most = forest.params.most_pool_rows();
        let rows: Vec<usize> =
            (0..data.n_rows()).filter(|&row| data.weights.as_ref().is_none_or(|w| w[row] > 0.0)).collect();
        let kept = &rows[rows.len().saturating_sub(most)..];
        let classes = kept.iter().map(|&row| data.labels[row].0 as u16).collect();
        let ages = kept.iter().map(|&row| row as u64).collect();
        let weights = data.weights.as_ref().map(|w| kept.iter().map(|&row| w[row]).collect());
        let n_rows = data.n_rows();
        let features = if kept.len() == n_rows { data.features } else { data.features.select(kept) };
        let pool = Pool::from_rows(features, classes, ages, weights);
        let mut online = Self::with_pool(forest, &data.schema, pool);
        online.seen = n_rows as u64;
        online.look_at = online.seen + *BLOCK.start();
        online.kept_up_at = online.seen;
        online.calibrated_at = online.seen;
        online.is_settled = false;
        online
    }

    fn with_pool(mut forest: Forest, schema: &Schema, pool: Pool) -> Self {
        let says = Say::candidates(&forest.params);
        // A merged forest may use one in between.
        forest.say = says[nearest(&says, &forest.say)].clone();
        let n_trees = forest.trees.len() as u64;
        let columns = schema.columns.iter().map(|column| match column.kind.n_categories() {
            0 => ColumnCodes::plain(false),
            n => ColumnCodes { meaning: Meaning::Category(n), has_missing: false },
        });
        Self {
            columns: columns.collect(),
            turned: Turned::default(),
            scales: pool.scales(),
            live: Vec::new(),
            records: vec![Record::default(); forest.trees.len()],
            births: (0..n_trees)
                .map(|serial| Birth { serial, n_rows: pool.n_rows() as u64, is_tolerant: false })
                .collect(),
            is_settled: true,
            says,
            window: Window::default(),
            monitor: Monitor::default(),
            arms: Arms::default(),
            class_weights: Vec::new(),
            seen: 0,
            look_at: *BLOCK.start(),
            kept_up_at: 0,
            calibrated_at: 0,
            noise: 0.0,
            appetite: 1.0,
            next_serial: n_trees,
            most_rows: None,
            forest,
            pool,
        }
    }

    /// The forest as it is now.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// The forest alone. It learns no more.
    pub fn into_forest(self) -> Forest {
        self.forest
    }

    /// Rows learnt since the beginning.
    pub fn n_seen(&self) -> u64 {
        self.seen
    }

    /// Rows remembered.
    pub fn n_remembered(&self) -> usize {
        self.pool.n_rows()
    }

    /// Rows remembered of each class.
    pub fn remembered_by_class(&self) -> Vec<usize> {
        self.pool.class_counts().collect()
    }

    /// Bytes in memory: trees, their lists, and the pool.
    pub fn bytes(&self) -> usize {
        self.forest.bytes()
            + self.live.iter().map(LiveTree::bytes).sum::<usize>()
            + self.pool.bytes()
            + self.turned.bytes()
            + self.window.bytes()
            + self.records.len() * size_of::<Record>()
    }

    /// Answers rows and learns them, one after the other. `schema` is that of the rows: the one the forest was made with, grown
    /// by the classes and categories that have come since.
    ///
    /// Memory stays within `training.budget.bytes`, if that is given: rows are forgotten to make room. The time limit ends the
    /// search for better trees, never the learning of rows; the stop flag ends both.
    pub fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Lesson> {
        self.check(schema, rows)?;
        self.start(schema, training.par);
        let n_classes = schema.n_classes();
        let mut lesson =
            Lesson { answers: Array2::zeros((rows.labels.len(), n_classes)), ..Lesson::default() };
        self.forest.n_classes = n_classes;
        self.take_trees();
        while lesson.n_learnt < rows.labels.len() {
            let len = self.block_len(rows, lesson.n_learnt);
            self.learn_block(rows, lesson.n_learnt, len, training.par, &mut lesson);
            lesson.n_learnt += len;
            if self.seen >= self.look_at {
                self.look_around(training, &mut lesson);
                self.scales = self.pool.scales();
                self.keep_within(training.budget.bytes, training.par, &mut lesson);
                let pause = self.pool.n_rows() as u64 / 16;
                self.look_at = self.seen + pause.clamp(*BLOCK.start(), *BLOCK.end());
            }
            if training.budget.stop.is_stopped() {
                break;
            }
        }
        self.give_trees();
        Ok(lesson)
    }

    /// Makes room for classes that no tree has heard of yet.
    pub fn know_classes(&mut self, n_classes: usize) {
        self.forest.n_classes = self.forest.n_classes.max(n_classes);
    }

    /// Puts all trees into the order in which they are saved: the same for the same trees, however they came to be.
    pub fn put_in_order(&mut self) {
        // Trees that have not learnt anything since they were fitted stand in order.
        if self.live.is_empty() {
            return;
        }
        self.take_trees();
        for live in &mut self.live {
            live.put_in_order();
        }
        self.give_trees();
    }

    fn check(&self, schema: &Schema, rows: Rows<'_>) -> Result<()> {
        rows.check(schema, self.forest.n_features, self.forest.n_classes)
    }

    /// Makes ready to learn: class weights, trees where there are none yet, lists where they have not been made.
    fn start(&mut self, schema: &Schema, par: &Par) {
        let mut weights = std::mem::take(&mut self.class_weights);
        weights.resize(schema.n_classes(), 1.0);
        if let ClassWeights::Each(by_label) = &self.forest.params.class_weights {
            for (label, &weight) in by_label {
                if let Some(class) = schema.labels.get(label) {
                    weights[class.index()] = weight;
                }
            }
        }
        self.class_weights = weights;
        for (column, meant) in self.columns.iter_mut().zip(&schema.columns) {
            if let Meaning::Category(n) = &mut column.meaning {
                *n = meant.kind.n_categories();
            }
        }
        if self.forest.trees.is_empty() {
            for _ in 0..self.forest.params.n_trees {
                self.forest.trees.push(crate::tree::Tree::default());
                self.records.push(Record::default());
                let is_tolerant = self.arms.is_tolerant(self.next_serial);
                let birth = Birth { serial: self.next_serial, n_rows: 0, is_tolerant };
                self.births.push(birth);
                self.live.push(LiveTree::new(birth));
                self.next_serial += 1;
            }
        }
        if self.live.len() < self.forest.trees.len() {
            self.make_lists(par);
        }
    }

    /// Puts every row of the pool on the list of its leaf in every tree.
    fn make_lists(&mut self, par: &Par) {
        let rows = self.pool.by_class();
        let trees = std::mem::take(&mut self.forest.trees);
        let (settled, births) = (self.is_settled, &self.births);
        let live = match &self.pool.values {
            Values::Bytes(values) => {
                self.on_ground(values, |soil| plant(trees, births, &rows, settled, soil, par))
            }
            Values::Reals(values) => {
                self.on_ground(values, |soil| plant(trees, births, &rows, settled, soil, par))
            }
        };
        self.live = live;
        self.is_settled = true;
        self.forest.parts.clear();
        self.give_trees();
    }

    /// Calls `work` with what trees need to learn.
    fn on_ground<C: Code, T>(&self, values: &[C], work: impl FnOnce(&Soil<'_, C>) -> T) -> T {
        let mut columns = self.columns.clone();
        for (column, &missing) in columns.iter_mut().zip(&self.pool.missing) {
            column.has_missing = missing;
        }
        let budget = hedgerow_core::Budget::open();
        let ground = Ground {
            columns: &columns,
            constant: &[],
            by_class: &[],
            classes: &self.pool.classes,
            row_weights: self.pool.weights.as_deref(),
            class_weights: &self.class_weights,
            params: &self.forest.params,
            budget: &budget,
            max_bytes: usize::MAX,
            judge: false,
            learn: false,
            tell_leaves: true,
            noise: self.noise,
        };
        let is_plain = self.pool.weights.is_none() && self.class_weights.iter().all(|&w| w == 1.0);
        work(&Soil {
            ground: &ground,
            values,
            width: self.forest.n_features,
            ages: &self.pool.ages,
            scales: &self.scales,
            most_rows: self.most_pool_rows(),
            seed: self.forest.params.seed,
            is_plain,
        })
    }

    fn take_trees(&mut self) {
        for (live, tree) in self.live.iter_mut().zip(&mut self.forest.trees) {
            live.tree = std::mem::take(tree);
        }
    }

    fn give_trees(&mut self) {
        self.forest.trees.resize_with(self.live.len(), Default::default);
        for (live, tree) in self.live.iter_mut().zip(&mut self.forest.trees) {
            *tree = std::mem::take(&mut live.tree);
        }
    }

    /// Rows that may be learnt tree by tree. Where the forest's answer decides whether a row is kept, it must come first; and
    /// rows that change how the pool keeps its values begin a block of their own.
    fn block_len(&self, rows: Rows<'_>, first: usize) -> usize {
        let most = (self.look_at.saturating_sub(self.seen).max(1) as usize).min(rows.labels.len() - first);
        if self.forest.params.keep != Keep::All || self.most_pool_rows() < 8 * *BLOCK.end() as usize {
            return 1;
        }
        let weight = |i: usize| rows.weights.map_or(1.0, |w| w[i]);
        let changes = |i: usize| self.pool.must_change_for(rows.x.row(i), weight(i));
        (1..most).find(|&i| changes(first + i)).unwrap_or(most)
    }

    fn most_pool_rows(&self) -> usize {
        self.most_rows.unwrap_or(usize::MAX).min(self.forest.params.most_pool_rows()).max(1)
    }

    /// Answers and learns some rows, all within one block.
    fn learn_block(&mut self, rows: Rows<'_>, first: usize, len: usize, par: &Par, lesson: &mut Lesson) {
        let mut staged = Vec::with_capacity(len);
        let mut buffer = vec![0.0; self.forest.n_features];
        for i in first..first + len {
            let row = rows.x.row(i);
            let row = row.as_slice().unwrap_or_else(|| {
                buffer.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
                &buffer
            });
            let class = rows.labels[i].0 as u16;
            let weight = rows.weights.map_or(1.0, |w| w[i]);
            let age = self.seen + (i - first) as u64;
            if weight == 0.0 || !self.wants(row, class) {
                self.answer_only(row, class, age, lesson.answers.row_mut(i));
                continue;
            }
            let slot = self.pool.push(row, class, weight, age);
            let is_full = self.pool.n_rows() > self.most_pool_rows();
            let evicted = if is_full { self.pool.evict() } else { None };
            staged.push(Staged { slot, class, age, evicted });
        }
        let (mut live, mut records) = (std::mem::take(&mut self.live), std::mem::take(&mut self.records));
        let n_classes = self.forest.n_classes;
        let says = &self.says;
        let outcome = match &self.pool.values {
            Values::Bytes(values) => self.on_ground(values, |soil| {
                block::run(&mut live, &mut records, &staged, n_classes, says, soil, par)
            }),
            Values::Reals(values) => self.on_ground(values, |soil| {
                block::run(&mut live, &mut records, &staged, n_classes, says, soil, par)
            }),
        };
        (self.live, self.records) = (live, records);
        for (sum, gain) in self.forest.gains.iter_mut().zip(&outcome.gains) {
            *sum += gain;
        }
        if let Some([exact, tolerant]) = &outcome.arms {
            let answers = exact.chunks(n_classes).zip(tolerant.chunks(n_classes));
            for (row, (exact, tolerant)) in staged.iter().zip(answers) {
                self.arms.note(exact, tolerant, usize::from(row.class));
            }
        }
        for (row, sums) in staged.iter().zip(outcome.sums.chunks(says.len() * n_classes)) {
            let answer = lesson.answers.row_mut(first + (row.age - self.seen) as usize);
            self.note_answer(sums, row.class, row.age, answer);
            if let Some(slot) = row.evicted {
                self.pool.release(slot);
                lesson.n_forgotten += 1;
            }
        }
        self.seen += len as u64;
    }

    /// Lets all trees forget rows that are off their queues already, and closes the gaps they leave in the pool.
    fn forget_slots(&mut self, gone: &[u32], par: &Par) {
        if gone.is_empty() {
            return;
        }
        let mut live = std::mem::take(&mut self.live);
        match &self.pool.values {
            Values::Bytes(values) => self.on_ground(values, |soil| forget_all(&mut live, gone, soil, par)),
            Values::Reals(values) => self.on_ground(values, |soil| forget_all(&mut live, gone, soil, par)),
        }
        let new_of_old = self.drop_slots(gone);
        let n_slots = self.pool.n_slots();
        par.for_chunks(&mut live, 1, |_, live| {
            for live in live {
                live.renumber(&new_of_old, n_slots);
            }
        });
        self.live = live;
    }

    /// Takes rows that are off their queues out of the pool. Returns for each old slot its new one.
    fn drop_slots(&mut self, gone: &[u32]) -> Vec<u32> {
        for &slot in gone {
            self.pool.release(slot);
        }
        self.pool.close_gaps()
    }
}

/// Lets all trees forget the rows of some slots.
fn forget_all<C: Code + Value>(live: &mut [LiveTree], gone: &[u32], soil: &Soil<'_, C>, par: &Par) {
    par.for_chunks(live, 1, |_, live| {
        for live in live {
            live.fit(soil);
            for &slot in gone {
                live.forget(slot, soil);
            }
        }
    });
}

/// Trees with their rows on lists. Those that do not count the rows of the pool yet are made to.
fn plant<C: Code + Value>(
    trees: Vec<Tree>,
    births: &[Birth],
    rows: &[u32],
    are_settled: bool,
    soil: &Soil<'_, C>,
    par: &Par,
) -> Vec<LiveTree> {
    let trees: Vec<Mutex<Tree>> = trees.into_iter().map(Mutex::new).collect();
    par.map(trees.len(), |t| {
        let tree = trees[t].lock().map(|mut tree| std::mem::take(&mut *tree)).unwrap_or_default();
        let live = LiveTree::attach(tree, births[t], rows, soil);
        if are_settled && live.is_consistent(soil) {
            live
        } else {
            LiveTree::settle(live.tree, births[t], rows, soil, &mut Hands::new(soil))
        }
    })
}

impl PartialEq for OnlineForest {
    /// Whether the two would give the same model file.
    fn eq(&self, other: &Self) -> bool {
        let alike = |a: &Forest, b: &Forest| {
            (&a.params, a.n_classes, &a.say, &a.calibration, &a.tilt, &a.gains, &a.parts)
                == (&b.params, b.n_classes, &b.say, &b.calibration, &b.tilt, &b.gains, &b.parts)
        };
        alike(&self.forest, &other.forest)
            && self.ordered_trees() == other.ordered_trees()
            && self.saved() == other.saved()
    }
}

impl Classifier for OnlineForest {
    fn n_features(&self) -> usize {
        self.forest.n_features
    }

    fn n_classes(&self) -> usize {
        self.forest.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, out: ArrayViewMut2<'_, f64>) {
        self.forest.predict_proba_impl(x, par, out);
    }
}

//! A forest that keeps learning.
//!
//! Every row goes through the same three steps, whether it comes alone or in a batch: all trees predict it, all trees learn it,
//! and it joins the pool of retained rows (`pool`), where the oldest is forgotten when it is full. Trees hold exactly the rows of the pool
//! (`live`, `lists`). Prequential predictions are kept for the newest rows (`window`): they rank the trees, calibrate the
//! probabilities, and feed the drift detector. Every 128 rows there is maintenance (`maintenance`): trees that do worse than freshly
//! grown ones are replaced, and after a concept drift rows that are out of date are forgotten (`drift`).
//!
//! Rows are worked through tree by tree in blocks, which end at fixed numbers of rows learnt. Trees do not know of each other
//! within a block, so the result is that of rows in order, whatever the batches and threads.

mod arms;
mod block;
mod drift;
mod forget;
mod isolate;
mod lists;
mod live;
mod maintenance;
mod memory;
mod pool;
mod predictions;
mod recent;
mod saved;
mod table;
mod window;

use std::ops::Range;

use hedgerow_core::{Checked, ClassId, Error, Par, Result, Rows, Schema, Training, Update, saved as file};
use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::calibration::Calibration;
use crate::codes::{Code, ColumnCodes};
use crate::forest::Forest;
use crate::grow::{GrowthInput, add_gains};
use crate::horizons::Horizons;
use crate::leaf_weight::LeafWeight;
use crate::model::FittedRows;
use crate::params::{ClassWeights, ForestParams, Keep};
use crate::tree::Tree;
use arms::Arms;
use block::Staged;
use drift::DriftDetector;
use live::{LiveTree, OnlineRows, Workspace};
use pool::Pool;
use predictions::nearest;
use recent::Recent;
use table::{Table, with_live, with_table};
use window::{Record, Window};

#[cfg(test)]
mod tests;

/// Rows between two rounds of maintenance: at least so many, a sixteenth of the pool, at most so many.
const BLOCK: std::ops::RangeInclusive<u64> = 128..=1024;

/// Of fewer rows than this threads would cost more than they do.
const FEW: usize = 8;

/// A forest, its retained rows, and what it knows about its trees.
///
/// Learning a row costs one walk a tree and, every few rows, the growth of a small subtree; maintenance every 128 rows
/// adds about as much again. Neither grows with the rows seen once the pool is full.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct OnlineForest {
    pub(crate) forest: Forest,
    pub(crate) pool: Pool,
    /// How wide the columns of the pool were at the last maintenance; see `OnlineRows`.
    #[serde(with = "file::array")]
    scales: Vec<f64>,
    #[serde(skip)]
    columns: Vec<ColumnCodes>,
    /// For each tree its lists; no trees where the lists have not been made yet.
    #[serde(skip)]
    live: Vec<LiveTree>,
    #[serde(with = "file::columns")]
    records: Vec<Record>,
    #[serde(with = "file::columns")]
    births: Vec<Birth>,
    /// Whether the leaves of the trees count exactly the rows of the pool.
    is_settled: bool,
    /// The candidate leaf weights; the forest uses one of them.
    #[serde(skip)]
    leaf_weights: Vec<LeafWeight>,
    window: Window,
    detector: DriftDetector,
    arms: Arms,
    #[serde(with = "file::array")]
    class_weights: Vec<f64>,
    /// Rows learnt; how many there must be for the next maintenance, were at the last one that replaced trees, and at the last
    /// calibration.
    pub(crate) seen: u64,
    next_maintenance: u64,
    kept_up_at: u64,
    calibrated_at: u64,
    /// The recent error rate, which label noise cannot exceed.
    noise: f64,
    /// Share of the new trees that may be tried which is tried: less while they are no better than the present ones.
    replacement_rate: f64,
    next_serial: u64,
    /// Trees that were let go while the forest hardly counts; as many are grown when it counts again.
    n_resting: usize,
    /// Most rows in the pool, so that a limit on memory is kept; none while there has been no need.
    most_rows: Option<usize>,
    /// The memories of the newest rows; none where they are not wanted, or nothing has been learnt yet.
    recent: Option<Box<Recent>>,
}

/// What trees that learn need beside rows.
#[derive(Clone, Copy)]
struct OnlineInput<'a> {
    columns: &'a [ColumnCodes],
    class_weights: &'a [f64],
    params: &'a ForestParams,
    noise: f64,
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
    /// A forest without training rows.
    pub fn new(schema: &Schema, params: &Checked<ForestParams>) -> Result<Self> {
        let params = params.get().clone();
        if params.n_trees == 0 {
            return Err(Error::param("n_trees", "1 or more for a forest that learns online", 0));
        }
        let gains = vec![0.0; schema.n_features()];
        // Until there are predictions to calibrate on, one more vote for every class keeps the first ones from being over-confident.
        let calibration = params.calibrate.then_some(Calibration { pseudo_votes: 1.0, sharpness: 1.0 });
        let forest = Forest::from_parts(params, schema.n_classes(), Vec::new(), calibration, gains);
        Ok(Self::with_pool(forest, schema, Pool::new(schema.n_features()), 0))
    }

    /// A forest that goes on learning after it was fitted to rows.
    pub fn from_fitted(forest: Forest, rows: FittedRows) -> Self {
        let (n_seen, schema) = (rows.n_seen, rows.schema.clone());
        Self::with_pool(forest, &schema, Pool::from_rows(rows), n_seen)
    }

    fn with_pool(forest: Forest, schema: &Schema, pool: Pool, seen: u64) -> Self {
        let n_trees = forest.trees.len() as u64;
        let mut online = Self {
            columns: Vec::new(),
            scales: pool.scales(),
            live: Vec::new(),
            records: vec![Record::default(); forest.trees.len()],
            births: (0..n_trees)
                .map(|serial| Birth { serial, n_rows: pool.n_rows as u64, is_tolerant: false })
                .collect(),
            is_settled: forest.trees.is_empty(),
            leaf_weights: Vec::new(),
            window: Window::default(),
            detector: DriftDetector::default(),
            arms: Arms::default(),
            class_weights: Vec::new(),
            seen,
            next_maintenance: seen + *BLOCK.start(),
            kept_up_at: seen,
            calibrated_at: seen,
            noise: 0.0,
            replacement_rate: 1.0,
            next_serial: n_trees,
            n_resting: 0,
            most_rows: None,
            recent: None,
            forest,
            pool,
        };
        online.make_columns(schema);
        online
    }

    /// Makes what follows from the schema and the parameters.
    fn make_columns(&mut self, schema: &Schema) {
        self.columns = ColumnCodes::of_schema(schema);
        self.leaf_weights = LeafWeight::candidates(&self.forest.params);
        // A merged forest may use one in between.
        let nearest = nearest(&self.leaf_weights, &self.forest.leaf_weight);
        self.forest.leaf_weight = self.leaf_weights[nearest].clone();
    }

    /// The forest as it is now.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// Bytes in memory: trees, their lists, and the pool.
    pub fn bytes(&self) -> usize {
        self.forest.bytes()
            + self.live.iter().map(LiveTree::bytes).sum::<usize>()
            + self.pool.bytes()
            + self.window.bytes()
            + self.records.len() * size_of::<Record>()
            + self.recent.as_ref().map_or(0, |recent| recent.bytes())
    }

    /// Predicts rows and learns them, one after the other. `schema` is that of the rows: the one the forest was made with, grown
    /// by the classes and categories that have come since.
    ///
    /// Memory stays within `training.budget.bytes`, if that is given: rows are forgotten to make room. The time limit ends the
    /// search for better trees, never the learning of rows; the stop flag ends both.
    pub fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Update> {
        rows.check(schema, self.forest.n_features, self.forest.n_classes)?;
        if rows.labels().len() < FEW {
            return Ok(self.learn_checked(schema, rows, &training.par.alone(), training));
        }
        Ok(training.par.within(|| self.learn_checked(schema, rows, training.par, training)))
    }

    /// Learns rows on threads of its own; maintenance takes all.
    fn learn_checked(
        &mut self,
        schema: &Schema,
        rows: Rows<'_>,
        par: &Par,
        training: &Training<'_>,
    ) -> Update {
        self.start(schema, training.par);
        let n_classes = schema.n_classes();
        let mut update =
            Update { predictions: Array2::zeros((rows.labels().len(), n_classes)), ..Update::default() };
        self.forest.n_classes = n_classes;
        self.with_recent(|recent, horizons, _| recent.keep_within(horizons, training.budget.bytes));
        self.take_trees();
        let mut n_mixed = 0;
        while update.n_learnt < rows.labels().len() {
            let len = self.block_len(rows, update.n_learnt);
            self.learn_block(rows, update.n_learnt, len, par, &mut update);
            update.n_learnt += len;
            if self.seen >= self.next_maintenance {
                self.learn_recent(rows, n_mixed..update.n_learnt, par, &mut update);
                n_mixed = update.n_learnt;
                self.maintain(training, &mut update);
                self.scales = self.pool.scales();
                self.keep_within(training.budget.bytes, training.par, &mut update);
                let pause = self.pool.n_rows as u64 / 16;
                self.next_maintenance = self.seen + pause.clamp(*BLOCK.start(), *BLOCK.end());
            }
            if training.budget.stop.is_stopped() {
                break;
            }
        }
        self.learn_recent(rows, n_mixed..update.n_learnt, par, &mut update);
        self.give_trees();
        update
    }

    /// Puts all trees into the order in which they are saved: the same for the same trees, however they came to be.
    pub fn put_in_order(&mut self) {
        // Trees that have not learnt anything since they were fitted stand in order.
        if self.live.is_empty() {
            return;
        }
        self.take_trees();
        self.live.iter_mut().for_each(LiveTree::put_in_order);
        self.give_trees();
        self.with_recent(|recent, horizons, _| recent.put_in_order(horizons));
    }

    /// Makes ready to learn: class weights, trees where there are none yet, lists where they have not been made.
    fn start(&mut self, schema: &Schema, par: &Par) {
        self.class_weights.resize(schema.n_classes(), 1.0);
        if let ClassWeights::Each(by_label) = &self.forest.params.class_weights {
            for (label, &weight) in by_label {
                if let Some(class) = schema.labels.get(label) {
                    self.class_weights[class.index()] = weight;
                }
            }
        }
        self.columns = ColumnCodes::of_schema(schema);
        if self.forest.trees.is_empty() {
            for _ in 0..self.forest.params.n_trees {
                self.forest.trees.push(Tree::default());
                self.records.push(Record::default());
                let birth = self.next_birth(0);
                self.births.push(birth);
            }
        }
        if self.live.len() < self.forest.trees.len() {
            self.make_lists(par);
        }
        if self.forest.params.horizons && self.recent.is_none() {
            self.recent = Some(Box::new(Recent::new(self.forest.n_features)));
            self.forest.horizons = Some(Horizons::default());
        }
    }

    /// Does something with the memories of the newest rows, if there are any.
    fn with_recent(&mut self, work: impl FnOnce(&mut Recent, &mut Horizons, &OnlineInput<'_>)) {
        if let (Some(mut recent), Some(mut horizons)) = (self.recent.take(), self.forest.horizons.take()) {
            // They have too few rows to tell noise from the rest.
            work(&mut recent, &mut horizons, &OnlineInput { noise: 0.0, ..self.input() });
            (self.recent, self.forest.horizons) = (Some(recent), Some(horizons));
        }
    }

    /// Mixes the predictions of some rows with those of the memories of the newest rows, which learn them.
    fn learn_recent(&mut self, rows: Rows<'_>, range: Range<usize>, par: &Par, update: &mut Update) {
        let mut predictions = update.predictions.view_mut();
        self.with_recent(|recent, horizons, input| {
            recent.learn(horizons, rows, range, &mut predictions, input, par);
        });
    }

    fn forget_recent(&mut self, row: ArrayView1<'_, f32>, class: ClassId, par: &Par) {
        self.with_recent(|recent, horizons, input| recent.forget(horizons, row, class, input, par));
    }

    /// The birth of one more tree, from so many rows.
    fn next_birth(&mut self, n_rows: usize) -> Birth {
        let serial = self.next_serial;
        self.next_serial += 1;
        Birth { serial, n_rows: n_rows as u64, is_tolerant: self.arms.is_tolerant(serial) }
    }

    /// Puts every row of the pool on the list of its leaf in every tree. Trees that do not count the rows of the pool yet are made to.
    fn make_lists(&mut self, par: &Par) {
        let (rows, are_settled) = (self.pool.by_class(), self.is_settled);
        let trees = std::mem::take(&mut self.forest.trees).into_iter().zip(&self.births);
        self.live = trees.map(|(tree, &birth)| LiveTree::new(tree, birth)).collect();
        with_live!(self, par, |live, online_rows| {
            live.attach(&rows, online_rows);
            if !are_settled || !live.is_consistent(online_rows) {
                live.settle(&mut Workspace::new(online_rows));
            }
        });
        self.is_settled = true;
        self.forest.parts.clear();
        self.give_trees();
    }

    /// Calls `work` with the pool in the form that trees learn from.
    fn with_online_rows<C: Code, T>(
        &self,
        table: &Table<C>,
        work: impl FnOnce(&OnlineRows<'_, C>) -> T,
    ) -> T {
        self.input().with_rows(&self.pool, table, &self.scales, self.most_pool_rows(), work)
    }

    fn input(&self) -> OnlineInput<'_> {
        OnlineInput {
            columns: &self.columns,
            class_weights: &self.class_weights,
            params: &self.forest.params,
            noise: self.noise,
        }
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

    /// Rows that may be learnt tree by tree. Where the forest's prediction decides whether a row is kept, it must come first; and
    /// rows that change how the pool keeps its values begin a block of their own.
    fn block_len(&self, rows: Rows<'_>, first: usize) -> usize {
        let most = (self.next_maintenance.saturating_sub(self.seen).max(1) as usize)
            .min(rows.labels().len() - first);
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

    /// Predicts and learns some rows, all within one block.
    fn learn_block(&mut self, rows: Rows<'_>, first: usize, len: usize, par: &Par, update: &mut Update) {
        let mut staged = Vec::with_capacity(len);
        let mut buffer = vec![0.0; self.forest.n_features];
        for i in first..first + len {
            let row = rows.x.row(i);
            let row = row.as_slice().unwrap_or_else(|| {
                buffer.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
                &buffer
            });
            let class = rows.labels()[i].0 as u16;
            let weight = rows.weights.map_or(1.0, |w| w[i]);
            let age = self.seen + (i - first) as u64;
            if weight == 0.0 || !self.wants(row, class) {
                self.predict_only(row, class, age, update.predictions.row_mut(i));
                continue;
            }
            let slot = self.pool.push(row, class, weight, age);
            let is_full = self.pool.n_rows > self.most_pool_rows();
            let evicted = if is_full { self.pool.evict() } else { None };
            staged.push(Staged { slot, class, age, evicted });
        }
        let (mut live, mut records) = (std::mem::take(&mut self.live), std::mem::take(&mut self.records));
        let n_classes = self.forest.n_classes;
        let leaf_weights = &self.leaf_weights;
        let outcome = with_table!(&self.pool.values, |table| self.with_online_rows(table, |online_rows| {
            block::run(&mut live, &mut records, &staged, n_classes, leaf_weights, online_rows, par)
        }));
        (self.live, self.records) = (live, records);
        add_gains(&mut self.forest.gains, &outcome.gains);
        if let Some([exact, tolerant]) = &outcome.arms {
            let predictions = exact.chunks(n_classes).zip(tolerant.chunks(n_classes));
            for (row, (exact, tolerant)) in staged.iter().zip(predictions) {
                self.arms.note(exact, tolerant, row.class);
            }
        }
        for (row, sums) in staged.iter().zip(outcome.sums.chunks(leaf_weights.len() * n_classes)) {
            let prediction = update.predictions.row_mut(first + (row.age - self.seen) as usize);
            self.note_prediction(sums, row.class, row.age, prediction);
            if let Some(slot) = row.evicted {
                self.pool.release(slot);
                update.n_forgotten += 1;
            }
        }
        self.seen += len as u64;
    }

    /// Lets all trees forget rows that are off their queues already, and closes the gaps they leave in the pool.
    fn forget_slots(&mut self, gone: &[u32], par: &Par) {
        if gone.is_empty() {
            return;
        }
        with_live!(self, par, |live, online_rows| {
            live.fit(online_rows);
            gone.iter().for_each(|&slot| live.forget(slot, online_rows));
        });
        let new_of_old = self.drop_slots(gone);
        let n_slots = self.pool.n_slots();
        par.for_chunks(&mut self.live, 1, |_, live| live[0].lists.renumber(&new_of_old, n_slots));
    }

    /// Takes rows that are off their queues out of the pool. Returns for each old slot its new one.
    fn drop_slots(&mut self, gone: &[u32]) -> Vec<u32> {
        gone.iter().for_each(|&slot| self.pool.release(slot));
        self.pool.close_gaps()
    }
}

impl OnlineInput<'_> {
    /// Calls `work` with the rows of a pool in the form that trees learn from.
    fn with_rows<C: Code, T>(
        &self,
        pool: &Pool,
        table: &Table<C>,
        scales: &[f64],
        most_rows: usize,
        work: impl FnOnce(&OnlineRows<'_, C>) -> T,
    ) -> T {
        let mut columns = self.columns.to_vec();
        for (column, &missing) in columns.iter_mut().zip(&pool.missing) {
            column.has_missing = missing;
        }
        let budget = hedgerow_core::Budget::open();
        let input = GrowthInput {
            columns: &columns,
            constant: &[],
            by_class: &[],
            classes: &pool.classes,
            row_weights: pool.weights.as_deref(),
            class_weights: self.class_weights,
            params: self.params,
            budget: &budget,
            max_bytes: usize::MAX,
            votes_for_left_out: false,
            set_stride: 0,
            learn: false,
            tell_leaves: true,
            noise: self.noise,
        };
        work(&OnlineRows {
            input: &input,
            values: &table.by_row,
            width: pool.width,
            ages: &pool.ages,
            scales,
            most_rows,
            is_plain: input.is_unweighted(),
        })
    }
}

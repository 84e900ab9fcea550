//! The rows a forest remembers: what trees are grown from, and what their leaves count.
//!
//! Rows live in slots. A row that is forgotten leaves its slot for a later one, so a full pool never moves a row. Every class
//! has a queue of its rows, oldest first.
//!
//! **Which row goes when the pool is full:** the oldest of all whose class has more than its floor, a quarter of an equal
//! share of the pool. So the pool follows the stream, and no class that has been seen is ever forgotten.

use std::collections::VecDeque;

use hedgerow_core::Features;
use ndarray::ArrayView1;

use crate::codes::Code;
use crate::real::Real;

/// The age of a slot that holds no row.
pub(super) const NO_ROW: u64 = u64::MAX;

/// The values of all slots, one slot after the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    /// While every value is a whole number up to 255.
    Bytes(Vec<u8>),
    /// Any values.
    Reals(Vec<Real>),
}

/// The rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pool {
    pub(super) values: Values,
    width: usize,
    /// Of each slot: its class, the number of its row in the stream, and its weight where rows weigh differently.
    pub(super) classes: Vec<u16>,
    pub(super) ages: Vec<u64>,
    pub(super) weights: Option<Vec<f32>>,
    /// Slots without a row, in the order in which they will be used.
    pub(super) free: VecDeque<u32>,
    queues: Vec<VecDeque<u32>>,
    n_rows: usize,
    /// Columns that have had a missing value.
    pub(super) missing: Vec<bool>,
}

impl Pool {
    pub(super) fn new(width: usize) -> Self {
        Self {
            values: Values::Bytes(Vec::new()),
            width,
            classes: Vec::new(),
            ages: Vec::new(),
            weights: None,
            free: VecDeque::new(),
            queues: Vec::new(),
            n_rows: 0,
            missing: vec![false; width],
        }
    }

    /// A pool of rows in the order of their ages, as they stand in a model file.
    pub(super) fn from_rows(
        features: Features,
        classes: Vec<u16>,
        ages: Vec<u64>,
        weights: Option<Vec<f32>>,
    ) -> Self {
        let width = features.n_features();
        let mut missing = vec![false; width];
        let values = match features {
            Features::Bytes { values, .. } => Values::Bytes(values),
            Features::Floats { values, .. } => {
                for row in values.chunks_exact(width.max(1)) {
                    for (missing, value) in missing.iter_mut().zip(row) {
                        *missing |= value.is_nan();
                    }
                }
                Values::Reals(values.into_iter().map(Real::new).collect())
            }
        };
        let n_rows = classes.len();
        let free = VecDeque::new();
        let queues = Vec::new();
        let mut pool = Self { values, width, classes, ages, weights, free, queues, n_rows, missing };
        for slot in 0..n_rows as u32 {
            pool.enqueue(slot);
        }
        pool
    }

    /// The slots that hold rows, the oldest first.
    pub(super) fn by_age(&self) -> Vec<u32> {
        let mut slots = self.by_class();
        slots.sort_unstable_by_key(|&slot| self.ages[slot as usize]);
        slots
    }

    /// The values of some slots, in the order given.
    pub(super) fn features(&self, slots: &[u32]) -> Features {
        let n_features = self.width;
        let span = |&slot: &u32| slot as usize * n_features..(slot as usize + 1) * n_features;
        match &self.values {
            Values::Bytes(values) => {
                let mut out = Vec::with_capacity(slots.len() * n_features);
                slots.iter().for_each(|slot| out.extend_from_slice(&values[span(slot)]));
                Features::Bytes { values: out, n_features }
            }
            Values::Reals(values) => {
                let mut out = Vec::with_capacity(slots.len() * n_features);
                slots.iter().for_each(|slot| out.extend(values[span(slot)].iter().map(|v| v.get())));
                Features::Floats { values: out, n_features }
            }
        }
    }

    /// Rows in the pool.
    pub(super) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Slots, with a row or without.
    pub(super) fn n_slots(&self) -> usize {
        self.classes.len()
    }

    /// Rows of each class.
    pub(super) fn class_counts(&self) -> impl Iterator<Item = usize> + '_ {
        self.queues.iter().map(VecDeque::len)
    }

    /// The slots that hold rows, grouped by class, the oldest of a class first.
    pub(super) fn by_class(&self) -> Vec<u32> {
        self.queues.iter().flatten().copied().collect()
    }

    /// Classes that have ever had a row: the largest number of one, plus 1.
    pub(super) fn n_classes(&self) -> usize {
        self.queues.len()
    }

    /// Whether taking a row in would change how rows are kept: wider, with weights, or with values missing in a new column.
    pub(super) fn must_change_for(&self, row: ArrayView1<'_, f32>, weight: f32) -> bool {
        let widens = matches!(self.values, Values::Bytes(_)) && !row.iter().all(|&v| is_byte(v));
        let new_gap = row.iter().zip(&self.missing).any(|(value, &missing)| value.is_nan() && !missing);
        widens || new_gap || (weight != 1.0 && self.weights.is_none())
    }

    /// Puts a row into a slot.
    pub(super) fn push(&mut self, row: &[f32], class: u16, weight: f32, age: u64) -> u32 {
        let slot = self.free.pop_front().unwrap_or(self.classes.len() as u32);
        if slot as usize == self.classes.len() {
            self.classes.push(class);
            self.ages.push(age);
            if let Some(weights) = &mut self.weights {
                weights.push(weight);
            }
        } else {
            self.classes[slot as usize] = class;
            self.ages[slot as usize] = age;
            if let Some(weights) = &mut self.weights {
                weights[slot as usize] = weight;
            }
        }
        if weight != 1.0 && self.weights.is_none() {
            let mut weights = vec![1.0; self.classes.len()];
            weights[slot as usize] = weight;
            self.weights = Some(weights);
        }
        self.write(slot as usize, row);
        self.enqueue(slot);
        self.n_rows += 1;
        slot
    }

    fn enqueue(&mut self, slot: u32) {
        let class = usize::from(self.classes[slot as usize]);
        if class >= self.queues.len() {
            self.queues.resize_with(class + 1, VecDeque::new);
        }
        self.queues[class].push_back(slot);
    }

    fn write(&mut self, slot: usize, row: &[f32]) {
        if let Values::Bytes(values) = &mut self.values {
            if row.iter().all(|&v| is_byte(v)) {
                let row = row.iter().map(|&v| v as u8);
                write_row(values, slot * self.width, row);
                return;
            }
            let reals = values.iter().map(|&v| Real::new(f32::from(v))).collect();
            self.values = Values::Reals(reals);
        }
        if let Values::Reals(values) = &mut self.values {
            write_row(values, slot * self.width, row.iter().map(|&v| Real::new(v)));
            for (missing, value) in self.missing.iter_mut().zip(row) {
                *missing |= value.is_nan();
            }
        }
    }

    /// Takes the row that should go first off its queue. The slot keeps its values until it is released.
    pub(super) fn evict(&mut self) -> Option<u32> {
        let present = self.queues.iter().filter(|queue| !queue.is_empty()).count();
        let floor = self.n_rows / (4 * present.max(1));
        let oldest = |queue: &VecDeque<u32>| queue.front().map_or(NO_ROW, |&slot| self.ages[slot as usize]);
        let class = (0..self.queues.len())
            .filter(|&class| self.queues[class].len() > floor)
            .min_by_key(|&class| oldest(&self.queues[class]))?;
        self.n_rows -= 1;
        self.queues[class].pop_front()
    }

    /// Takes rows off their queues: those of slots for which `goes` says so.
    pub(super) fn evict_where(&mut self, goes: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut gone = Vec::new();
        for queue in &mut self.queues {
            queue.retain(|&slot| {
                let goes = goes(slot);
                if goes {
                    gone.push(slot);
                }
                !goes
            });
        }
        self.n_rows -= gone.len();
        gone
    }

    /// Slots of a class, oldest first.
    pub(super) fn queue(&self, class: usize) -> impl Iterator<Item = u32> + '_ {
        self.queues.get(class).into_iter().flatten().copied()
    }

    /// Gives a slot whose row is gone to later rows.
    pub(super) fn release(&mut self, slot: u32) {
        self.ages[slot as usize] = NO_ROW;
        self.free.push_back(slot);
    }

    /// Closes the gaps that free slots leave. Returns for each old slot its new one.
    pub(super) fn close_gaps(&mut self) -> Vec<u32> {
        let mut new_of_old = vec![u32::MAX; self.n_slots()];
        let mut to = 0;
        for from in 0..self.n_slots() {
            if self.ages[from] == NO_ROW {
                continue;
            }
            new_of_old[from] = to as u32;
            self.classes[to] = self.classes[from];
            self.ages[to] = self.ages[from];
            if let Some(weights) = &mut self.weights {
                weights[to] = weights[from];
            }
            let (from, at) = (from * self.width, to * self.width);
            match &mut self.values {
                Values::Bytes(values) => values.copy_within(from..from + self.width, at),
                Values::Reals(values) => values.copy_within(from..from + self.width, at),
            }
            to += 1;
        }
        self.classes.truncate(to);
        self.ages.truncate(to);
        if let Some(weights) = &mut self.weights {
            weights.truncate(to);
        }
        match &mut self.values {
            Values::Bytes(values) => values.truncate(to * self.width),
            Values::Reals(values) => values.truncate(to * self.width),
        }
        self.free.clear();
        for slot in self.queues.iter_mut().flatten() {
            *slot = new_of_old[*slot as usize];
        }
        new_of_old
    }

    /// Gives back memory that is not in use.
    pub(super) fn shrink(&mut self) {
        match &mut self.values {
            Values::Bytes(values) => values.shrink_to_fit(),
            Values::Reals(values) => values.shrink_to_fit(),
        }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let values = match &self.values {
            Values::Bytes(values) => values.capacity(),
            Values::Reals(values) => values.capacity() * size_of::<Real>(),
        };
        values
            + self.classes.capacity() * size_of::<u16>()
            + self.ages.capacity() * size_of::<u64>()
            + self.weights.as_ref().map_or(0, |w| w.capacity() * size_of::<f32>())
            + self.queues.iter().map(|queue| queue.capacity() * size_of::<u32>()).sum::<usize>()
    }

    /// Bytes that one more row takes.
    pub(super) fn bytes_a_row(&self) -> usize {
        let value = match &self.values {
            Values::Bytes(_) => 1,
            Values::Reals(_) => size_of::<Real>(),
        };
        self.width * value + size_of::<u16>() + size_of::<u64>() + size_of::<u32>()
    }
}

/// Whether a value is a whole number from 0 to 255.
fn is_byte(value: f32) -> bool {
    f32::from(value as u8) == value && value.is_sign_positive()
}

/// Writes a row into its place or, right behind the last, adds it. Room is made in steps of an eighth, not by doubling.
fn write_row<C: Code>(values: &mut Vec<C>, at: usize, row: impl ExactSizeIterator<Item = C>) {
    if at == values.len() {
        if values.capacity() - values.len() < row.len() {
            values.reserve_exact((values.len() / 8).max(64 * row.len()));
        }
        values.extend(row);
    } else {
        for (to, value) in values[at..].iter_mut().zip(row) {
            *to = value;
        }
    }
}

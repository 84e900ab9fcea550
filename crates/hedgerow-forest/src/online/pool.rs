//! The retained rows of a forest: what trees are grown from, and what their leaves count.
//!
//! Rows live in slots. A row that is forgotten leaves its slot for a later one, so a full pool never moves a row. Every class
//! has a queue of its rows, oldest first.
//!
//! **Which row goes when the pool is full:** the oldest of all whose class has more than its floor, a quarter of an equal
//! share of the pool. So the pool follows the stream, and no class that has been seen is ever forgotten.

use std::collections::VecDeque;
use std::sync::Arc;

use hedgerow_core::{ClassId, Dataset, Features, Par, Result, Schema, saved};
use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use super::table::{Table, Values, with_table};
use crate::model::FittedRows;
use crate::real::Real;

/// The age of a slot that holds no row.
pub(super) const NO_ROW: u64 = u64::MAX;

/// The rows. A file has them in the order of their ages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Pool {
    pub(super) values: Values,
    pub(super) width: usize,
    /// Of each slot: its class, the number of its row in the stream, and its weight where rows weigh differently.
    #[serde(with = "saved::array")]
    pub(super) classes: Vec<u16>,
    #[serde(with = "saved::array")]
    pub(super) ages: Vec<u64>,
    #[serde(with = "saved::optional")]
    pub(super) weights: Option<Vec<f32>>,
    /// Slots without a row, in the order in which they will be used.
    #[serde(skip)]
    pub(super) free: VecDeque<u32>,
    #[serde(skip)]
    queues: Vec<VecDeque<u32>>,
    #[serde(skip)]
    pub(crate) n_rows: usize,
    /// Columns that have had a missing value.
    #[serde(with = "saved::array")]
    pub(super) missing: Vec<bool>,
    /// For each column the smallest and the largest value it has had.
    #[serde(with = "saved::array")]
    lows: Vec<f32>,
    #[serde(with = "saved::array")]
    highs: Vec<f32>,
    /// Slots written since this was last asked for; none once rows have moved.
    #[serde(skip)]
    changes: Option<Vec<u32>>,
}

impl Pool {
    pub(super) fn new(width: usize) -> Self {
        Self {
            values: Values::Bytes(Table::default()),
            width,
            classes: Vec::new(),
            ages: Vec::new(),
            weights: None,
            free: VecDeque::new(),
            queues: Vec::new(),
            n_rows: 0,
            missing: vec![false; width],
            lows: vec![f32::INFINITY; width],
            highs: vec![f32::NEG_INFINITY; width],
            changes: None,
        }
    }

    /// A pool of the rows that a forest was fitted to, the newest of those it has seen.
    pub(super) fn from_rows(rows: FittedRows) -> Self {
        let FittedRows { features, labels, weights, n_seen, .. } = rows;
        let first = n_seen.saturating_sub(labels.len() as u64);
        let ages = (0..labels.len() as u64).map(|row| first + row).collect();
        let classes = labels.iter().map(|class| class.0 as u16).collect();
        let width = features.n_features();
        let values = match features {
            Features::Bytes { values, .. } => Values::Bytes(Table::new(Arc::unwrap_or_clone(values))),
            Features::Floats { values, .. } => {
                let values = Arc::unwrap_or_clone(values).into_iter();
                Values::Reals(Table::new(values.map(Real::new).collect()))
            }
        };
        let mut pool = Self { values, classes, ages, weights, ..Self::new(width) };
        pool.make_queues();
        pool.note_ranges();
        pool
    }

    /// Makes the queues of rows that stand in the order of their ages.
    pub(super) fn make_queues(&mut self) {
        self.n_rows = self.classes.len();
        for slot in 0..self.n_rows as u32 {
            self.enqueue(slot);
        }
    }

    /// The same rows in the order of their ages.
    pub(super) fn by_age_only(&self) -> Self {
        let slots = self.by_age();
        let of = |slot: &u32| *slot as usize;
        let mut pool = Self {
            values: match &self.values {
                Values::Bytes(table) => Values::Bytes(Table::new(table.select(&slots, self.width))),
                Values::Reals(table) => Values::Reals(Table::new(table.select(&slots, self.width))),
            },
            classes: slots.iter().map(|slot| self.classes[of(slot)]).collect(),
            ages: slots.iter().map(|slot| self.ages[of(slot)]).collect(),
            weights: self.weights.as_ref().map(|w| slots.iter().map(|slot| w[of(slot)]).collect()),
            missing: self.missing.clone(),
            lows: self.lows.clone(),
            highs: self.highs.clone(),
            ..Self::new(self.width)
        };
        pool.make_queues();
        pool
    }

    /// Whether rows stand in the order of their ages, without gaps.
    pub(super) fn is_by_age(&self) -> bool {
        self.free.is_empty() && self.ages.is_sorted()
    }

    /// Whether the parts of a pool that was read fit so many columns. Whether its rows do is another question.
    pub(super) fn fits(&self, n_features: usize) -> bool {
        let n_values = with_table!(&self.values, |table| table.by_row.len());
        let is_span = |(low, high): (&f32, &f32)| {
            (low <= high && low.is_finite() && high.is_finite())
                || (*low, *high) == (f32::INFINITY, f32::NEG_INFINITY)
        };
        self.width == n_features
            && [&self.lows, &self.highs].iter().all(|list| list.len() == n_features)
            && self.missing.len() == n_features
            && self.classes.len().checked_mul(n_features) == Some(n_values)
            && self.ages.len() == self.classes.len()
            && self.weights.as_ref().is_none_or(|weights| weights.len() == self.classes.len())
            && self.ages.is_sorted_by(|a, b| a < b)
            && self.lows.iter().zip(&self.highs).all(is_span)
    }

    /// Makes the ranges of columns take in all rows, and notes where values are missing.
    fn note_ranges(&mut self) {
        let mut row = vec![0.0; self.width.max(1)];
        with_table!(&self.values, |table| for values in table.by_row.chunks_exact(row.len()) {
            row.iter_mut().zip(values).for_each(|(to, &from)| *to = from.into());
            widen(&mut self.lows, &mut self.highs, &row);
            self.missing.iter_mut().zip(&row).for_each(|(missing, value)| *missing |= value.is_nan());
        });
    }

    /// The slots that hold rows, the oldest first.
    pub(super) fn by_age(&self) -> Vec<u32> {
        let mut slots = self.by_class();
        slots.sort_unstable_by_key(|&slot| self.ages[slot as usize]);
        slots
    }

    /// The rows, the oldest first, as a data set.
    pub(super) fn dataset(&self, schema: &Schema) -> Result<Dataset> {
        let Self { values, width: n_features, classes, weights, .. } = self.by_age_only();
        let features = match values {
            Values::Bytes(table) => Features::Bytes { values: Arc::new(table.by_row), n_features },
            Values::Reals(table) => {
                let values = table.by_row.into_iter().map(f32::from).collect();
                Features::Floats { values: Arc::new(values), n_features }
            }
        };
        let labels: Vec<ClassId> = classes.into_iter().map(|class| ClassId(u32::from(class))).collect();
        Dataset::new(schema.clone(), features, labels, weights)
    }

    /// Makes the copy of the values by column like the rows, if it is wanted.
    pub(super) fn turn(&mut self, is_wanted: bool, par: &Par) {
        let (changed, width) = (self.changes.replace(Vec::new()), self.width);
        with_table!(&mut self.values, |table| if is_wanted {
            table.follow(changed, width, par);
        } else {
            table.drop_copy();
        });
    }

    /// For each column, one over the distance between its smallest and largest value; 0 where there are not two.
    pub(super) fn scales(&self) -> Vec<f64> {
        let scale = |(&low, &high): (&f32, &f32)| {
            if low < high { 1.0 / (f64::from(high) - f64::from(low)) } else { 0.0 }
        };
        self.lows.iter().zip(&self.highs).map(scale).collect()
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
        let gap_is_new = |(value, &missing): (&f32, &bool)| value.is_nan() && !missing;
        let changes_values = match (&self.values, row.as_slice()) {
            (Values::Bytes(_), Some(row)) => !are_bytes(row),
            (Values::Bytes(_), None) => !row.iter().all(|&v| is_byte(v)),
            (Values::Reals(_), _) => row.iter().zip(&self.missing).any(gap_is_new),
        };
        changes_values || (weight != 1.0 && self.weights.is_none())
    }

    /// Puts a row into a slot.
    pub(super) fn push(&mut self, row: &[f32], class: u16, weight: f32, age: u64) -> u32 {
        let slot = self.free.pop_front().unwrap_or(self.classes.len() as u32);
        let (at, n_slots) = (slot as usize, self.n_slots().max(slot as usize + 1));
        self.classes.resize(n_slots, class);
        self.ages.resize(n_slots, age);
        (self.classes[at], self.ages[at]) = (class, age);
        if weight != 1.0 || self.weights.is_some() {
            let weights = self.weights.get_or_insert_default();
            weights.resize(n_slots, 1.0);
            weights[at] = weight;
        }
        self.write(at, row);
        // A list of more slots than there are would be longer than all of them.
        self.changes = self.changes.take().filter(|slots| slots.len() < self.n_slots());
        if let Some(slots) = &mut self.changes {
            slots.push(slot);
        }
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
        widen(&mut self.lows, &mut self.highs, row);
        let at = slot * self.width;
        if let Values::Bytes(table) = &mut self.values {
            if are_bytes(row) {
                return table.write(at, row.iter().map(|&v| byte(v)));
            }
            let reals = table.by_row.iter().map(|&v| Real::new(f32::from(v))).collect();
            self.values = Values::Reals(Table::new(reals));
        }
        if let Values::Reals(table) = &mut self.values {
            table.write(at, row.iter().map(|&v| Real::new(v)));
            self.missing.iter_mut().zip(row).for_each(|(missing, value)| *missing |= value.is_nan());
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

    /// Takes rows off their queues: those for whose class, slot and age `goes` holds.
    pub(super) fn evict_where(&mut self, goes: impl Fn(usize, u32, u64) -> bool) -> Vec<u32> {
        let mut gone = Vec::new();
        for (class, queue) in self.queues.iter_mut().enumerate() {
            let goes = |slot: &u32| goes(class, *slot, self.ages[*slot as usize]);
            gone.extend(queue.iter().copied().filter(&goes));
            queue.retain(|slot| !goes(slot));
        }
        self.n_rows -= gone.len();
        gone
    }

    /// Of the rows with these values and this class, the newest.
    pub(super) fn newest_like(&self, row: ArrayView1<'_, f32>, class: ClassId) -> Option<u32> {
        let is_same = |(ours, theirs): (f32, &f32)| ours == *theirs || (ours.is_nan() && theirs.is_nan());
        let has_values = |slot: &u32| {
            let span = *slot as usize * self.width..(*slot as usize + 1) * self.width;
            with_table!(&self.values, |table| {
                table.by_row[span].iter().map(|&value| value.into()).zip(row).all(is_same)
            })
        };
        let slots: Vec<u32> = self.queue(class.index()).collect();
        slots.into_iter().rev().find(|slot| row.len() == self.width && has_values(slot))
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
        self.changes = None;
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
            let span = from..from + self.width;
            with_table!(&mut self.values, |table| table.by_row.copy_within(span, at));
            to += 1;
        }
        self.classes.truncate(to);
        self.ages.truncate(to);
        if let Some(weights) = &mut self.weights {
            weights.truncate(to);
        }
        with_table!(&mut self.values, |table| table.by_row.truncate(to * self.width));
        self.free.clear();
        for slot in self.queues.iter_mut().flatten() {
            *slot = new_of_old[*slot as usize];
        }
        new_of_old
    }

    /// Gives back memory that is not in use.
    pub(super) fn shrink(&mut self) {
        with_table!(&mut self.values, |table| table.by_row.shrink_to_fit());
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        with_table!(&self.values, |table| table.bytes())
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

/// Makes the range of each column take in the values of a row. Missing values change nothing.
fn widen(lows: &mut [f32], highs: &mut [f32], row: &[f32]) {
    for (low, &value) in lows.iter_mut().zip(row) {
        *low = if value < *low { value } else { *low };
    }
    for (high, &value) in highs.iter_mut().zip(row) {
        *high = if value > *high { value } else { *high };
    }
}

/// Where floats are whole numbers, and the last byte of one is that of the number.
const WHOLE: f32 = (1 << 23) as f32;

/// Whether a value is a whole number from 0 to 255 (not -0). In steps that the compiler can run on many values at once.
fn is_byte(value: f32) -> bool {
    // The bits of floats from 0 on stand in the order of the floats; those of others come after them.
    let is_small = value.to_bits() <= 255_f32.to_bits();
    let is_whole = (value + WHOLE) - WHOLE == value;
    is_small & is_whole
}

/// The byte that such a value is.
fn byte(value: f32) -> u8 {
    (value + WHOLE).to_bits() as u8
}

/// Whether all values are such numbers. A loop without a way out early, which the compiler can run on many values at once.
fn are_bytes(row: &[f32]) -> bool {
    row.iter().fold(true, |all, &value| all & is_byte(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_from_other_values() {
        assert!((0..=255_u8).all(|b| is_byte(f32::from(b)) && byte(f32::from(b)) == b));
        let others = [
            -0.0,
            -1.0,
            0.5,
            254.999_98,
            256.0,
            1e-40,
            1e9,
            -1e9,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            -f32::NAN,
        ];
        assert!(others.iter().all(|&value| !is_byte(value)));
    }
}

//! Votes for rows left out by leaves that have learnt all others.
//!
//! What a leaf of the bag votes for the rows left out is what an out-of-bag prediction is made of. The finished tree predicts better than that: it has
//! learnt the rows left out, too. Thresholds for its predictions, as prediction sets need them, must come from predictions that are as good. So here
//! each row is predicted by the leaf with the other rows left out in it. Its own label plays no part in that, neither in the leaf nor in what is above,
//! which the bag has grown; the splits that follow when the rows are learnt do depend on it, and are left out.

use super::task::Task;
use super::{Grower, Numbers};
use crate::codes::Code;

impl<C: Code> Grower<'_, C> {
    /// Votes for some of the rows left out of a leaf, whose bag has these class weights.
    pub(super) fn vote_without_one(&mut self, task: &Task, of_bag: &[(usize, f64)]) {
        let stride = self.input.set_stride;
        if stride == 0 {
            return;
        }
        let numbers = Numbers::new(&self.nearby, task.is_nearby);
        let held = &self.leaf_rows.rows[task.all_rows()][task.len..];
        let weight = |row: usize| {
            let of_row = self.input.row_weights.map_or(1.0, |weights| f64::from(weights[row]));
            of_row * self.input.class_weights[usize::from(self.input.classes[row])]
        };
        let mut all = of_bag.to_vec();
        if self.input.learn {
            for row in held.iter().map(|&row| numbers.of(row)) {
                add(&mut all, usize::from(self.input.classes[row]), weight(row));
            }
        }
        for row in held.iter().map(|&row| numbers.of(row)).filter(|row| row.is_multiple_of(stride)) {
            let mut others = all.clone();
            if self.input.learn {
                add(&mut others, usize::from(self.input.classes[row]), -weight(row));
            }
            others.retain(|own| own.1 > 0.0);
            others.sort_unstable_by_key(|own| own.0);
            // Without bag rows there would be no leaf.
            let others = if others.is_empty() { of_bag } else { &others };
            self.left_one_votes.add(std::iter::once(row as u32), others, self.input.params.probabilities);
        }
    }
}

/// Adds weight to a class.
fn add(weights: &mut Vec<(usize, f64)>, class: usize, weight: f64) {
    match weights.iter_mut().find(|own| own.0 == class) {
        Some(own) => own.1 += weight,
        None => weights.push((class, weight)),
    }
}

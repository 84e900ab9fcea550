//! Votes for rows left out by trees that have learnt all others.
//!
//! What a leaf of the bag votes for the rows left out is what an out-of-bag prediction is made of. The finished tree predicts better than that: it has
//! learnt the rows left out, too. Thresholds for its predictions, as prediction sets need them, must come from predictions that are as good. So here
//! each row is predicted as if all rows left out had been learnt but this one: where the others in the leaf are of several classes, cuts part them as
//! those of the tree do, and the row goes with its side until that is pure. The label of the row plays no part, neither in these cuts nor in what is
//! above, which the bag has grown. The cuts of the finished tree do depend on it: to take the row out of its leaf would not be enough.

use hedgerow_core::rng::{Purpose, Rng};

use super::open_node::OpenNode;
use super::{Grower, Numbers};
use crate::codes::Code;

/// Cuts after which a side counts as it is.
const MOST_CUTS: usize = 32;
/// Rows of a leaf, beyond which some stand for all.
const MOST_ROWS: usize = 64;

impl<C: Code> Grower<'_, C> {
    /// Votes for some of the rows left out of a leaf, whose bag has these class weights.
    pub(super) fn vote_without_one(&mut self, node: &OpenNode, of_bag: &[(usize, f64)]) {
        let stride = self.input.set_stride;
        if stride == 0 {
            return;
        }
        let numbers = Numbers::new(&self.nearby, node.is_nearby);
        let all: Vec<usize> =
            self.leaf_rows.rows[node.all_rows()].iter().map(|&row| numbers.of(row)).collect();
        let voted = |row: &usize| row.is_multiple_of(stride);
        let probabilities = self.input.params.probabilities;
        if !self.input.learn {
            let rows = all[node.len..].iter().copied().filter(voted).map(|row| row as u32);
            return self.left_one_votes.add(rows, of_bag, probabilities);
        }
        // Where all others are of one class, as they mostly are, there is nothing to be parted.
        let pure = if self.input.row_weights.is_none() { self.only_class(&all[..node.len]) } else { None };
        let is_off = |row: &usize| pure != Some(self.input.classes[*row]);
        let n_off = all[node.len..].iter().filter(|row| is_off(row)).count();
        let is_plain = |row: &usize| pure.is_some() && n_off == usize::from(is_off(row));
        if let Some(class) = pure {
            let class = usize::from(class);
            let weight = (all.len() - 1) as f64 * self.input.class_weights[class];
            let plain: Vec<u32> = all[node.len..]
                .iter()
                .filter(|row| voted(row) && is_plain(row))
                .map(|row| *row as u32)
                .collect();
            if !plain.is_empty() {
                let own = [(class, weight)];
                let weights = if weight > 0.0 { &own[..] } else { of_bag };
                self.left_one_votes.add(plain.into_iter(), weights, probabilities);
            }
        }
        let seed = self.rng.clone().next_u64();
        for (place, &row) in all.iter().enumerate().skip(node.len) {
            if !voted(&row) || is_plain(&row) {
                continue;
            }
            let rest = all[..place].iter().chain(&all[place + 1..]);
            let step = all.len().div_ceil(MOST_ROWS);
            let others = rest.copied().step_by(step).collect();
            let left = self.side_of(row, others, node.depth, &mut Rng::new(seed, Purpose::Leaf, row as u64));
            let others = self.class_weights(&left, step as f64);
            let others = if others.is_empty() { of_bag } else { &others };
            self.left_one_votes.add(std::iter::once(row as u32), others, probabilities);
        }
    }

    /// The class that all of some rows are of.
    fn only_class(&self, rows: &[usize]) -> Option<u16> {
        let class = |row: &usize| self.input.classes[*row];
        let first = rows.first().map(class)?;
        rows.iter().all(|row| class(row) == first).then_some(first)
    }

    /// The rows among which a row would be if a tree had parted them.
    fn side_of(&self, row: usize, others: Vec<usize>, depth: usize, rng: &mut Rng) -> Vec<usize> {
        let n_columns = self.input.columns.len();
        let code = |row: usize, column: usize| self.matrix.by_row[row * n_columns + column];
        let params = self.input.params;
        let least = (2 * params.min_leaf_rows).max(params.min_split_rows).max(2);
        let most = if params.max_height > 0 { params.max_height.saturating_sub(depth) } else { usize::MAX };
        let mut others = numbered(others, self.input.classes);
        for _ in 0..MOST_CUTS.min(most) {
            // Where the tree ends, this does.
            if others.len() < least || others.iter().all(|other| other.1 == others[0].1) {
                break;
            }
            let mut best: Option<(f64, usize, C)> = None;
            // Columns in which the others are equal part nothing.
            let (mut n_found, mut n_tried) = (0, 0);
            while n_found < self.search.max_features && n_tried < 4 * n_columns {
                n_tried += 1;
                let column = rng.index(n_columns);
                let codes = others.iter().map(|other| code(other.0, column));
                let (Some(low), Some(high)) = (codes.clone().min(), codes.max()) else { break };
                if low == high {
                    continue;
                }
                n_found += 1;
                let cut = C::between(low, high, rng);
                let impurity = impurity(&others, |other| code(other, column) <= cut);
                if best.is_none_or(|(least, ..)| impurity < least) {
                    best = Some((impurity, column, cut));
                }
            }
            let Some((_, column, cut)) = best else { break };
            let goes_left = code(row, column) <= cut;
            others.retain(|other| (code(other.0, column) <= cut) == goes_left);
        }
        others.into_iter().map(|other| other.0).collect()
    }

    /// The class weights of rows, each of which stands for so many.
    fn class_weights(&self, rows: &[usize], each: f64) -> Vec<(usize, f64)> {
        let mut weights = Vec::new();
        for &row in rows {
            let class = usize::from(self.input.classes[row]);
            let of_row = self.input.row_weights.map_or(1.0, |weights| f64::from(weights[row]));
            add(&mut weights, class, each * of_row * self.input.class_weights[class]);
        }
        weights.retain(|own| own.1 > 0.0);
        weights.sort_unstable_by_key(|own| own.0);
        weights
    }
}

/// At most [`MOST_ROWS`] rows, each with the place of its class among theirs.
fn numbered(rows: Vec<usize>, classes: &[u16]) -> Vec<(usize, usize)> {
    let mut known: Vec<u16> = Vec::new();
    let place = |row: usize| {
        let class = classes[row];
        let found = known.iter().position(|other| *other == class);
        (
            row,
            found.unwrap_or_else(|| {
                known.push(class);
                known.len() - 1
            }),
        )
    };
    rows.into_iter().map(place).collect()
}

/// The Gini impurity of both sides of a cut, times their rows.
fn impurity(rows: &[(usize, usize)], goes_left: impl Fn(usize) -> bool) -> f64 {
    let (mut sides, mut lens) = ([[0_u32; MOST_ROWS]; 2], [0_u32; 2]);
    for &(row, class) in rows {
        let side = usize::from(!goes_left(row));
        sides[side][class] += 1;
        lens[side] += 1;
    }
    let squares = |side: &[u32; MOST_ROWS]| side.iter().map(|own| own * own).sum::<u32>();
    (0..2)
        .map(|side| f64::from(lens[side]) - f64::from(squares(&sides[side])) / f64::from(lens[side].max(1)))
        .sum()
}

/// Adds weight to a class.
fn add(weights: &mut Vec<(usize, f64)>, class: usize, weight: f64) {
    match weights.iter_mut().find(|own| own.0 == class) {
        Some(own) => own.1 += weight,
        None => weights.push((class, weight)),
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, ClassId, Dataset, Par, Params as _};

    use crate::params::ForestParams;
    use crate::train::TreeBuilder;

    /// The votes of a tree for each row: class shares.
    fn votes(data: &Dataset, learn: bool) -> Vec<Vec<(u16, f32)>> {
        let params = ForestParams { learn_left_out: learn, ..ForestParams::default() }.check().unwrap();
        let builder = TreeBuilder::new(data, &params, &Par::sequential()).unwrap();
        let mut found = vec![Vec::new(); data.n_rows()];
        let grown = builder.grow(3, &Budget::open(), usize::MAX, true);
        grown
            .left_one_votes
            .visit(|rows, _, shares| rows.iter().for_each(|row| found[*row as usize] = shares.to_vec()));
        let mut left_out = grown.left_out_votes.rows().to_vec();
        left_out.sort_unstable();
        let voted: Vec<u32> =
            (0..data.n_rows() as u32).filter(|row| !found[*row as usize].is_empty()).collect();
        assert_eq!(voted, left_out);
        found
    }

    #[test]
    fn the_label_of_a_row_plays_no_part_in_its_own_vote() {
        let data = blobs(400, 2, 3, 6);
        let before = votes(&data, true);
        let mut n_rows = 0;
        for row in (0..400).filter(|row| !before[*row].is_empty()).step_by(4) {
            let mut other = data.clone();
            other
                .edit(|parts| parts.labels_mut()[row] = ClassId((parts.labels_mut()[row].0 + 1) % 3))
                .unwrap();
            assert_eq!(votes(&other, true)[row], before[row], "row {row}");
            n_rows += 1;
        }
        assert!(n_rows > 10);
    }

    #[test]
    fn a_tree_that_learns_no_other_rows_votes_as_its_bag_does() {
        let data = blobs(300, 2, 3, 7);
        let params = ForestParams { learn_left_out: false, ..ForestParams::default() }.check().unwrap();
        let builder = TreeBuilder::new(&data, &params, &Par::sequential()).unwrap();
        let grown = builder.grow(3, &Budget::open(), usize::MAX, true);
        let mut expected = vec![Vec::new(); 300];
        grown
            .left_out_votes
            .visit(|rows, _, shares| rows.iter().for_each(|row| expected[*row as usize] = shares.to_vec()));
        assert_eq!(votes(&data, false), expected);
    }
}

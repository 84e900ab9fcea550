//! A random decision tree to label rows with.

use super::random_tree::RandomTreeParams;
use crate::data::ClassId;
use crate::rng::Rng;

#[derive(Debug, Clone, Copy)]
enum Node {
    Leaf(ClassId),
    /// Below the threshold goes to `below`, the rest to the node behind it.
    Number {
        feature: usize,
        threshold: f32,
        below: usize,
    },
    /// Category `k` goes to node `first + k`.
    Category {
        feature: usize,
        first: usize,
    },
}

/// Random questions, and a random class in each leaf. Children of a node stand side by side.
#[derive(Debug, Clone)]
pub(super) struct Tree(Vec<Node>);

impl Tree {
    /// Draws a tree; one that would give all rows the same class is drawn again.
    pub(super) fn grow(params: &RandomTreeParams, rng: &mut Rng) -> Self {
        loop {
            let mut growth = Growth { params, rng, nodes: vec![Node::Leaf(ClassId(0))] };
            growth.grow(0, 0, &mut Cell::whole(params));
            let nodes = growth.nodes;
            let mut classes = nodes.iter().filter_map(|node| match node {
                Node::Leaf(class) => Some(*class),
                _ => None,
            });
            let first = classes.next();
            if classes.any(|class| Some(class) != first) {
                return Self(nodes);
            }
        }
    }

    /// The class of a row.
    pub(super) fn class(&self, row: &[f32]) -> ClassId {
        let mut at = 0;
        loop {
            at = match self.0[at] {
                Node::Leaf(class) => return class,
                Node::Number { feature, threshold, below } => below + usize::from(row[feature] >= threshold),
                Node::Category { feature, first } => first + row[feature] as usize,
            }
        }
    }
}

/// What is left of the feature space at a node.
struct Cell {
    /// From and to, for each numeric column.
    ranges: Vec<(f32, f32)>,
    /// Categorical columns not yet asked, by number among all columns.
    unasked: Vec<usize>,
}

impl Cell {
    fn whole(params: &RandomTreeParams) -> Self {
        let n_features = params.n_numeric + params.n_categorical;
        Self { ranges: vec![(0.0, 1.0); params.n_numeric], unasked: (params.n_numeric..n_features).collect() }
    }
}

/// A tree in the making.
struct Growth<'a> {
    params: &'a RandomTreeParams,
    rng: &'a mut Rng,
    nodes: Vec<Node>,
}

impl Growth<'_> {
    /// Makes the node at place `at` and everything below it; leaves the cell as it was.
    fn grow(&mut self, at: usize, depth: usize, cell: &mut Cell) {
        let RandomTreeParams { first_leaf, leaf_share, n_classes, n_numeric, .. } = *self.params;
        let n_choices = n_numeric + cell.unasked.len();
        let is_last = depth >= self.params.depth || n_choices == 0;
        if is_last || (depth >= first_leaf && self.rng.unit() < leaf_share) {
            self.nodes[at] = Node::Leaf(ClassId(self.rng.index(n_classes) as u32));
            return;
        }
        match self.rng.index(n_choices) {
            feature if feature < n_numeric => self.grow_number(at, feature, depth, cell),
            choice => self.grow_category(at, choice - n_numeric, depth, cell),
        }
    }

    fn grow_number(&mut self, at: usize, feature: usize, depth: usize, cell: &mut Cell) {
        let (from, to) = cell.ranges[feature];
        let threshold = from + (to - from) * self.rng.unit() as f32;
        let below = self.add(2);
        self.nodes[at] = Node::Number { feature, threshold, below };
        cell.ranges[feature] = (from, threshold);
        self.grow(below, depth + 1, cell);
        cell.ranges[feature] = (threshold, to);
        self.grow(below + 1, depth + 1, cell);
        cell.ranges[feature] = (from, to);
    }

    fn grow_category(&mut self, at: usize, choice: usize, depth: usize, cell: &mut Cell) {
        let feature = cell.unasked.remove(choice);
        let first = self.add(self.params.n_categories);
        self.nodes[at] = Node::Category { feature, first };
        for category in 0..self.params.n_categories {
            self.grow(first + category, depth + 1, cell);
        }
        cell.unasked.insert(choice, feature);
    }

    /// Room for `n` nodes; returns the place of the first.
    fn add(&mut self, n: usize) -> usize {
        let first = self.nodes.len();
        self.nodes.resize(first + n, Node::Leaf(ClassId(0)));
        first
    }
}

/// How many nodes a tree will have on average: what is asked at random decides how wide it gets.
pub(super) fn expected_nodes(params: &RandomTreeParams) -> f64 {
    let RandomTreeParams { n_numeric, n_categorical, n_categories, .. } = *params;
    // expected[u] is the size of a subtree at the depth in hand when u categorical columns have not been asked yet.
    let mut expected = vec![1.0_f64; n_categorical + 1];
    for depth in (0..params.depth).rev() {
        let split = if depth >= params.first_leaf { 1.0 - params.leaf_share } else { 1.0 };
        for unasked in (0..=n_categorical).rev() {
            let n_choices = (n_numeric + unasked) as f64;
            let number = n_numeric as f64 * 2.0 * expected[unasked];
            let category = match unasked {
                0 => 0.0,
                _ => (unasked * n_categories) as f64 * expected[unasked - 1],
            };
            expected[unasked] = 1.0 + split * (number + category) / n_choices.max(1.0);
        }
    }
    expected[n_categorical]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    fn depths(nodes: &[Node], n_categories: usize, at: usize, depth: usize, found: &mut Vec<usize>) {
        match nodes[at] {
            Node::Leaf(_) => found.push(depth),
            Node::Number { below, .. } => {
                (below..below + 2).for_each(|child| depths(nodes, n_categories, child, depth + 1, found));
            }
            Node::Category { first, .. } => (first..first + n_categories)
                .for_each(|child| depths(nodes, n_categories, child, depth + 1, found)),
        }
    }

    #[test]
    fn leaves_stand_between_the_first_and_the_last_depth() {
        let params = RandomTreeParams { depth: 7, first_leaf: 4, ..RandomTreeParams::default() };
        let mut all = Vec::new();
        for index in 0..20 {
            let tree = Tree::grow(&params, &mut Rng::new(1, Purpose::Data, index));
            depths(&tree.0, params.n_categories, 0, 0, &mut all);
        }
        assert_eq!((all.iter().min(), all.iter().max()), (Some(&4), Some(&7)));
        // A leaf is a leaf at depth 4 with probability 0.15; a node there is reached by every path.
        assert!(all.contains(&5) && all.contains(&6));
    }

    #[test]
    fn trees_are_about_as_large_as_expected() {
        for (n_numeric, n_categorical, depth) in [(5, 5, 5), (30, 0, 12), (2, 3, 6), (0, 4, 9)] {
            let params = RandomTreeParams { n_numeric, n_categorical, depth, ..RandomTreeParams::default() };
            let sizes = (0..200).map(|i| Tree::grow(&params, &mut Rng::new(2, Purpose::Data, i)).0.len());
            let mean = sizes.sum::<usize>() as f64 / 200.0;
            let expected = expected_nodes(&params);
            assert!((mean / expected - 1.0).abs() < 0.1, "{mean} nodes, {expected} expected");
        }
    }
}

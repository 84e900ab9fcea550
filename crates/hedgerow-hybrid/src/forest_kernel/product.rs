//! Products with the kernel's matrix, without the matrix.
//!
//! The kernel of a forest is the share of its trees in which two rows share a leaf. With `v` a vector over rows,
//!
//! ```text
//! (K v)_i = 1/T Σ_t s_t(leaf_t(i)),    s_t(l) = Σ_{j in leaf l of tree t} v_j
//! ```
//!
//! so a product costs two passes over the leaves of all rows instead of one over all pairs of rows.

use hedgerow_core::Par;
use ndarray::Array2;

use super::leaves::{Leaves, Numbers, TreeLeaves};

/// Trees whose sums are kept at a time, and rows that a thread works on at a time.
const TREES: usize = 16;
const ROWS: usize = 1024;

/// K v for each column of `v`.
pub(super) fn product(leaves: &Leaves, v: &Array2<f64>, par: &Par) -> Array2<f64> {
    let width = v.ncols();
    let mut out = Array2::zeros(v.dim());
    let Some(from) = v.as_slice() else { return out };
    let per_tree = 1.0 / leaves.trees.len().max(1) as f64;
    let mut sums: Vec<Vec<f64>> = vec![Vec::new(); TREES];
    for trees in leaves.trees.chunks(TREES) {
        par.for_chunks(&mut sums[..trees.len()], 1, |t, sums| {
            sums.iter_mut().for_each(|sums| leaf_sums(&trees[t], from, width, sums));
        });
        let Some(to) = out.as_slice_mut() else { break };
        par.for_chunks(to, ROWS * width.max(1), |chunk, to| {
            for (tree, sums) in trees.iter().zip(&sums) {
                let first = chunk * ROWS;
                match &tree.numbers {
                    Numbers::Short(numbers) => {
                        add(to, width, sums, numbers[first..].iter().copied().map(usize::from));
                    }
                    Numbers::Long(numbers) => {
                        add(to, width, sums, numbers[first..].iter().map(|n| *n as usize));
                    }
                }
            }
        });
    }
    out *= per_tree;
    out
}

/// The sum of `v` over the rows of each leaf of a tree, leaf after leaf.
pub(super) fn leaf_sums(tree: &TreeLeaves, v: &[f64], width: usize, sums: &mut Vec<f64>) {
    sums.clear();
    sums.resize(tree.keys.len() * width, 0.0);
    match &tree.numbers {
        Numbers::Short(numbers) => gather(v, width, sums, numbers.iter().copied().map(usize::from)),
        Numbers::Long(numbers) => gather(v, width, sums, numbers.iter().map(|n| *n as usize)),
    }
}

fn gather(v: &[f64], width: usize, sums: &mut [f64], numbers: impl Iterator<Item = usize>) {
    for (v, number) in v.chunks_exact(width).zip(numbers) {
        sums[number * width..][..width].iter_mut().zip(v).for_each(|(sum, v)| *sum += v);
    }
}

fn add(to: &mut [f64], width: usize, sums: &[f64], numbers: impl Iterator<Item = usize>) {
    for (to, number) in to.chunks_exact_mut(width).zip(numbers) {
        to.iter_mut().zip(&sums[number * width..][..width]).for_each(|(to, sum)| *to += sum);
    }
}

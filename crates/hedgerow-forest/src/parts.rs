//! Trees that do not know all classes: what forests grown apart leave behind when they are merged.
//!
//! A tree can only vote for classes it has seen. Added up plainly, the votes of a part that knows two of ten classes would
//! claim half of all rows for those two. Each part g with classes `S_g` and shares `v_g` is therefore taken for what it is, a
//! statement about the classes in `S_g` *given* that the row belongs to one of them:
//!
//! ```text
//! p_c = Σ_g w_g · ( v_gc · p(S_g)   if c ∈ S_g,   p_c   otherwise )        w_g: share of the trees
//! ```
//!
//! Iterating this from a start settles it: a part that knows everything decides between sets, parts that know less refine
//! within theirs. Where no part connects two sets the start decides, and there each part gets the mass that its share of the
//! classes suggests.

use serde::{Deserialize, Serialize};

/// A run of trees that know the same classes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// How many trees in a row.
    pub n_trees: usize,
    /// The classes they know, rising.
    pub classes: Vec<u32>,
}

/// Whether parts describe a forest of `n_trees` trees and `n_classes` classes. No parts at all mean that all trees know all.
pub(crate) fn is_valid(parts: &[Part], n_trees: usize, n_classes: usize) -> bool {
    let part_ok = |part: &Part| {
        part.n_trees > 0
            && part.classes.is_sorted_by(|a, b| a < b)
            && part.classes.last().is_some_and(|&c| (c as usize) < n_classes)
    };
    let total = parts.iter().try_fold(0_usize, |sum, part| sum.checked_add(part.n_trees));
    parts.is_empty() || (parts.iter().all(part_ok) && total == Some(n_trees))
}

/// Joins neighbors that know the same, and forgets parts that all know everything.
pub(crate) fn simplify(parts: Vec<Part>, n_classes: usize) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if last.classes == part.classes => last.n_trees += part.n_trees,
            _ => joined.push(part),
        }
    }
    if joined.iter().all(|part| part.classes.len() == n_classes) { Vec::new() } else { joined }
}

/// Puts the votes of all parts for one row together. `votes(g)` are the summed shares of part `g` for all classes; the result
/// is scaled to the number of trees.
pub(crate) fn combine<'a>(parts: &[Part], votes: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
    const MOST_ROUNDS: usize = 100;
    let n_classes = out.len() as f64;
    let n_trees: f64 = parts.iter().map(|part| part.n_trees as f64).sum();
    let weight = |g: usize| parts[g].n_trees as f64 / n_trees;

    let mut p = vec![0.0; out.len()];
    for (g, part) in parts.iter().enumerate() {
        let known = part.classes.len() as f64;
        let elsewhere = if known < n_classes { (1.0 - known / n_classes) / (n_classes - known) } else { 0.0 };
        p.iter_mut().for_each(|p| *p += weight(g) * elsewhere);
        let total: f64 = votes(g).iter().sum();
        for &class in &part.classes {
            let share = votes(g)[class as usize] / total;
            p[class as usize] += weight(g) * (share * known / n_classes - elsewhere);
        }
    }
    for _ in 0..MOST_ROUNDS {
        let mut next = vec![0.0; out.len()];
        for (g, part) in parts.iter().enumerate() {
            let mass: f64 = part.classes.iter().map(|&c| p[c as usize]).sum();
            let total: f64 = votes(g).iter().sum();
            for (next, p) in next.iter_mut().zip(&p) {
                *next += weight(g) * p;
            }
            for &class in &part.classes {
                let class = class as usize;
                next[class] += weight(g) * (votes(g)[class] / total * mass - p[class]);
            }
        }
        let change = next.iter().zip(&p).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        p = next;
        if change < 1e-7 {
            break;
        }
    }
    for (out, p) in out.iter_mut().zip(&p) {
        *out = p.max(0.0) * n_trees;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(n_trees: usize, classes: &[u32]) -> Part {
        Part { n_trees, classes: classes.to_vec() }
    }

    #[test]
    fn who_knows_everything_decides_between_sets() {
        let parts = [part(10, &[0, 1, 2]), part(30, &[0, 1])];
        let votes = [vec![1.0, 1.0, 8.0], vec![30.0, 0.0, 0.0]];
        let mut out = [0.0; 3];
        combine(&parts, |g| &votes[g], &mut out);
        let p: Vec<f64> = out.iter().map(|v| v / 40.0).collect();
        // Class 2 keeps what the first part gives it; the second part moves mass between 0 and 1 only.
        assert!((p[2] - 0.8).abs() < 1e-5 && (p[0] + p[1] - 0.2).abs() < 1e-5, "{p:?}");
        assert!((p[0] - (0.25 * 0.1 + 0.75 * 0.2)).abs() < 1e-5, "{p:?}");
    }

    #[test]
    fn unconnected_sets_share_by_the_number_of_their_classes() {
        let parts = [part(5, &[0, 1, 2]), part(50, &[3])];
        let votes = [vec![5.0, 0.0, 0.0, 0.0], vec![0.0, 0.0, 0.0, 50.0]];
        let mut out = [0.0; 4];
        combine(&parts, |g| &votes[g], &mut out);
        assert!(out[0] > out[3], "{out:?}");
        assert!((out.iter().sum::<f64>() - 55.0).abs() < 1e-9);
    }

    #[test]
    fn parts_are_checked_and_joined() {
        assert!(is_valid(&[], 5, 3));
        assert!(is_valid(&[part(2, &[0, 2]), part(3, &[1])], 5, 3));
        assert!(!is_valid(&[part(2, &[0, 3]), part(3, &[1])], 5, 3));
        assert!(!is_valid(&[part(2, &[2, 0]), part(3, &[1])], 5, 3));
        assert!(!is_valid(&[part(2, &[0])], 5, 3));
        assert!(!is_valid(&[part(usize::MAX, &[0]), part(6, &[0])], 5, 3));
        assert_eq!(simplify(vec![part(1, &[0, 1]), part(2, &[0, 1])], 2), []);
        assert_eq!(simplify(vec![part(1, &[0]), part(2, &[0])], 2), [part(3, &[0])]);
    }
}

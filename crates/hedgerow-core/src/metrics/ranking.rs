//! Whether rows of a class rank above the others.

use ndarray::ArrayView2;

use crate::data::ClassId;

/// Area under the ROC curve of the second of two classes, or the mean over all classes that occur of one against the
/// rest; none if no class can be told from others.
pub fn auc(proba: ArrayView2<'_, f64>, truth: &[ClassId]) -> Option<f64> {
    let one_class = |class: usize| {
        let scores: Vec<f64> = proba.column(class).to_vec();
        let hits: Vec<bool> = truth.iter().map(|c| c.index() == class).collect();
        binary_auc(&scores, &hits)
    };
    if proba.ncols() == 2 {
        return one_class(1);
    }
    let areas: Vec<f64> = (0..proba.ncols()).filter_map(one_class).collect();
    (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64)
}

/// Area under the ROC curve: how often a hit scores above a miss, ties counting half; none without both.
pub fn binary_auc(scores: &[f64], hits: &[bool]) -> Option<f64> {
    let n_hits = hits.iter().filter(|&&h| h).count();
    let n_misses = hits.len() - n_hits;
    if n_hits == 0 || n_misses == 0 {
        return None;
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let mut rank_sum = 0.0;
    let mut start = 0;
    while start < order.len() {
        let mut end = start + 1;
        while end < order.len() && scores[order[end]] == scores[order[start]] {
            end += 1;
        }
        let middle_rank = (start + 1 + end) as f64 / 2.0;
        rank_sum += middle_rank * order[start..end].iter().filter(|&&i| hits[i]).count() as f64;
        start = end;
    }
    let least = n_hits as f64 * (n_hits as f64 + 1.0) / 2.0;
    Some((rank_sum - least) / (n_hits as f64 * n_misses as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_counting_pairs() {
        let scores = [0.1_f64, 0.4, 0.35, 0.8, 0.4, 0.4];
        let hits = [false, false, true, true, true, false];
        let mut wins = 0.0;
        for (i, &hit) in hits.iter().enumerate() {
            for (j, &other) in hits.iter().enumerate() {
                if hit && !other {
                    wins += match scores[i].total_cmp(&scores[j]) {
                        std::cmp::Ordering::Greater => 1.0,
                        std::cmp::Ordering::Equal => 0.5,
                        std::cmp::Ordering::Less => 0.0,
                    };
                }
            }
        }
        assert_eq!(binary_auc(&scores, &hits), Some(wins / 9.0));
        assert_eq!(binary_auc(&scores, &[true; 6]), None);
    }
}

//! Ranks with ties.

/// The rank of each value, 1 for the smallest; values that are equal share the mean of their ranks.
///
/// ```
/// assert_eq!(hedgerow_active::statistics::average_ranks(&[0.3, 0.1, 0.3, 0.9]), [2.5, 1.0, 2.5, 4.0]);
/// ```
pub fn average_ranks(values: &[f64]) -> Vec<f64> {
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    for group in tied_groups(values) {
        // Ranks from + 1 to from + n.
        let rank = from as f64 + 0.5 * (group.len() + 1) as f64;
        from += group.len();
        for place in group {
            ranks[place] = rank;
        }
    }
    ranks
}

/// The places of the values in ascending order, those of equal values together.
pub(super) fn tied_groups(values: &[f64]) -> Vec<Vec<usize>> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    places.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    places.chunk_by(|&a, &b| values[a] == values[b]).map(<[usize]>::to_vec).collect()
}

/// Σ t³ − t over groups of t equal values.
pub(super) fn tie_sum(values: &[f64]) -> f64 {
    tied_groups(values).iter().map(|group| group.len() as f64).map(|t| t * t * t - t).sum()
}

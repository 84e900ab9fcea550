//! Agreement of two predictions beyond chance (Cohen, 1960, A coefficient of agreement for nominal scales).

/// Cohen's kappa of two predictions of the same rows: 1 where all are equal, 0 for what chance would give. NaN where there are no rows.
///
/// ```
/// use hedgerow_active::stopping::cohens_kappa;
/// assert_eq!(cohens_kappa(&[0, 0, 1, 1], &[0, 0, 1, 1]), 1.0);
/// assert_eq!(cohens_kappa(&[0, 0, 1, 1], &[0, 1, 0, 1]), 0.0);
/// ```
pub fn cohens_kappa(a: &[u32], b: &[u32]) -> f64 {
    let n = a.len().min(b.len());
    let n_classes = a.iter().chain(b).max().map_or(0, |most| *most as usize + 1);
    let mut counts = vec![[0.0; 2]; n_classes];
    let mut equal = 0.0;
    for (a, b) in a.iter().zip(b) {
        counts[*a as usize][0] += 1.0;
        counts[*b as usize][1] += 1.0;
        equal += f64::from(u8::from(a == b));
    }
    let n = n as f64;
    let by_chance = counts.iter().map(|[a, b]| a * b).sum::<f64>() / n;
    // Both the same constant: they agree, and chance would, too.
    if equal == n && n > 0.0 { 1.0 } else { (equal - by_chance) / (n - by_chance) }
}

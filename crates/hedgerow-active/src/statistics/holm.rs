//! Holm's adjustment of p-values for several tests (Holm, 1979, A simple sequentially rejective multiple test procedure).

use hedgerow_core::{Error, Result};

/// The adjusted p-values, in the order they came: rejecting those below α keeps the probability of any false rejection below α.
///
/// ```
/// let adjusted = hedgerow_active::statistics::holm(&[0.01, 0.04, 0.03])?;
/// assert_eq!(adjusted, [0.03, 0.06, 0.06]);
/// # Ok::<(), hedgerow_core::Error>(())
/// ```
pub fn holm(p_values: &[f64]) -> Result<Vec<f64>> {
    if let Some(place) = p_values.iter().position(|p| !(0.0..=1.0).contains(p)) {
        return Err(Error::param(format!("p_values[{place}]"), "a number from 0 to 1", p_values[place]));
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut least = 0.0_f64;
    for (i, &place) in order.iter().enumerate() {
        least = least.max((p_values.len() - i) as f64 * p_values[place]).min(1.0);
        adjusted[place] = least;
    }
    Ok(adjusted)
}

//! Indicator kriging: class indicators are interpolated as measurements of a field would be.
//!
//! Classical (CIK): simple kriging of the indicators with known mean 1/C. Values may leave [0, 1]. Simplicial (SIK): the same for
//! probabilities with one imagined half of a row a class, (1 + ½)/(1 + C/2) for a row's own class, in log-ratio coordinates; so no
//! prediction leaves the simplex. As kriging is linear, SIK is a function of CIK: `softmax(log 3 · CIK)`, for two classes equation 7.5.

use hedgerow_core::calibration::softmax;
use hedgerow_core::{Error, Par, Result};
use ndarray::{Array2, ArrayView2};

use crate::kernel::Kernel;
use crate::labels::LabelRegression;

/// (1 + ½)/½: how much more probable a row's own class is than any other, with half a row imagined for each.
pub const JEFFREYS_RATIO: f64 = 3.0;

/// Learns classes (numbers below `n_classes`) of rows. The covariance is the kernel's, plus the nugget for a row and itself. The scores are CIK: a value a class for each
/// row, which sum to 1, but may be below 0 or above 1.
pub fn krige(
    kernel: Kernel,
    nugget: f64,
    x: ArrayView2<'_, f64>,
    classes: &[usize],
    n_classes: usize,
    par: &Par,
) -> Result<LabelRegression> {
    let y = indicators(classes, n_classes)?;
    let mean = ndarray::Array1::from_elem(n_classes, 1.0 / n_classes as f64);
    LabelRegression::with_offsets(kernel, nugget, x, y.view(), mean, par)
}

/// 1 for a row's own class, 0 for the others.
pub(crate) fn indicators(classes: &[usize], n_classes: usize) -> Result<Array2<f64>> {
    if let Some(class) = classes.iter().find(|class| **class >= n_classes) {
        return Err(Error::param("classes", format!("numbers below {n_classes}"), class));
    }
    let value = |(r, c): (usize, usize)| if classes[r] == c { 1.0 } else { 0.0 };
    Ok(Array2::from_shape_fn((classes.len(), n_classes), value))
}

/// Kriged indicators of one row become the kriged composition whose training values favored their own class by `ratio`.
pub(crate) fn to_simplex(row: &mut [f64], ratio: f64) {
    softmax(row, libm::log(ratio), 0.0);
}

/// Kriged indicators of one row, cut to what probabilities can be.
pub(crate) fn to_shares(row: &mut [f64]) {
    const LEAST: f64 = 1e-3;
    row.iter_mut().for_each(|v| *v = v.clamp(LEAST, 1.0));
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|v| *v /= sum);
}

/// A variogram γ(r) = nugget + partial sill · (1 − ρ(r/length)), fitted to indicators.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variogram {
    /// The length of the correlation ρ.
    pub length: f64,
    /// What distance adds in the end.
    pub partial_sill: f64,
    /// What rows differ by however near they are.
    pub nugget: f64,
}

impl Variogram {
    /// Fits by least squares, bins of distance weighted by their pairs: `correlation` gives ρ for lengths to be tried. Pairs are those
    /// of the rows given; half the squared difference of indicators, summed over classes, is 1 for different classes and 0 for
    /// equal ones.
    pub fn fit(
        x: ArrayView2<'_, f64>,
        classes: &[usize],
        lengths: &[f64],
        correlation: impl Fn(f64, f64) -> f64,
    ) -> Option<Self> {
        const BINS: usize = 24;
        let mut pairs = Vec::with_capacity(classes.len() * classes.len() / 2);
        for i in 0..classes.len() {
            for j in 0..i {
                let r2: f64 = x.row(i).iter().zip(x.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
                pairs.push((libm::sqrt(r2), if classes[i] == classes[j] { 0.0 } else { 1.0 }));
            }
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Near pairs tell most: bins hold ever more pairs, and the farthest half is left out.
        pairs.truncate((pairs.len() / 2).max(1));
        let mut bins = Vec::new();
        let mut start = 0;
        for bin in 1..=BINS {
            let end = (pairs.len() * bin * bin / (BINS * BINS)).max(start);
            let (n, part) = ((end - start) as f64, &pairs[start..end]);
            if !part.is_empty() {
                let r = part.iter().map(|p| p.0).sum::<f64>() / n;
                bins.push((r, part.iter().map(|p| p.1).sum::<f64>() / n, libm::sqrt(n)));
            }
            start = end;
        }
        let fits = lengths.iter().filter_map(|&length| {
            let rise = |r: f64| 1.0 - correlation(r, length);
            let (partial_sill, nugget, error) = line(bins.iter().map(|&(r, g, w)| (rise(r), g, w)))?;
            Some((error, Self { length, partial_sill, nugget }))
        });
        fits.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, found)| found)
    }
}

/// The best a ≥ 0 and b ≥ 0 for v ≈ a u + b, and what is left.
fn line(points: impl Iterator<Item = (f64, f64, f64)> + Clone) -> Option<(f64, f64, f64)> {
    let mut sums = [0.0; 5];
    for (u, v, w) in points.clone() {
        sums = [sums[0] + w, sums[1] + w * u, sums[2] + w * u * u, sums[3] + w * v, sums[4] + w * u * v];
    }
    let [w, u, uu, v, uv] = sums;
    let determinant = w * uu - u * u;
    let error = |a: f64, b: f64| points.clone().map(|(u, v, w)| w * (v - a * u - b).powi(2)).sum::<f64>();
    let free = ((w * uv - u * v) / determinant, (uu * v - u * uv) / determinant);
    let candidates = [free, (uv / uu, 0.0), (0.0, v / w)];
    let allowed =
        candidates.into_iter().filter(|(a, b)| a.is_finite() && b.is_finite() && *a >= 0.0 && *b >= 0.0);
    allowed.map(|(a, b)| (a, b, error(a, b))).filter(|c| c.2.is_finite()).min_by(|a, b| a.2.total_cmp(&b.2))
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use ndarray::array;

    use super::*;
    use crate::regression::GpRegression;

    fn two() -> (Array2<f64>, Vec<usize>) {
        let mut rng = Rng::new(2, Purpose::Data, 0);
        let x = Array2::from_shape_fn((30, 2), |_| 2.0 * rng.unit());
        let classes = x.rows().into_iter().map(|r| usize::from(r[0] + r[1] > 2.0)).collect();
        (x, classes)
    }

    /// Reference values.
    #[test]
    fn the_shortcut_gives_the_reference_values() {
        let mut row = [0.1, 0.9];
        to_simplex(&mut row, JEFFREYS_RATIO);
        assert!((row[1] - 0.706_592_11).abs() < 1e-8, "{}", row[1]);
    }

    #[test]
    fn both_are_simple_kriging_of_what_they_say() {
        let par = Par::sequential();
        let (x, classes) = two();
        let kernel = Kernel::matern(0.5, 0.4).scaled(0.17);
        let kriging = krige(kernel.clone(), 0.02, x.view(), &classes, 2, &par).unwrap();
        let at = array![[0.3, 0.4], [1.1, 0.8], [1.9, 1.7]];
        let krige = |y: Vec<f64>, mean: f64| {
            let noisy = kernel.clone() + Kernel::white(0.02);
            let gp = GpRegression::fit(noisy, mean, x.view(), ndarray::Array1::from(y).view(), &par).unwrap();
            gp.predict(at.view(), &par).unwrap().mean
        };
        let classical = krige(classes.iter().map(|c| *c as f64).collect(), 0.5);
        // φ = ±ln 3, the log-ratio of ¾ and ¼.
        let latent = krige(classes.iter().map(|c| (2.0 * *c as f64 - 1.0) * 3f64.ln()).collect(), 0.0);
        let cik = kriging.scores(at.view(), &par).unwrap();
        let mut sik = cik.clone();
        sik.rows_mut()
            .into_iter()
            .for_each(|mut row| to_simplex(row.as_slice_mut().unwrap(), JEFFREYS_RATIO));
        for i in 0..3 {
            assert!((cik[(i, 1)] - classical[i]).abs() < 1e-10);
            assert!((sik[(i, 1)] - 1.0 / (1.0 + (-latent[i]).exp())).abs() < 1e-10);
            assert!((cik.row(i).sum() - 1.0).abs() < 1e-10);
        }
    }

    #[test]
    fn without_a_nugget_labels_are_met_exactly() {
        let par = Par::sequential();
        let (x, classes) = two();
        let kernel = Kernel::matern(0.5, 0.4).scaled(0.17);
        let cik = krige(kernel, 0.0, x.view(), &classes, 2, &par).unwrap().scores(x.view(), &par).unwrap();
        for (row, class) in cik.rows().into_iter().zip(&classes) {
            assert!((row[*class] - 1.0).abs() < 1e-6);
        }
        assert!(krige(Kernel::rbf(1.0), 0.0, x.view(), &classes, 1, &par).is_err());
    }

    #[test]
    fn a_known_variogram_is_found_again() {
        let mut rng = Rng::new(4, Purpose::Data, 0);
        let x = Array2::from_shape_fn((700, 2), |_| 10.0 * rng.unit());
        let field = crate::regression::tests::drawn(&Kernel::matern(0.5, 1.5), x.view(), &mut rng);
        let classes: Vec<usize> = field.iter().map(|v| usize::from(*v > 0.0)).collect();
        let lengths = [0.1, 0.3, 0.6, 1.0, 1.5, 2.5, 5.0, 20.0];
        let found = Variogram::fit(x.view(), &classes, &lengths, |r, l| (-r / l).exp()).unwrap();
        // The sign of such a field has a correlation that falls faster than its own.
        assert!((0.3..=2.5).contains(&found.length), "{found:?}");
        let sill = found.partial_sill + found.nugget;
        assert!((0.3..0.8).contains(&sill) && found.nugget < 0.3, "{found:?}");
        // Rows all at one place have no information.
        assert!(
            Variogram::fit(Array2::zeros((9, 1)).view(), &[0; 9], &lengths, |r, l| (-r / l).exp()).is_some()
        );
    }
}

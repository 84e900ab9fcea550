//! A second pass over the sites of the active rows once all are chosen: ADF in reversed order, or EP (Minka, 2001).

use hedgerow_core::{Par, Result};
use ndarray::{Array1, Array2};

use super::SecondPass;
use super::site::Site;
use crate::binary::Sites;

/// Means and precisions of sites.
type Beliefs = (Array1<f64>, Array1<f64>);

/// New sites for active rows with these covariances and labels.
pub(super) fn second_pass(
    kind: SecondPass,
    covariance: &Array2<f64>,
    y: &[f64],
    bias: f64,
    (means, precisions): Beliefs,
) -> Result<Beliefs> {
    match kind {
        SecondPass::None => Ok((means, precisions)),
        SecondPass::Reversed => {
            let order: Vec<usize> = (0..y.len()).rev().collect();
            let again = filtered(covariance, y, bias, &order, (&means, &precisions));
            // Averages of natural parameters are those of a belief; averages of means alone are not.
            let new = (&precisions + &again.1) / 2.0;
            let weighted = (&precisions * &means + &again.1 * &again.0) / 2.0;
            Ok((weighted / &new, new))
        }
        SecondPass::Ep => {
            let sites = Sites::matched(covariance, y, bias, &Par::sequential())?;
            // A site that was never matched has no information; it keeps what the filter gave it.
            let is_there = |i: usize| sites.tau[i] > 0.0;
            let pick = |i: usize| if is_there(i) { sites.tau[i] } else { precisions[i] };
            let mean = |i: usize| if is_there(i) { sites.nu[i] / sites.tau[i] } else { means[i] };
            Ok(((0..y.len()).map(mean).collect(), (0..y.len()).map(pick).collect()))
        }
    }
}

/// The filter once more over rows in some order. A label without information there keeps its site.
fn filtered(
    covariance: &Array2<f64>,
    y: &[f64],
    bias: f64,
    order: &[usize],
    (means, precisions): (&Array1<f64>, &Array1<f64>),
) -> Beliefs {
    let (mut new_means, mut new_precisions) = (means.clone(), precisions.clone());
    let mut posterior = covariance.clone();
    let mut mean = Array1::<f64>::zeros(y.len());
    for &i in order {
        let Some(site) = Site::new(y[i], mean[i], posterior[(i, i)], bias) else { continue };
        let column = posterior.column(i).to_owned();
        mean.scaled_add(site.gain, &column);
        for (mut row, &s) in posterior.rows_mut().into_iter().zip(&column) {
            row.scaled_add(-site.shrink * s, &column);
        }
        (new_means[i], new_precisions[i]) = (site.mean, site.precision);
    }
    (new_means, new_precisions)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::Kernel;

    fn four() -> (Array2<f64>, [f64; 4]) {
        let x = array![[0.0], [1.0], [2.0], [3.0]];
        let kernel = Kernel::rbf(1.0) + Kernel::white(1e-6);
        (kernel.matrix(x.view(), &Par::sequential()), [1.0, 1.0, -1.0, -1.0])
    }

    /// Reference sites, in the order in which they joined.
    #[test]
    fn the_filter_gives_the_reference_sites() {
        let (k, y) = four();
        let start = (Array1::ones(4), Array1::ones(4));
        let (means, precisions) = filtered(&k, &y, 0.0, &[0, 2, 1], (&start.0, &start.1));
        for (i, mean, precision) in
            [(0, 1.772_454, 0.466_942), (2, -1.737_462, 0.480_281), (1, 1.669_019, 0.496_959)]
        {
            assert!((means[i] - mean).abs() < 2e-6 && (precisions[i] - precision).abs() < 2e-6);
        }
        assert_eq!((means[3], precisions[3]), (1.0, 1.0));
    }

    #[test]
    fn sites_after_a_second_pass() {
        let (k, y) = four();
        let start = filtered(&k, &y, 0.0, &[0, 1, 2, 3], (&Array1::ones(4), &Array1::ones(4)));
        let (_, reversed) = second_pass(SecondPass::Reversed, &k, &y, 0.0, start.clone()).unwrap();
        // The task is the same from either end, and so is an average over both directions.
        assert!((reversed[0] - reversed[3]).abs() < 1e-9 && (reversed[1] - reversed[2]).abs() < 1e-9);
        let (means, precisions) = second_pass(SecondPass::Ep, &k, &y, 0.0, start).unwrap();
        // Moments match: each row's posterior is the one its own cavity and label give.
        let mut inverse = k.clone();
        inverse.diag_mut().iter_mut().zip(&precisions).for_each(|(v, p)| *v += 1.0 / p);
        let factor = crate::linalg::Cholesky::robust(&inverse, &Par::sequential()).unwrap();
        let alpha = factor.solve(means.view());
        for i in 0..4 {
            let row = k.row(i).to_owned();
            let mean = row.dot(&alpha);
            let variance = k[(i, i)] - row.dot(&factor.solve(row.view()));
            let cavity_precision = 1.0 / variance - precisions[i];
            let cavity_mean = (mean / variance - precisions[i] * means[i]) / cavity_precision;
            let site = Site::new(y[i], cavity_mean, 1.0 / cavity_precision, 0.0).unwrap();
            assert!((site.precision - precisions[i]).abs() < 1e-6 && (site.mean - means[i]).abs() < 1e-5);
        }
    }
}

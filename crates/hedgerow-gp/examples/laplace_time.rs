//! How long Laplace's method takes with fixed kernel parameters: `laplace_time [rows] [columns] [threads]`.
//!
//! Rows come from a formula that any language can repeat, so that other libraries can be timed on the same numbers:
//! `x_ij = 2 frac(i √(j + 1)) − 1` with i and j from 1; class 1 where `sin 3x_1 + x_2² − x_3 x_4 > 0.3`.

use std::time::Instant;

use hedgerow_core::{Par, Result};
use hedgerow_gp::{BinaryGp, Kernel, Likelihood};
use ndarray::Array2;

#[allow(clippy::print_stdout)]
fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap_or(0_usize));
    let mut next = |default: usize| arguments.next().filter(|n| *n > 0).unwrap_or(default);
    let (n, d, threads) = (next(2000), next(10).max(4), next(2));
    let par = Par::new(threads)?;
    let x = Array2::from_shape_fn((n, d), |(i, j)| {
        let v = (i + 1) as f64 * ((j + 2) as f64).sqrt();
        2.0 * (v - v.floor()) - 1.0
    });
    let label = |x: ndarray::ArrayView1<'_, f64>| (3.0 * x[0]).sin() + x[1] * x[1] - x[2] * x[3] > 0.3;
    let y: Vec<f64> = x.rows().into_iter().map(|row| if label(row) { 1.0 } else { -1.0 }).collect();
    for _ in 0..3 {
        let start = Instant::now();
        let kernel = Kernel::rbf(1.0).scaled(4.0);
        let model = BinaryGp::laplace(kernel, Likelihood::Logistic, x.view(), &y, &par)?;
        let fitted = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let p = model.probability(x.slice(ndarray::s![..200, ..]), &par)?;
        let asked = start.elapsed().as_secs_f64();
        println!(
            "fit {fitted:.3} s, log evidence {:.6}, 200 rows {asked:.3} s, first {:.6}",
            model.log_evidence(),
            p[0]
        );
    }
    Ok(())
}

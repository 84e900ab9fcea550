//! The contract of every kind of model, for kernel densities and nearest neighbours.

use hedgerow_core::testing::check_kind;
use hedgerow_neighbors::{DensityKernel, KdeParams, KnnMethod, KnnParams, Metric};

#[test]
fn kernel_densities_keep_the_contract() {
    for kernel in [DensityKernel::Gaussian, DensityKernel::Ball] {
        check_kind(&KdeParams { kernel, max_rows: 400, ..Default::default() });
    }
}

#[test]
fn nearest_neighbours_keep_the_contract() {
    for method in [KnnMethod::Probabilistic, KnnMethod::DataDriven, KnnMethod::Epsilon] {
        check_kind(&KnnParams { method, max_rows: 400, ..Default::default() });
    }
    check_kind(&KnnParams { metric: Metric::Manhattan, k: 7, max_rows: 400, ..Default::default() });
    check_kind(&KnnParams { metric: Metric::Chebyshev, max_rows: 400, ..Default::default() });
}

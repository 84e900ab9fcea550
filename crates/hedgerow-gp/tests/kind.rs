//! The contract of every kind of model, for Gaussian processes.

use hedgerow_core::testing::check_kind;
use hedgerow_gp::{GpParams, IvmParams};

#[test]
fn an_ivm_keeps_the_contract() {
    let small = IvmParams { n_active: 12, max_rows: 400, n_trials: 4, ..Default::default() };
    check_kind(&small);
    check_kind(&IvmParams { refit: false, ..small });
}

#[test]
fn a_gaussian_process_keeps_the_contract() {
    check_kind(&GpParams { length_scale: 1.0, ..Default::default() });
}

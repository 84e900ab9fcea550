//! The contract of every kind of model, for hybrids.

use hedgerow_core::testing::check_kind;
use hedgerow_forest::ForestParams;
use hedgerow_gp::IvmParams;
use hedgerow_hybrid::{Combine, ForestIvmParams, ForestKernelParams, LeafGpParams};

fn forest() -> ForestParams {
    ForestParams { n_trees: 10, pool_rows: 400, ..Default::default() }
}

#[test]
fn leaf_gps_keep_the_contract() {
    check_kind(&LeafGpParams { n_trees: 3, leaf_rows: 60, max_rows: 400, ..Default::default() });
}

#[test]
fn a_forest_with_ivms_keeps_the_contract() {
    let ivm = IvmParams { n_active: 12, max_rows: 300, n_trials: 4, ..Default::default() };
    let small = ForestIvmParams { forest: forest(), ivm, ..Default::default() };
    check_kind(&small);
    check_kind(&ForestIvmParams { combine: Combine::Route, ..small });
}

#[test]
fn a_forest_kernel_keeps_the_contract() {
    check_kind(&ForestKernelParams { forest: forest(), max_rows: 400, ..Default::default() });
}

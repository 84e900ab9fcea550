//! The contract of every kind of model, for forests.

use hedgerow_core::testing::check_kind;
use hedgerow_forest::ForestParams;

#[test]
fn a_forest_keeps_the_contract() {
    check_kind(&ForestParams { n_trees: 12, pool_rows: 400, ..Default::default() });
}

#[test]
fn a_confidence_forest_keeps_the_contract() {
    check_kind(&ForestParams { n_trees: 6, pool_rows: 400, confidence: true, ..Default::default() });
}

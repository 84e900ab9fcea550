//! The contract of every kind of model, for Relevance Vector Machines.

use hedgerow_core::testing::check_kind;
use hedgerow_rvm::RvmParams;

#[test]
fn an_rvm_keeps_the_contract() {
    check_kind(&RvmParams { max_rows: 300, ..Default::default() });
}

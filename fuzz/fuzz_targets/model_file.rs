//! Any bytes as a model file: no panic, no unbounded memory; a model that loads predicts.
#![no_main]

use hedgerow::Model;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut model) = Model::from_bytes(bytes) {
        hedgerow_fuzz::ask(&model);
        hedgerow_fuzz::learn_all(&mut model);
        hedgerow_fuzz::ask(&model);
    }
});

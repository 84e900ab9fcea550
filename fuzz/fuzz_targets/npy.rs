//! Any bytes as a NPY file: an error at worst, never a panic.
#![no_main]

use hedgerow::io::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| hedgerow_fuzz::read_as(Format::Npy, bytes));

//! A sound model file with some bytes changed and its checksum put right: the checks behind the checksum are reached.
//!
//! Input: one byte that picks the file, then five bytes a change (place, little-endian, and the new byte).
#![no_main]

use hedgerow::Model;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&pick, changes)) = input.split_first() else { return };
    let sound = hedgerow_fuzz::sound_models();
    let mut bytes = sound[usize::from(pick) % sound.len()].clone();
    let end = bytes.len() - 4;
    for change in changes.chunks_exact(5) {
        let place = u32::from_le_bytes([change[0], change[1], change[2], change[3]]) as usize;
        bytes[place % end] = change[4];
    }
    let sum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
    if let Ok(mut model) = Model::from_bytes(&bytes) {
        hedgerow_fuzz::ask(&model);
        hedgerow_fuzz::learn_all(&mut model);
        hedgerow_fuzz::ask(&model);
    }
});

//! A color for each class, to be told apart on a light and on a dark page.

/// Red, green and blue. The first two are told apart by nearly every eye.
const HUES: [u32; 10] = [
    0x2f_74_d0, 0xe2_7a_1c, 0x1f_9d_6b, 0x8e_5c_c7, 0xd1_3f_5a, 0x1b_a0_b4, 0x9a_6b_37, 0xd6_62_ae,
    0x8d_9c_24, 0x5d_74_8f,
];

/// The color of a class; after ten they come again.
pub(super) fn hue(class: usize) -> [u8; 3] {
    let [_, red, green, blue] = HUES[class % HUES.len()].to_be_bytes();
    [red, green, blue]
}

/// The same as a style sheet writes it.
pub(super) fn hex(class: usize) -> String {
    format!("#{:06x}", HUES[class % HUES.len()])
}

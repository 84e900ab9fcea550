//! A color for each class, to be told apart on a light and on a dark page.

/// The first two are told apart by nearly every eye.
const HUES: [[u8; 3]; 10] = [
    [0x2f, 0x74, 0xd0],
    [0xe2, 0x7a, 0x1c],
    [0x1f, 0x9d, 0x6b],
    [0x8e, 0x5c, 0xc7],
    [0xd1, 0x3f, 0x5a],
    [0x1b, 0xa0, 0xb4],
    [0x9a, 0x6b, 0x37],
    [0xd6, 0x62, 0xae],
    [0x8d, 0x9c, 0x24],
    [0x5d, 0x74, 0x8f],
];

/// The color of a class; after ten they come again.
pub(super) fn hue(class: usize) -> [u8; 3] {
    HUES[class % HUES.len()]
}

/// The same as a style sheet writes it.
pub(super) fn hex(class: usize) -> String {
    let [red, green, blue] = hue(class);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

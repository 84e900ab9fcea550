//! Rows that are grey images.

use super::html::clip;
use super::png;

/// The most pixels a side; larger pictures are thinned out.
const LARGEST_SIDE: usize = 96;

/// A grey picture: what a row of an image data set looks like.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Picture {
    /// Height and width in pixels, as in [`Schema::image`](hedgerow_core::Schema::image).
    pub size: [usize; 2],
    /// The values, row after row. Missing ones are black.
    pub values: Vec<f32>,
    /// The values that are black and white; the larger one may come first.
    pub range: [f32; 2],
}

impl Picture {
    /// The picture as an image element.
    pub(super) fn to_html(&self, alt: &str) -> String {
        let [height, width] = thinned(self.size);
        if height * width == 0 {
            return "<span class=\"picture\"></span>".into();
        }
        let pixel = |i: usize| self.grey(i / width * self.size[0] / height, i % width * self.size[1] / width);
        let uri = png::data_uri([width, height], 1, &(0..height * width).map(pixel).collect::<Vec<u8>>());
        let alt = clip(alt, 80);
        format!("<img class=\"picture\" width=\"{width}\" height=\"{height}\" alt=\"{alt}\" src=\"{uri}\">")
    }

    fn grey(&self, row: usize, column: usize) -> u8 {
        let [black, white] = self.range;
        let value = self.values.get(row * self.size[1] + column).copied().unwrap_or(f32::NAN);
        // What is not a number becomes 0, which is black.
        (255.0 * ((value - black) / (white - black)).clamp(0.0, 1.0)).round() as u8
    }
}

/// The smallest and the largest value, 0 among them.
pub(super) fn range(values: impl Iterator<Item = f32>) -> [f32; 2] {
    values.filter(|v| v.is_finite()).fold([0.0, 0.0], |[low, high], v| [low.min(v), high.max(v)])
}

/// The size at which a picture is drawn.
pub(super) fn thinned([height, width]: [usize; 2]) -> [usize; 2] {
    let longest = height.max(width);
    if longest <= LARGEST_SIDE {
        return [height, width];
    }
    [height, width].map(|side| if side == 0 { 0 } else { (side * LARGEST_SIDE / longest).max(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greys_follow_the_range_both_ways() {
        let mut picture =
            Picture { size: [1, 4], values: vec![0.0, 8.0, 16.0, f32::NAN], range: [0.0, 16.0] };
        let greys = |p: &Picture| (0..4).map(|c| p.grey(0, c)).collect::<Vec<_>>();
        assert_eq!(greys(&picture), [0, 128, 255, 0]);
        picture.range = [16.0, 0.0];
        assert_eq!(greys(&picture), [255, 128, 0, 0]);
        picture.range = [0.0, 0.0];
        assert_eq!(greys(&picture)[0], 0);
    }

    #[test]
    fn large_pictures_are_thinned_and_empty_ones_are_nothing() {
        assert_eq!(thinned([28, 28]), [28, 28]);
        assert_eq!(thinned([1000, 500]), [96, 48]);
        assert_eq!(thinned([100_000, 1]), [96, 1]);
        assert!(!Picture::default().to_html("").contains("img"));
    }
}

//! How sure one can be of a share that was counted.

/// The 95 % interval of a share after Wilson (1927): `right` of `all`. From 0 to 1 where nothing was counted.
pub(super) fn wilson(right: f64, all: f64) -> [f64; 2] {
    const Z: f64 = 1.959_963_984_540_054;
    if !all.is_finite() || all <= 0.0 {
        return [0.0, 1.0];
    }
    let share = right / all;
    let scale = 1.0 + Z * Z / all;
    let center = (share + Z * Z / (2.0 * all)) / scale;
    let half = Z * (share * (1.0 - share) / all + Z * Z / (4.0 * all * all)).max(0.0).sqrt() / scale;
    [(center - half).max(0.0), (center + half).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_values() {
        // Newcombe (1998), table I: 81 of 263 gives 0.2553 to 0.3662; 0 of 20 gives 0 to 0.1611.
        for (right, all, want) in [(81.0, 263.0, [0.2553, 0.3662]), (0.0, 20.0, [0.0, 0.1611])] {
            let got = wilson(right, all);
            assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 5e-5), "{got:?}");
        }
        assert_eq!(wilson(0.0, 0.0), [0.0, 1.0]);
    }
}

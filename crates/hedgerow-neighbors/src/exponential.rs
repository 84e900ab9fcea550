//! exp(x) of numbers that are not above 0, in single precision, by arithmetic alone: compilers turn a loop over it into wide instructions, and the bits
//! are the same on every platform.

/// Below this it is 0.
const LEAST: f32 = -87.0;
/// Adding this to a small number rounds it to a whole one, which the lowest bits of the sum then hold.
const ROUNDER: f32 = 12_582_912.0;

/// exp(x) for x ≤ 0; 0 below −87. Its relative error is below 1e-6.
#[inline]
pub(crate) fn exp_not_above_zero(x: f32) -> f32 {
    let clipped = if x < LEAST { LEAST } else { x };
    let scaled = clipped * std::f32::consts::LOG2_E;
    let shifted = scaled + ROUNDER;
    // Of 2^scaled = 2^whole · e^rest the second factor is a Taylor series for |rest| ≤ 0.35. ln 2 in two parts keeps the digits of the rest.
    let whole = shifted - ROUNDER;
    let rest = clipped - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    let series = 1.0
        + rest
            * (1.0
                + rest
                    * (0.5
                        + rest
                            * (1.0 / 6.0
                                + rest * (1.0 / 24.0 + rest * (1.0 / 120.0 + rest * (1.0 / 720.0))))));
    let exponent = shifted.to_bits().wrapping_sub(ROUNDER.to_bits()).wrapping_add(127);
    let power = f32::from_bits(exponent << 23);
    if x < LEAST { 0.0 } else { series * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_the_exponential_function() {
        for i in 0..87_000 {
            let x = -0.001 * i as f32;
            let expected = libm::exp(f64::from(x));
            let error = (f64::from(exp_not_above_zero(x)) / expected - 1.0).abs();
            assert!(error < 1e-6, "{x}: {error}");
        }
        assert_eq!(exp_not_above_zero(0.0), 1.0);
        assert_eq!([-87.5, -1e30, f32::NEG_INFINITY].map(exp_not_above_zero), [0.0; 3]);
    }
}

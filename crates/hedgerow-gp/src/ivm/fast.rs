//! Loops in single precision that compilers turn into vector instructions.

/// The squared distance of two vectors, summed in double precision.
pub(super) fn square_distance(a: &[f32], b: &[f32]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0_f64; LANES];
    let (parts_a, parts_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = parts_a.remainder().iter().zip(parts_b.remainder());
    let rest: f64 = rest.map(|(a, b)| f64::from(a - b).powi(2)).sum();
    for (a, b) in parts_a.zip(parts_b) {
        for lane in 0..LANES {
            let difference = f64::from(a[lane] - b[lane]);
            sums[lane] += difference * difference;
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Each value `v` becomes `factor · exp(slope · v)`, where `slope · v` is not above 0. Errors are below 2e-7 of the value.
pub(super) fn exp_all(values: &mut [f32], slope: f32, factor: f32) {
    values.iter_mut().for_each(|v| *v = factor * exp_of_negative(*v * slope));
}

/// exp(t) for t ≤ 0: 2^n times a polynomial in the rest.
#[inline]
fn exp_of_negative(t: f32) -> f32 {
    // Below this the result is as good as 0, and above it 2^n is a normal number.
    let t = t.max(-87.0);
    // Adding and taking away 1.5 · 2^23 rounds to a whole number.
    const ROUND: f32 = 12_582_912.0;
    let whole = (t * std::f32::consts::LOG2_E + ROUND) - ROUND;
    let rest = (t - whole * 0.693_145_75) - whole * 1.428_606_8e-6;
    let poly = 1.0
        + rest
            * (1.0
                + rest
                    * (0.5
                        + rest
                            * (1.0 / 6.0
                                + rest * (1.0 / 24.0 + rest * (1.0 / 120.0 + rest * (1.0 / 720.0))))));
    // 2^whole, made of its bits.
    poly * f32::from_bits(((whole as i32 + 127) << 23) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::narrow_dot as dot;

    #[test]
    fn exponentials_are_those_of_the_library() {
        let mut worst = 0.0_f64;
        for i in 0..20_000 {
            let t = -80.0 * f64::from(i) / 20_000.0;
            let mut v = [t as f32 * -2.0];
            exp_all(&mut v, -0.5, 3.0);
            worst = worst.max((f64::from(v[0]) / (3.0 * libm::exp(f64::from(t as f32))) - 1.0).abs());
        }
        assert!(worst < 5e-7, "{worst}");
        let mut far = [1e30, 0.0];
        exp_all(&mut far, -1.0, 2.0);
        assert!(far[0] >= 0.0 && far[0] < 1e-30 && far[1] == 2.0);
    }

    #[test]
    fn products_of_any_length() {
        for n in [0_u8, 1, 15, 16, 33] {
            let a: Vec<f32> = (0..n).map(f32::from).collect();
            let naive: f32 = a.iter().map(|v| v * v).sum();
            assert_eq!(dot(&a, &a), naive);
            let shifted: Vec<f32> = a.iter().map(|v| v - 2.0).collect();
            assert_eq!(square_distance(&a, &shifted), 4.0 * f64::from(n));
        }
    }
}

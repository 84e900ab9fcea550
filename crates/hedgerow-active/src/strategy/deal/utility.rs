//! Training utilities: the expected loss of deciding now, less the expected loss if the class probabilities were known.
//!
//! With losses L of taking a row of class c for another one, deciding for c costs `Σ L q` less what it saves, `L_c q_c`. So the utility
//! is `E[max L_c q_c] − max L_c E[q_c]`.

use hedgerow_core::special::{beta, gamma};
use ndarray::ArrayView2;

/// Of two classes with Beta(a, b) as the distribution of the second one's probability, where taking the first for the second costs L₁ and the other way
/// round L₂. With θ = L₁/(L₁ + L₂), m = a/(a + b) and T = θᵃ(1 − θ)ᵇ/((a + b)B(a, b)) it is `(L₁ + L₂)(T − (m − θ)I_θ(a, b))` if m > θ: no difference of nearly equal losses.
pub fn beta_utility([a, b]: [f64; 2], [first, second]: [f64; 2]) -> f64 {
    let theta = first / (first + second);
    let mean = a / (a + b);
    let at = beta::density(a, b, theta) * theta * (1.0 - theta) / (a + b);
    let tail = if mean > theta {
        (mean - theta) * beta::cdf(a, b, theta)
    } else {
        (theta - mean) * beta::cdf(b, a, 1.0 - theta)
    };
    ((first + second) * (at - tail)).max(0.0)
}

/// Of any number of classes with a Dirichlet distribution.
///
/// Shares of independent gamma variables Gⱼ are independent of their sum, so E[max L q] is E[max L G]/Σα. With k the class of the largest L α, and Fⱼ the distribution
/// function of `LⱼGⱼ`, the utility is `∫ F_k (1 − Π Fⱼ) dt/Σα` over the others j: a sum of numbers above 0.
pub fn dirichlet_utility(concentrations: &[f64], losses: &[f64]) -> f64 {
    if let ([b, a], [first, second]) = (concentrations, losses) {
        return beta_utility([*a, *b], [*first, *second]);
    }
    let sum: f64 = concentrations.iter().sum();
    // Classes that are alike, as those without any label nearby, are looked at once.
    let mut kinds: Vec<(f64, f64, i32)> = Vec::new();
    for (&alpha, &loss) in concentrations.iter().zip(losses) {
        match kinds.iter_mut().find(|kind| (kind.0, kind.1) == (alpha, loss)) {
            Some(kind) => kind.2 += 1,
            None => kinds.push((alpha, loss, 1)),
        }
    }
    kinds.sort_by(|a, b| (b.0 * b.1).total_cmp(&(a.0 * a.1)));
    let Some(&(alpha, loss, n_alike)) = kinds.first().filter(|_| concentrations.len() > 1) else {
        return 0.0;
    };
    kinds[0].2 = n_alike - 1;
    // By the logarithm of t, where the integrand is a bump: from where `F_k` is 0 to where all others are 1.
    let spread = 10.0 * libm::sqrt(alpha);
    let low = if alpha > 2.0 * spread { loss * (alpha - spread) } else { 1e-14 * loss * alpha.min(1.0) };
    let high = |(alpha, loss, _): &(f64, f64, i32)| loss * (alpha + 10.0 * libm::sqrt(*alpha) + 35.0);
    let high = kinds.iter().filter(|kind| kind.2 > 0).map(high).fold(low, f64::max);
    let sharpest = kinds.iter().map(|kind| kind.0).fold(0.0, f64::max);
    let step = (0.4 / libm::sqrt(sharpest)).min(0.25);
    let n_steps = (libm::log(high / low) / step).ceil() as usize;
    let at = |i: usize| {
        let t = low * libm::exp(step * i as f64);
        let others = kinds.iter().filter(|kind| kind.2 > 0);
        let below: f64 = others.map(|(alpha, loss, n)| gamma::cdf(*alpha, t / loss).powi(*n)).product();
        t * gamma::cdf(alpha, t / loss) * (1.0 - below)
    };
    step * (0..=n_steps).map(at).sum::<f64>() / sum
}

/// Of draws of class probabilities: draw, class.
pub(super) fn of_draws(draws: ArrayView2<'_, f64>, losses: &[f64]) -> f64 {
    let n = draws.nrows().max(1) as f64;
    let mut means = vec![0.0; losses.len()];
    let mut most = 0.0;
    for draw in draws.rows() {
        let saved = draw.iter().zip(losses).map(|(q, loss)| q * loss);
        means.iter_mut().zip(saved.clone()).for_each(|(mean, saved)| *mean += saved / n);
        most += saved.fold(0.0, f64::max) / n;
    }
    (most - means.iter().copied().fold(0.0, f64::max)).max(0.0)
}

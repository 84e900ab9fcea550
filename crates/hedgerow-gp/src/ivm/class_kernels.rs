//! A kernel for each class, near the one that all share.
//!
//! Each class tries a few lengths and variances around the shared pair. What counts is its own calibrated log-loss against the rest on rows that are in neither
//! active set. Every other row chooses; a class keeps its choice only if the rows that did not choose are better off by more than chance.

use hedgerow_core::{ClassId, OutOfSample, Result, Source, Training};

use super::one_vs_rest::OneVsRest;
use super::rows::TrainingRows;

/// Parts of the shared length and of the shared variance that are tried.
const LENGTHS: [f64; 4] = [0.5, 0.7, 1.4, 2.0];
const VARIANCES: [f64; 2] = [0.3, 3.0];
/// Rows that must be better off on average by this many standard errors.
const ERRORS: f64 = 2.0;
/// Fewest rows that decide.
const LEAST_ROWS: usize = 50;

/// Length scale and variance of each class; none if all keep the shared pair.
pub(super) fn find(rows: &TrainingRows, shared: [f64; 2], training: &Training<'_>) -> Result<Vec<[f64; 2]>> {
    let (params, [length, variance]) = (&rows.params, shared);
    let lengths = LENGTHS.iter().filter(|_| params.length_scale == 0.0).map(|part| [part * length, variance]);
    let variances =
        VARIANCES.iter().filter(|_| params.signal_variance == 0.0).map(|part| [length, part * variance]);
    let tried: Vec<[f64; 2]> = lengths.chain(variances).collect();
    let small = rows.sample(params.seed, training.par);
    let all = |kernel: [f64; 2]| vec![kernel; small.n_classes];
    let is_over = || training.budget.spent().is_some() || training.par.is_stopped();
    if is_over() {
        return Ok(Vec::new());
    }
    let base = small.train_all(&all(shared), training)?;
    let (mut found, mut gains) = (all(shared), vec![0.0; small.n_classes]);
    for &kernel in &tried {
        if is_over() {
            return Ok(Vec::new());
        }
        let other = small.train_all(&all(kernel), training)?;
        for (one, two) in base.iter().zip(&other) {
            if let Some(gain) = gain(&small, one, two).filter(|gain| *gain > gains[one.class]) {
                (gains[one.class], found[one.class]) = (gain, kernel);
            }
        }
    }
    Ok(if found.iter().all(|kernel| *kernel == shared) { Vec::new() } else { found })
}

/// How much better off rows that choose are with another classifier of a class, if others are so too; none otherwise.
fn gain(rows: &TrainingRows, one: &OneVsRest, two: &OneVsRest) -> Option<f64> {
    let (all, class) = (rows, one.class);
    let mut is_out = vec![false; all.labels.len()];
    one.sites.active.iter().chain(&two.sites.active).for_each(|&row| is_out[row] = true);
    let rows: Vec<usize> = (0..is_out.len()).filter(|row| !is_out[*row]).collect();
    let (choosing, checking): (Vec<usize>, Vec<usize>) = rows.into_iter().partition(|row| row % 2 == 0);
    if checking.len() < LEAST_ROWS {
        return None;
    }
    let of_rows = |rows: &[usize]| {
        let is_own: Vec<bool> = rows.iter().map(|&row| all.labels[row].index() == class).collect();
        let losses = [one, two].map(|classifier| {
            let scores: Vec<f64> = rows.iter().map(|&row| classifier.score(row)).collect();
            let scored = OutOfSample::one_vs_rest(Source::HeldOut, rows.to_vec(), &scores, &is_own);
            let curve = scored.curve(ClassId(1));
            let loss = |(score, is_own): (&f64, &bool)| {
                let p = curve.probability(*score).clamp(1e-9, 1.0 - 1e-9);
                -libm::log(if *is_own { p } else { 1.0 - p })
            };
            scores.iter().zip(&is_own).map(loss).collect::<Vec<f64>>()
        });
        let [before, after] = losses;
        let gains: Vec<f64> = before.iter().zip(&after).map(|(before, after)| before - after).collect();
        let n = gains.len() as f64;
        let mean = gains.iter().sum::<f64>() / n;
        let variance = gains.iter().map(|gain| (gain - mean) * (gain - mean)).sum::<f64>() / n;
        (mean, libm::sqrt(variance / n))
    };
    let (chosen, _) = of_rows(&choosing);
    let (mean, error) = of_rows(&checking);
    (chosen > 0.0 && mean > ERRORS * error).then_some(chosen)
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use hedgerow_core::{Budget, Par, Silent};
    use ndarray::Array2;

    use super::*;
    use crate::ivm::IvmParams;

    #[test]
    fn a_class_in_fine_stripes_wants_a_shorter_length_than_one_with_a_plain_border() {
        let mut rng = Rng::new(3, Purpose::Data, 0);
        let x = Array2::from_shape_fn((1500, 2), |_| 4.0 * rng.unit() as f32);
        // Right of 2 there are two classes in stripes; left of it there is one.
        let class = |row: ndarray::ArrayView1<'_, f32>| {
            if row[0] < 2.0 { 0 } else { 1 + ((row[1] * 2.0).floor() as u32) % 2 }
        };
        let labels: Vec<ClassId> = x.rows().into_iter().map(|row| ClassId(class(row))).collect();
        let mut rows = TrainingRows {
            x,
            squares: None,
            labels,
            n_classes: 3,
            params: IvmParams { n_active: 60, ..IvmParams::default() },
        };
        let training = Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent };
        let found = find(&rows, [1.0, 8.0], &training).unwrap();
        assert_eq!(found.len(), 3);
        assert!(found[1][0] < 1.0 && found[2][0] < 1.0, "{found:?}");
        assert!(found[0][0] >= found[1][0], "{found:?}");
        (rows.params.length_scale, rows.params.signal_variance) = (1.0, 8.0);
        assert!(find(&rows, [1.0, 8.0], &training).unwrap().is_empty(), "what is given stays");
    }
}

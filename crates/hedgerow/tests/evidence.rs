//! Relative evidence tells noise from a lack of rows, on rows whose true noise and density are known. The example `evidence` measures more of it.
#![allow(clippy::unwrap_used)]

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::{Budget, ClassId, Dataset, Features, LabelTable, Par, Schema, Silent, Training};
use hedgerow::forest::ForestParams;
use hedgerow::gp::IvmParams;
use hedgerow::neighbors::KdeParams;
use hedgerow::{Model, ModelParams};
use ndarray::Array2;

const ROWS: usize = 1500;
const SIDE: f64 = 4.0;
/// Redrawn rows: places nearby have much of their count in common, so that chance is large.
const SEEDS: u64 = 5;
/// Places a side.
const PLACES: usize = 30;

fn noise(y: f64) -> f64 {
    0.02 + 0.43 * y / SIDE
}

/// A density that falls along one column, noise that rises along the other.
fn rows(seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, Purpose::Data, 2);
    let mut features = Features::new(2);
    let mut labels = Vec::with_capacity(ROWS);
    for _ in 0..ROWS {
        let across = -(1.0 - rng.unit() * (1.0 - (-SIDE).exp())).ln();
        let up = SIDE * rng.unit();
        features.push(&[across as f32, up as f32]);
        labels.push(ClassId(u32::from(rng.unit() < noise(up))));
    }
    let labels_of = LabelTable::from(vec!["a".to_string(), "b".to_string()]);
    Dataset::new(Schema { labels: labels_of, ..Schema::unnamed(2) }, features, labels, None).unwrap()
}

/// Column after column of places, each from little noise to much.
fn places() -> Array2<f32> {
    let at = |step: usize| (0.3 + (SIDE - 0.6) * step as f64 / (PLACES - 1) as f64) as f32;
    Array2::from_shape_fn((PLACES * PLACES, 2), |(i, c)| at([i / PLACES, i % PLACES][c]))
}

fn fit(data: &Dataset, params: &ModelParams) -> Model {
    let (par, budget) = (Par::shared(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    Model::fit(data, params, &training).unwrap().model
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    order.iter().enumerate().for_each(|(rank, &at)| ranks[at] = rank as f64);
    ranks
}

/// The rank correlation.
fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() - 1) as f64 / 2.0;
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    sum(&a, &b) / (sum(&a, &a) * sum(&b, &b)).sqrt()
}

#[test]
fn the_epistemic_part_follows_density_and_not_noise() {
    let x = places();
    let inverse: Vec<f64> = x.column(0).iter().map(|across| f64::from(*across).exp()).collect();
    let noises: Vec<f64> = (0..PLACES).map(|up| up as f64).collect();
    let ivm = IvmParams { n_active: 30, length_scale: 1.0, signal_variance: 4.0, ..Default::default() };
    let confidence: ModelParams = ForestParams { n_trees: 60, confidence: true, ..Default::default() }.into();
    let kinds: [ModelParams; 4] = [
        ForestParams { n_trees: 20, ..Default::default() }.into(),
        confidence.clone(),
        ivm.into(),
        KdeParams::default().into(),
    ];
    for params in kinds {
        let (mut of_noise, mut of_density) = (0.0, 0.0);
        for seed in 0..SEEDS {
            let model = fit(&rows(seed), &params);
            let found = model.predict_evidence(x.view()).unwrap().entropies().epistemic;
            let each = found.chunks(PLACES).map(|of_density| spearman(of_density, &noises));
            of_noise += each.sum::<f64>() / (PLACES as f64 * SEEDS as f64);
            of_density += spearman(&found, &inverse) / SEEDS as f64;
            let far = ndarray::array![[-7.0, 2.0], [12.0, 2.0], [1.0, -8.0], [1.0, 12.0], [12.0, -8.0]];
            let variance = model.predict_evidence(far.view()).unwrap().variance();
            // Leaves of a confidence forest reach a little beyond the edge where rows are densest.
            let least = if params == confidence { 0.1 } else { 0.11 };
            assert!(variance.iter().all(|v| *v >= least), "{}: {variance}", params.kind());
        }
        assert!(of_noise.abs() <= 0.2 && of_density >= 0.8, "{}: {of_noise} {of_density}", params.kind());
    }
}

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{
    Budget, ClassId, Dataset, Features, LabelTable, OnlineModel as _, Par, Params as _,
    RelativeEvidence as _, Rows, Schema, Silent, Training, fit,
};
use ndarray::{Array2, array};

use super::*;

fn evidence(
    kernel: DensityKernel,
    settings: &KdeSettings,
    x: &[f32],
    rows: &Array2<f32>,
    labels: &[u32],
) -> Vec<f64> {
    let mut points = Points::new(rows.ncols());
    let labels: Vec<ClassId> = labels.iter().copied().map(ClassId).collect();
    points.extend(rows.view(), &labels, None);
    let mut distances = Vec::new();
    points.distances(Metric::Euclidean, x, points.len(), &mut distances);
    let near = Near { x, distances: &distances, labels: &labels, weights: None };
    let mut out = vec![f64::NAN; 2];
    KdeParams { kernel, ..Default::default() }.evidence(settings, &near, &mut out);
    out
}

#[test]
fn the_published_example() {
    // Two dimensions, h = 1: a row of class 2 where we look, one of class 1 at the squared distance 2.
    let settings = KdeSettings { bandwidth: 1.0, dimensions: 2 };
    let found =
        evidence(DensityKernel::Gaussian, &settings, &[0.0, 0.0], &array![[0.0, 0.0], [1.0, 1.0]], &[1, 0]);
    assert!((0.5 + found[1] - 2.5).abs() < 1e-6 && (0.5 + found[0] - 1.235_758_88).abs() < 1e-6, "{found:?}");
    // Mean 0.66920807.
    assert!(((0.5 + found[1]) / (1.0 + found[0] + found[1]) - 0.669_208_07).abs() < 1e-6);
}

#[test]
fn like_the_plain_sum_of_kernels() {
    let mut rng = Rng::new(2, Purpose::Data, 0);
    let rows = Array2::from_shape_fn((150, 4), |_| rng.normal() as f32);
    let labels: Vec<u32> = (0..150).map(|row| u32::from(row % 4 == 0)).collect();
    for bandwidth in [0.3, 1.0, 5.0] {
        let settings = KdeSettings { bandwidth, dimensions: 4 };
        let x: Vec<f32> = (0..4).map(|_| rng.normal() as f32).collect();
        let mut expected = [[0.0_f64; 2]; 2];
        for (row, label) in rows.rows().into_iter().zip(&labels) {
            let square: f64 = row.iter().zip(&x).map(|(a, b)| f64::from(a - b).powi(2)).sum();
            expected[0][*label as usize] += 4.0 * (-square / (2.0 * bandwidth * bandwidth)).exp();
            expected[1][*label as usize] += f64::from(u8::from(square <= 6.0 * bandwidth * bandwidth));
        }
        for (kernel, expected) in [DensityKernel::Gaussian, DensityKernel::Ball].into_iter().zip(expected) {
            let found = evidence(kernel, &settings, &x, &rows, &labels);
            let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 2e-5 * b;
            assert!(found.iter().zip(&expected).all(is_near) || found == expected, "{found:?} {expected:?}");
        }
    }
}

#[test]
fn shares_keep_their_digits_where_sums_have_none() {
    // 3,000 dimensions: 2^(d/2) and exp(−r²/2h²) are beyond all numbers, their product is not.
    let settings = KdeSettings { bandwidth: 1.0, dimensions: 3000 };
    let rows = array![[45.0_f32], [46.0]];
    let found = evidence(DensityKernel::Gaussian, &settings, &[0.0], &rows, &[0, 1]);
    let log = |square: f64| 1500.0 * 2.0_f64.ln() - 0.5 * square;
    assert!((found[0].ln() - log(2025.0)).abs() < 1e-3 || found[0] <= MOST_EVIDENCE, "{found:?}");
    assert!(((found[0] / found[1]).ln() - 45.5).abs() < 1e-3, "{found:?}");
    // Too far from all for any evidence.
    let far = evidence(DensityKernel::Gaussian, &settings, &[1e6], &rows, &[0, 1]);
    assert_eq!(far, [0.0, 0.0]);
}

#[test]
fn the_normal_reference_rule() {
    assert!((normal_reference(2.0, 1, 100) - 2.0 * (4.0_f64 / 300.0).powf(0.2)).abs() < 1e-12);
    assert!((normal_reference(1.0, 2, 240) - 240.0_f64.powf(-1.0 / 6.0)).abs() < 1e-12);
}

/// Two standard normal classes, 1.5 apart.
fn normals(n: usize) -> Dataset {
    let mut rng = Rng::new(5, Purpose::Data, 0);
    let labels: Vec<ClassId> = (0..n).map(|row| ClassId((row % 2) as u32)).collect();
    let x = Array2::from_shape_fn((n, 2), |(row, c)| {
        (rng.normal() + if c == 0 && row % 2 == 1 { 1.5 } else { 0.0 }) as f32
    });
    let schema =
        Schema { labels: LabelTable::from(vec!["a".to_string(), "b".to_string()]), ..Schema::unnamed(2) };
    Dataset::new(schema, Features::from_view(x.view()), labels, None).unwrap()
}

#[test]
fn far_from_all_rows_the_evidence_is_that_of_the_prior() {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    for params in [KdeParams::default(), KdeParams { kernel: DensityKernel::Ball, ..Default::default() }] {
        let model = fit(&normals(400), &params.check().unwrap(), &training).unwrap().model;
        let at =
            |x: f32, y: f32| model.predict_evidence(array![[x, y]].view(), &par).unwrap().variance()[(0, 0)];
        assert!(at(0.75, 0.0) < 0.02, "{}", at(0.75, 0.0));
        // 5 deviations beyond the mean of a class.
        for [x, y] in [[6.5, 0.0], [0.0, 6.0], [-5.0, 0.0], [0.0, -6.0]] {
            assert!(at(x, y) >= 0.11, "{x} {y}: {}", at(x, y));
        }
    }
}

#[test]
fn a_weight_is_as_many_rows_and_none_is_no_row() {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let params = KdeParams { bandwidth: 0.4, ..Default::default() }.check().unwrap();
    let data = normals(60);
    let mut weighted = data.clone();
    weighted
        .edit(|weighted| weighted.weights = Some((0..60).map(|row| [0.0, 1.0, 3.0][row % 3]).collect()))
        .unwrap();
    let times = |row: usize| std::iter::repeat_n(row, row % 3 + usize::from(row % 3 == 2));
    let repeated = data.select(&(0..60).flat_map(times).collect::<Vec<_>>());
    let x = data.features.to_array(0..20);
    let [a, b] = [weighted, repeated].map(|data| {
        let mut model = KdeClassifier::new(&data.schema, &params).unwrap();
        let mut fitted = fit(&data, &params, &training).unwrap().model;
        // Columns are prepared without weights: the same for both.
        fitted.preparation = std::mem::replace(&mut model.preparation, fitted.preparation.clone());
        let online = fitted.online.take().unwrap();
        fitted.prepare_points(&online.rows, &par);
        fitted.predict_evidence(x.view(), &par).unwrap().counts()
    });
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-4 * b.max(1e-3)));
}

#[test]
fn a_row_is_forgotten_as_if_it_had_never_been_learnt() {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let data = normals(100);
    let params = KdeParams { bandwidth: 0.5, ..Default::default() }.check().unwrap();
    let x = data.features.to_array(0..100);
    let mut model = fit(&data, &params, &training).unwrap().model;
    let before = model.predict_evidence(x.view(), &par).unwrap();
    let wrong = array![[0.3_f32, 0.4]];
    model.learn(&data.schema, Rows::new(wrong.view(), &[ClassId(1)][..], None), &training).unwrap();
    assert_ne!(model.predict_evidence(x.view(), &par).unwrap(), before);
    assert!(!model.forget(wrong.row(0), ClassId(0), &par), "it was learnt with another label");
    assert!(model.forget(wrong.row(0), ClassId(1), &par) && model.n_retained() == 100);
    assert_eq!(model.predict_evidence(x.view(), &par).unwrap(), before);
    assert!(!model.forget(wrong.row(0), ClassId(1), &par));
}

#[test]
fn the_newest_rows_are_retained_and_weights_of_a_stream_count() {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let data = normals(900);
    let params = KdeParams { max_rows: 200, ..Default::default() }.check().unwrap();
    let fitted = fit(&data, &params, &training).unwrap();
    assert_eq!((fitted.model.n_seen(), fitted.model.n_retained(), fitted.notes.len()), (900, 200, 1));
    let mut model = KdeClassifier::new(&data.schema, &params).unwrap();
    let x = data.features.to_array(0..900);
    // Rows of the second class count three times.
    let weights: Vec<f32> = data.labels().iter().map(|label| if label.0 == 1 { 3.0 } else { 1.0 }).collect();
    let update =
        model.learn(&data.schema, Rows::new(x.view(), data.labels(), Some(&weights)), &training).unwrap();
    assert!(
        update.n_forgotten >= 650 && update.n_tried > 0 && model.n_retained() <= 230,
        "{}",
        update.n_forgotten
    );
    let kept = model.retained_rows(&data.schema).unwrap().unwrap();
    assert_eq!(kept.features.value(kept.n_rows() - 1, 0), x[(899, 0)]);
    let proba = update.predictions;
    let mean = (300..900).map(|row| proba[(row, 1)]).sum::<f64>() / 600.0;
    assert!((0.65..0.85).contains(&mean), "three quarters of the weight is theirs: {mean}");
    // A limit on memory makes room.
    let small = Budget { bytes: Some(9_000), ..Budget::open() };
    let training = Training { budget: &small, ..training };
    model.learn(&data.schema, Rows::new(x.view(), data.labels(), Some(&weights)), &training).unwrap();
    assert!(model.n_retained() < 150, "{}", model.n_retained());
}

#[test]
fn damaged_models_are_refused() {
    use hedgerow_core::testing::{check_damaged_arrays, saved_copy};
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let data = normals(50);
    let model = fit(&data, &KdeParams::default().check().unwrap(), &training).unwrap().model;
    for model in [model.clone(), model.frozen()] {
        assert_eq!(saved_copy(&model, &data.schema).unwrap(), model);
        check_damaged_arrays(&model, &data.schema, |_, damage, _| damage == "largest");
    }
}

/// Spearman's rank correlation.
fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |values: &[f64]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|i, j| values[*i].total_cmp(&values[*j]));
        let mut ranks = vec![0.0; values.len()];
        order.iter().enumerate().for_each(|(rank, place)| ranks[*place] = rank as f64);
        ranks
    };
    let (a, b, middle) = (ranks(a), ranks(b), (a.len() as f64 - 1.0) / 2.0);
    let product =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>();
    product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
}

/// Rows of two columns with class 1 as likely as a function of them says; evidence at 200 other rows.
fn parts_at(
    seed: u64,
    draw: impl Fn(&mut Rng) -> [f64; 2],
    chance: impl Fn([f64; 2]) -> f64,
) -> (Vec<[f64; 2]>, [Vec<f64>; 3]) {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let mut rng = Rng::new(11, Purpose::Data, seed);
    let rows: Vec<[f64; 2]> = (0..2000).map(|_| draw(&mut rng)).collect();
    let labels: Vec<ClassId> = rows.iter().map(|row| ClassId(u32::from(rng.unit() < chance(*row)))).collect();
    let table = |rows: &[[f64; 2]]| Array2::from_shape_fn((rows.len(), 2), |(row, c)| rows[row][c] as f32);
    let schema =
        Schema { labels: LabelTable::from(vec!["a".to_string(), "b".to_string()]), ..Schema::unnamed(2) };
    let data = Dataset::new(schema, Features::from_view(table(&rows).view()), labels, None).unwrap();
    let model = fit(&data, &KdeParams::default().check().unwrap(), &training).unwrap().model;
    let fresh: Vec<[f64; 2]> = (0..200).map(|_| draw(&mut rng)).collect();
    let evidence = model.predict_evidence(table(&fresh).view(), &par).unwrap();
    let (parts, counts) = (evidence.entropies(), evidence.counts());
    let counts = counts.rows().into_iter().map(|row| row.sum()).collect();
    (fresh, [parts.aleatoric, parts.epistemic, counts])
}

#[test]
fn evidence_follows_density_and_not_noise() {
    // Rows evenly spread over a ring, so that density is the same everywhere and there is no edge; noise rises and falls along it.
    let ring = |rng: &mut Rng| {
        let (angle, radius) = (std::f64::consts::TAU * rng.unit(), 3.0 + 0.1 * rng.normal());
        [radius * libm::cos(angle), radius * libm::sin(angle)]
    };
    let noise = |[x, y]: [f64; 2]| 0.5 + 0.4 * libm::sin(4.0 * libm::atan2(y, x));
    let mut means = [0.0; 3];
    for seed in 0..10 {
        let (rows, [aleatoric, epistemic, counts]) = parts_at(seed, ring, noise);
        let doubt: Vec<f64> = rows.iter().map(|row| -(noise(*row) - 0.5).abs()).collect();
        for (mean, part) in means.iter_mut().zip([&aleatoric, &epistemic, &counts]) {
            *mean += rank_correlation(part, &doubt) / 10.0;
        }
    }
    let [of_aleatoric, of_epistemic, of_counts] = means;
    let follows_neither = of_epistemic.abs() <= 0.2 && of_counts.abs() <= 0.2;
    assert!(of_aleatoric > 0.8 && follows_neither, "{of_aleatoric} {of_epistemic} {of_counts}");
    let (rows, [_, epistemic, counts]) = parts_at(0, |rng| [rng.normal(), rng.normal()], |_| 0.7);
    let rarity: Vec<f64> = rows.iter().map(|[x, y]| x * x + y * y).collect();
    let [of_epistemic, of_counts] = [&epistemic, &counts].map(|part| rank_correlation(part, &rarity));
    assert!(of_epistemic >= 0.8 && of_counts <= -0.8, "{of_epistemic} {of_counts}");
}

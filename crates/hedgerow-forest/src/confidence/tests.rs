use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::testing::{blobs, mixed};
use hedgerow_core::{Budget, Features, LabelTable, OnlineModel as _, Params as _, Rows, Silent};
use ndarray::{Array2, s};

use super::*;
use crate::params::BackgroundRows;

fn fit(data: &Dataset, params: ForestParams) -> ConfidenceForest {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    ConfidenceForest::fit(data, &params.check().unwrap(), &training).unwrap().0.model
}

fn quick() -> ForestParams {
    ForestParams { n_trees: 30, confidence: true, ..ForestParams::default() }
}

/// A forest of one tree that is a leaf with so many rows of each class, that of background rows first.
fn leaf(counts: [usize; 3], k: usize) -> ConfidenceForest {
    let schema = Schema { labels: LabelTable::from(vec!["a".into(), "b".into()]), ..Schema::unnamed(1) };
    let mut forest = ConfidenceForest::new(&schema, &quick().check().unwrap()).unwrap();
    let mut tree = Tree::default();
    let weights: Vec<(usize, f64)> =
        counts.into_iter().enumerate().filter(|(_, n)| *n > 0).map(|(class, n)| (class, n as f64)).collect();
    let link = tree.add_leaf(&weights);
    tree.set_link(None, link);
    forest.forest.trees = vec![tree];
    forest.choice = Some(Choice { leaf_rows: k, background_share: 1.0, n_rows: 9 });
    forest
}

/// The examples of Röder (2013), section 3.5.
#[test]
fn leaves_are_scaled_to_one_size() {
    let x = Array2::zeros((1, 1));
    for (counts, alpha, mean, variance) in [
        ([0, 1, 4], [1.5, 4.5], 0.75, 0.026_785_71),
        ([4, 1, 4], [1.055_555_56, 2.722_222_22], 0.720_588_24, 0.042_141_10),
        ([7, 0, 0], [0.5, 0.5], 0.5, 0.125),
    ] {
        let forest = leaf(counts, 5);
        let evidence = forest.evidence(&forest.forest.summed_shares(&[0.0], 1));
        let found = Array2::from_shape_fn((1, 2), |(_, class)| 0.5 + evidence[class]);
        for (found, expected) in found.iter().zip(alpha) {
            assert!((found - expected).abs() < 1e-7, "{found} {expected}");
        }
        let plain = SecondOrder::dirichlet(About::RelativeEvidence, found, 0.5).unwrap();
        assert!((plain.mean()[(0, 1)] - mean).abs() < 1e-7);
        assert!((plain.variance()[(0, 1)] - variance).abs() < 1e-7);
        // What is told has the epistemic part of as many labels of classes that are all alike.
        let told = forest.predict_evidence(x.view(), &Par::sequential()).unwrap();
        let count: f64 = evidence.iter().sum();
        let even = Array2::from_elem((1, 2), 0.5 + 0.5 * count);
        let even = SecondOrder::dirichlet(About::RelativeEvidence, even, 0.5).unwrap();
        let [told, even] = [told, even].map(|evidence| evidence.entropies().epistemic[0]);
        assert!((told / even - 1.0).abs() < 1e-9, "{told} {even}");
    }
}

#[test]
fn evidence_like_the_plain_formula() {
    let data = mixed(300, 3, 1);
    for params in [
        ForestParams { confidence_rows: 4, background_rows: BackgroundRows::Count(200), ..quick() },
        ForestParams { confidence_rows: 4, bagging: crate::Bagging::Bootstrap, ..quick() },
    ] {
        let forest = fit(&data, params);
        let (k, _) = forest.chosen().unwrap();
        let x = data.features.to_array(0..40);
        let found = forest.predict_evidence(x.view(), &Par::sequential()).unwrap();
        for (row, found) in x.rows().into_iter().zip(found.concentrations().unwrap().rows()) {
            let mut naive = [0.0; 3];
            for tree in forest.trees() {
                let counts = tree.leaf_weights(tree.leaf(row.as_slice().unwrap()));
                let n: f64 = counts.iter().map(|(_, count)| count).sum();
                assert!(n >= k as f64, "a leaf of {n} rows");
                for (class, count) in counts.into_iter().filter(|(class, _)| *class != BACKGROUND) {
                    naive[class - 1] += count * k as f64 / n / forest.trees().len() as f64;
                }
            }
            let count: f64 = naive.iter().sum();
            let labels = labels_like(count, naive.iter().map(|e| e / count), 1.0 / 3.0);
            for (found, e) in found.iter().zip(naive) {
                assert!((found - 1.0 / 3.0 - labels * e / count).abs() < 1e-6);
            }
            assert!((1.0..=k as f64 + 1.0 + 1e-9).contains(&found.sum()));
        }
    }
}

/// Two normal classes about (1, 1) and (−1, −1).
fn gaussians(n: usize) -> Dataset {
    let mut rng = Rng::new(5, Purpose::Data, 0);
    let mut x = Array2::zeros((n, 2));
    let mut labels = Vec::new();
    for mut row in x.rows_mut() {
        let class = rng.index(2);
        let center = if class == 0 { 1.0 } else { -1.0 };
        row.mapv_inplace(|_: f32| (center + rng.normal()) as f32);
        labels.push(ClassId(class as u32));
    }
    let schema = Schema { labels: LabelTable::from(vec!["a".into(), "b".into()]), ..Schema::unnamed(2) };
    Dataset::new(schema, Features::from_view(x.view()), labels, None).unwrap()
}

#[test]
fn there_is_evidence_near_rows_and_the_prior_far_away() {
    let forest = fit(&gaussians(600), quick());
    let (k, share) = forest.chosen().unwrap();
    assert!(k >= 2 && share >= 1.0, "{k} {share}");
    let x = ndarray::array![[1.0, 1.0], [-1.0, -1.0], [8.0, 8.0], [-8.0, 8.0], [8.0, -8.0]];
    let evidence = forest.predict_evidence(x.view(), &Par::sequential()).unwrap();
    let (mean, variance) = (evidence.mean(), evidence.variance());
    assert!(mean[(0, 0)] > 0.7 && mean[(1, 1)] > 0.7, "{mean}");
    assert!(variance[(0, 0)] < 0.05 && variance[(1, 0)] < 0.05, "{variance}");
    assert!((2..5).all(|row| variance[(row, 0)] > 0.11), "{variance}");
    let proba = forest.predict_proba(x.view(), &Par::sequential()).unwrap();
    assert!(proba[(0, 0)] > 0.8 && proba[(1, 1)] > 0.8, "{proba}");
}

#[test]
fn without_background_rows_there_is_evidence_everywhere() {
    let params = ForestParams { confidence_rows: 6, background_rows: BackgroundRows::Count(0), ..quick() };
    let forest = fit(&gaussians(300), params);
    let evidence = forest.predict_evidence(ndarray::array![[50.0, 50.0]].view(), &Par::sequential()).unwrap();
    let counts = evidence.counts();
    assert!(counts.sum() > 3.0 && counts.sum() <= 6.0 + 1e-9, "{counts}");
}

#[test]
fn each_tree_has_background_rows_of_its_own_and_weights_count() {
    let data = gaussians(200);
    let params = ForestParams {
        confidence_rows: 5,
        background_rows: BackgroundRows::Count(200),
        bagging: crate::Bagging::All,
        max_features: crate::MaxFeatures::All,
        splits: crate::SplitRule::Best,
        sample_rows: 0,
        n_trees: 4,
        ..quick()
    };
    let forest = fit(&data, params.clone());
    assert!(forest.trees().windows(2).all(|trees| trees[0] != trees[1]));
    let doubled = data.class_counts()[0] as f64;
    let weights: Vec<f32> = data.labels().iter().map(|class| if class.0 == 0 { 3.0 } else { 1.0 }).collect();
    let mut weighted = data.clone();
    weighted.edit(|parts| parts.weights = Some(weights)).unwrap();
    let heavy = fit(&weighted, params);
    assert_eq!(heavy.counts[0], 3.0 * doubled);
    let x = data.features.to_array(0..200);
    let mean = |forest: &ConfidenceForest| {
        forest.predict_proba(x.view(), &Par::sequential()).unwrap().column(0).sum()
    };
    assert!(mean(&heavy) > mean(&forest) + 5.0);
}

#[test]
fn rows_count_in_their_leaves_once_they_were_learnt() {
    let data = gaussians(400);
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let mut model = crate::ForestModel::Confidence(Box::new(fit(&data, quick())));
    let x = ndarray::array![[3.5_f32, -3.5]];
    let before = model.as_confidence().unwrap().predict_evidence(x.view(), &par).unwrap().counts();
    let odd = Array2::from_shape_fn((12, 2), |(row, c)| x[(0, c)] + 0.01 * row as f32);
    let labels = [ClassId(1); 12];
    model.learn(&data.schema, Rows::new(odd.view(), &labels[..], None), &training).unwrap();
    let after = model.as_confidence().unwrap().predict_evidence(x.view(), &par).unwrap().counts();
    assert!(
        after[(0, 1)] > before[(0, 1)] + 0.1 && after[(0, 0)] <= before[(0, 0)] + 1e-9,
        "{before} {after}"
    );
    // Trees are grown anew after half as many rows.
    let trees = model.as_confidence().unwrap().trees().to_vec();
    let more = gaussians(700).features.to_array(400..700);
    let labels: Vec<ClassId> = gaussians(700).labels()[400..].to_vec();
    let update = model.learn(&data.schema, Rows::new(more.view(), &labels[..], None), &training).unwrap();
    assert_eq!((update.n_learnt, update.n_replaced), (300, 30));
    let forest = model.as_confidence().unwrap();
    assert!(forest.trees()[0] != trees[0] && forest.trees().len() == 30);
    let right = forest.predict(more.slice(s![.., ..]), &par).unwrap();
    let n_right = right.iter().zip(&labels).filter(|(a, b)| a == b).count();
    assert!(n_right > 250, "{n_right}");
}

#[test]
fn plain_forests_are_asked_for_by_name() {
    let data = blobs(100, 2, 2, 1);
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let message = Forest::fit(&data, &quick().check().unwrap(), &training).unwrap_err().to_string();
    assert!(message.contains("plain forest"), "{message}");
    for (name, value) in [("n_trees", "0"), ("probabilities", "votes"), ("background_rows", "many")] {
        let params = quick().with_settings([(name, value)]).and_then(hedgerow_core::Params::check);
        assert!(params.unwrap_err().to_string().contains(name));
    }
}

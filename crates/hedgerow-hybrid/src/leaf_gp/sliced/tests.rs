//! Leaves in slices are the leaves of a fit.

use std::sync::Arc;

use hedgerow_core::testing::{blobs, check_distributions};
use hedgerow_core::{Budget, Classifier as _, Dataset, Par, Params as _, Silent, Training};
use hedgerow_forest::Nursery;
use ndarray::Array2;

use super::super::{LeafGp, LeafGpParams, LeafKernel, LeafLearner};
use super::*;

fn params() -> LeafGpParams {
    LeafGpParams { n_trees: 3, leaf_rows: 40, ..LeafGpParams::default() }
}

/// Rows that overlap, so that leaves are mixed.
fn mixed(n: usize, seed: u64) -> Dataset {
    let mut data = blobs(n, 3, 3, seed);
    let mut rng = hedgerow_core::rng::Rng::new(seed, hedgerow_core::rng::Purpose::Data, 5);
    let x = data.features.to_array(0..n).mapv(|v| v + 3.0 * rng.unit() as f32);
    data.features = hedgerow_core::Features::from_view(x.view());
    data
}

fn grow(data: &Dataset, is_judge: &[bool], params: &LeafGpParams, plot: &Plot) -> Vec<Stem> {
    let forest = params.forest_params().check().unwrap();
    let nursery = Nursery::new(Arc::new(data.clone()), is_judge, &forest, &Par::sequential()).unwrap();
    (0..params.n_trees).map(|number| Stem::new(plot, nursery.grow(number).into_tree(), number)).collect()
}

fn search(stem: &Stem, plot: &Plot) -> LeafKernel {
    let trials = stem.trials(plot);
    let mut tried = Vec::new();
    // In pieces and from the end of each stage: the order must not matter.
    loop {
        let kernels = trials.kernels(&tried);
        let Some(at) = (0..kernels.len()).rev().find(|at| tried.get(*at).is_none_or(Option::is_none)) else {
            return trials.best(&tried);
        };
        tried.resize(tried.len().max(at + 1), None);
        tried[at] = Some(trials.value(&kernels[at], &Par::sequential()));
    }
}

fn train(stems: &mut [Stem], plot: &Plot, kernel: &LeafKernel) -> usize {
    let mut n_slices = 0;
    for stem in stems {
        while !stem.is_done(plot) {
            *stem = stem.slice(plot, kernel, &Par::sequential()).unwrap();
            n_slices += 1;
        }
    }
    n_slices
}

fn share_right(proba: &Array2<f64>, labels: &[hedgerow_core::ClassId]) -> f64 {
    let right = proba
        .rows()
        .into_iter()
        .zip(labels)
        .filter(|(row, label)| hedgerow_core::traits::largest(row.iter()) == Some(label.index()));
    right.count() as f64 / labels.len() as f64
}

#[test]
fn the_end_is_what_a_fit_gives() {
    let data = mixed(500, 1);
    for learner in [LeafLearner::Labels, LeafLearner::Laplace] {
        let params = LeafGpParams { learner, ..params() };
        let (par, budget) = (Par::sequential(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let whole = LeafGp::fit(&data, &params.clone().check().unwrap(), &training).unwrap().model;
        let plot = Plot::new(&data, &[], &params);
        let mut stems = grow(&data, &[], &params, &plot);
        let kernel = search(&stems[0], &plot);
        assert_eq!(Some(kernel), whole.kernel());
        train(&mut stems, &plot, &kernel);
        let made = assemble(&plot, &stems, Some(kernel)).unwrap().model.remembering(&data, 500);
        assert!(made.stems == whole.stems && made.leaves == whole.leaves);
        let x = data.features.to_array(0..500);
        assert_eq!(made.scores(x.view(), &par), whole.scores(x.view(), &par));
        assert_eq!((made.n_seen(), made.n_remembered()), (500, 500));
    }
}

#[test]
fn leaves_answer_before_they_have_learnt_and_judges_hear_it() {
    let data = mixed(800, 2);
    let is_judge: Vec<bool> = (0..800).map(|row| row % 5 == 0).collect();
    let params = params();
    let plot = Plot::new(&data, &is_judge, &params);
    let mut stems = grow(&data, &is_judge, &params, &plot);
    let judges: Vec<usize> = (0..800).step_by(5).collect();
    let x = data.features.select(&judges).to_array(0..judges.len());
    let labels = plot.judge_labels();
    let check = |stems: &[Stem], kernel| {
        let Assembled { model, proba } = assemble(&plot, stems, kernel).unwrap();
        let said = model.predict_proba(x.view(), &Par::sequential()).unwrap();
        assert!(said.iter().zip(&proba).all(|(a, b)| (a - b).abs() < 1e-4));
        check_distributions(&model, x.view());
        share_right(&proba, &labels)
    };
    let early = check(&stems, None);
    assert!(early > 0.6 && stems[0].progress()[0] == 0 && stems[0].accuracy() > 0.5, "{early}");
    let kernel = search(&stems[0], &plot);
    stems[1] = stems[1].slice(&plot, &kernel, &Par::sequential()).unwrap();
    assert!(stems[1].progress()[0] > 0);
    check(&stems[..2], Some(kernel));
    train(&mut stems, &plot, &kernel);
    let late = check(&stems, Some(kernel));
    assert!(late >= early && stems[2].progress()[0] == stems[2].progress()[1], "{early} {late}");
    assert!(plot.bytes() > 0 && stems[0].bytes() > 0 && stems[0].trials(&plot).bytes() > 0);
}

#[test]
fn new_rows_change_the_leaves_they_fall_into_and_large_ones_are_split() {
    let all = mixed(900, 3);
    let judges = |n: usize| (0..n).map(|row| row % 5 == 0).collect::<Vec<bool>>();
    let part = |n: usize| all.select(&(0..n).collect::<Vec<_>>());
    let params = params();
    let first = Plot::new(&part(400), &judges(400), &params);
    let mut stems = grow(&part(400), &judges(400), &params, &first);
    let kernel = search(&stems[0], &first);
    train(&mut stems, &first, &kernel);
    let few = first.grown(&part(402), &judges(402));
    let before = stems[0].progress()[1];
    let touched = stems[0].slice(&few, &kernel, &Par::sequential()).unwrap();
    assert!(touched.progress()[1] - touched.progress()[0] <= 2 && touched.progress()[1] <= before + 2);
    let plot = few.grown(&part(900), &judges(900));
    assert!(!stems[0].knows(&plot) && assemble(&plot, &stems, Some(kernel)).is_none());
    train(&mut stems, &plot, &kernel);
    let made = assemble(&plot, &stems, Some(kernel)).unwrap();
    assert!(made.model.stems.beds.len() > 3, "leaves were split");
    let size = made.model.size();
    assert!(size.largest <= 40 && size.n_trees == 3, "{size:?}");
    assert_eq!(made.model.leaves.iter().map(|leaf| leaf.rows.len()).sum::<usize>(), 3 * 720);
    assert!(share_right(&made.proba, &plot.judge_labels()) > 0.7);
    let x = all.features.to_array(0..900);
    let labels = plot.judge_labels();
    let said = made.model.predict_proba(x.view(), &Par::sequential()).unwrap();
    let of_judges = said.select(ndarray::Axis(0), &(0..900).step_by(5).collect::<Vec<_>>());
    assert!(of_judges.iter().zip(&made.proba).all(|(a, b)| (a - b).abs() < 1e-4), "{}", labels.len());
    // It goes on learning: judges wait for their turn.
    let mut model = made.model.remembering(&all, 900);
    let budget = Budget::open();
    let par = Par::sequential();
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let more = mixed(200, 4);
    let x = more.features.to_array(0..200);
    let rows = hedgerow_core::Rows { x: x.view(), labels: &more.labels, weights: None };
    model.learn(&more.schema, rows, &training).unwrap();
    assert_eq!((model.n_seen(), model.n_remembered()), (1100, 1100));
    check_distributions(&model, x.view());
}

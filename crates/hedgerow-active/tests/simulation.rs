//! Simulations: paired, repeatable, and what they find.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use hedgerow_active::simulation::{Simulation, SimulationParams, SimulationResult};
use hedgerow_active::{KindTrainer, StrategyName};
use hedgerow_core::synth::{Generator, KnownParams, Problem};
use hedgerow_core::testing::blobs;
use hedgerow_core::{Dataset, Par, Params as _};
use hedgerow_forest::ForestParams;
use hedgerow_neighbors::KnnParams;

fn forest() -> Arc<KindTrainer<ForestParams>> {
    Arc::new(KindTrainer(ForestParams { n_trees: 20, ..ForestParams::default() }))
}

fn simulate(
    data: &Dataset,
    params: SimulationParams,
    strategies: &[StrategyName],
    threads: usize,
) -> SimulationResult {
    let mut simulation = Simulation::new(params.check().unwrap()).model("forest", forest());
    for strategy in strategies {
        simulation = simulation.strategy(*strategy);
    }
    simulation.run(data, &Par::new(threads).unwrap()).unwrap()
}

#[test]
fn runs_are_paired_and_the_same_for_any_number_of_threads() {
    let data = blobs(150, 3, 3, 2);
    let params = SimulationParams { labels: 16, start: 6, seeds: 3, batch: 2, ..SimulationParams::default() };
    let strategies = [StrategyName::Margin, StrategyName::Random, StrategyName::Random];
    let one = simulate(&data, params.clone(), &strategies, 1);
    assert_eq!(one, simulate(&data, params.clone(), &strategies, 3));
    let [margin, random, again] = &one.outcomes[..] else { panic!("three strategies") };
    assert_eq!(random.area, again.area, "the same strategy is paired with itself");
    assert_eq!(margin.order[..6], random.order[..6], "the same start");
    assert_eq!(margin.curve[0], random.curve[0], "the same model of the same start");
    assert_ne!(margin.order, random.order);
    let labels: Vec<usize> = margin.curve.iter().map(|point| point.labels).collect();
    assert_eq!(labels, [6, 8, 10, 12, 14, 16]);
    assert_eq!((margin.area.runs.len(), margin.order.len(), margin.labels_needed.len()), (3, 16, 3));
    let mut rows = margin.order.clone();
    rows.sort_unstable();
    rows.dedup();
    assert!(rows.len() == 16 && rows.iter().all(|row| *row < 150));
    let ranks = one.ranks.unwrap();
    assert_eq!((ranks.scores.len(), ranks.strategies.len()), (3, 3));
    assert_eq!(ranks.mean_ranks[1], ranks.mean_ranks[2]);
}

#[test]
fn an_empty_start_counts_from_the_first_label() {
    let data = blobs(60, 2, 2, 2);
    let params = SimulationParams { labels: 8, seeds: 2, ..SimulationParams::default() };
    let result = simulate(&data, params, &[StrategyName::Random], 1);
    let curve = &result.outcomes[0].curve;
    assert_eq!((curve.len(), curve[0].labels), (8, 1));
    // One label: its class is predicted, and nothing ranks.
    assert!(curve[0].accuracy > 0.2 && curve[0].accuracy < 0.8 && curve[0].auc == 0.5);
    assert!(result.ranks.is_none() && result.outcomes[0].full_accuracy.as_ref().unwrap().mean > 0.9);
    let small = SimulationParams { labels: 1000, seeds: 1, ..SimulationParams::default() };
    let result = simulate(&data, small, &[StrategyName::Margin], 1);
    assert_eq!(result.outcomes[0].curve.len(), 41, "the pool ends before the labels do");
}

#[test]
fn a_better_strategy_is_found_to_be_better() {
    let generator = Generator::known(Problem::Xor, &KnownParams::default().check().unwrap());
    let data = generator.unwrap().dataset(600).unwrap();
    let params = SimulationParams { labels: 30, seeds: 6, ..SimulationParams::default() };
    let simulation = Simulation::new(params.check().unwrap())
        .strategy(StrategyName::Auto)
        .strategy(StrategyName::Random)
        .model("forest", forest())
        .model("knn", Arc::new(KindTrainer(KnnParams::default())));
    let result = simulation.run(&data, &Par::sequential()).unwrap();
    assert_eq!(result.outcomes.len(), 4);
    for model in ["forest", "knn"] {
        let [auto, random] = ["auto", "random"].map(|name| result.outcome(name, model).unwrap().area.mean);
        assert!(auto > random + 0.02, "{model}: {auto} {random}");
    }
    let ranks = result.ranks.unwrap();
    assert_eq!((ranks.scores.len(), ranks.pairs.len()), (12, 1));
    assert!(ranks.pairs[0].wilcoxon.p_value < 1.0 && ranks.mean_ranks[0] < ranks.mean_ranks[1]);
    assert!(ranks.pairs[0].sign.wins > ranks.pairs[0].sign.losses, "{:?}", ranks.pairs[0]);
}

#[test]
fn parameters_are_checked() {
    let wrong = |params: SimulationParams| params.check().unwrap_err().to_string();
    assert!(wrong(SimulationParams { start: 200, ..Default::default() }).contains("start"));
    assert!(wrong(SimulationParams { seeds: 0, ..Default::default() }).contains("seeds"));
    assert!(wrong(SimulationParams { test_share: 1.0, ..Default::default() }).contains("test_share"));
    let params = SimulationParams::default().check().unwrap();
    let simulation = Simulation::new(params).strategy(StrategyName::Margin).model("forest", forest());
    assert!(simulation.run(&blobs(2, 2, 2, 1), &Par::sequential()).is_err(), "too few rows");
}

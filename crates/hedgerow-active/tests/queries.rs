//! Every strategy on every pool: without labels, with one class, with missing values, with categories.

#![allow(clippy::unwrap_used)]

use hedgerow_active::{OfModel, Pool, Querier, QueryModel, QueryParams, Strategy, StrategyName};
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::testing::blobs;
use hedgerow_core::{
    Budget, ClassId, Column, ColumnKind, Dataset, Features, LabelTable, Par, Params as _, Schema, Silent,
    Training, fit,
};
use hedgerow_forest::{ForestModel, ForestParams};
use ndarray::Array2;

/// Two columns of numbers, one of categories, with missing values in all of them; three classes.
fn mixed(n: usize) -> Dataset {
    let mut rng = Rng::new(5, Purpose::Data, 0);
    let categories = ["red", "green", "blue"].map(String::from).to_vec();
    let color = Column { name: "color".into(), kind: ColumnKind::Categorical { categories } };
    let labels = LabelTable::from(["a", "b", "c"].map(String::from).to_vec());
    let columns = vec![Column::numeric("x"), color, Column::numeric("y")];
    let schema = Schema { columns, labels, ..Schema::unnamed(0) };
    let classes: Vec<ClassId> = (0..n).map(|_| ClassId(rng.below(3))).collect();
    let x = Array2::from_shape_fn((n, 3), |(row, column)| {
        let class = f64::from(classes[row].0);
        match (column, rng.unit() < 0.1) {
            (_, true) => f32::NAN,
            (1, _) => {
                if rng.unit() < 0.7 {
                    class as f32
                } else {
                    rng.below(3) as f32
                }
            }
            _ => (2.0 * class + rng.normal()) as f32,
        }
    });
    Dataset::new(schema, Features::from_view(x.view()), classes, None).unwrap()
}

fn forest(data: &Dataset) -> ForestModel {
    let par = Par::sequential();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    fit(data, &ForestParams { n_trees: 20, ..Default::default() }.check().unwrap(), &training).unwrap().model
}

fn pool(data: &Dataset, labelled: &[usize]) -> Pool {
    let label = |row: usize| labelled.contains(&row).then(|| data.labels()[row]);
    Pool::new(data.schema.clone(), data.features.clone(), (0..data.n_rows()).map(label).collect()).unwrap()
}

fn querier(strategy: StrategyName) -> Querier {
    Querier::new(QueryParams { strategy, ..Default::default() }.check().unwrap())
}

#[test]
fn every_strategy_chooses_from_every_pool() {
    let data = mixed(300);
    let of_one: Vec<usize> = (0..300).filter(|&row| data.labels()[row] == ClassId(1)).take(4).collect();
    for labelled in [vec![], of_one, (0..30).collect()] {
        let pool = pool(&data, &labelled);
        let trained = pool.has_two_classes().then(|| forest(&pool.training_rows().unwrap()));
        let model = trained.as_ref().map(|model| OfModel::new(model).unwrap());
        let model = model.as_ref().map(|model| model as &dyn QueryModel);
        for &name in StrategyName::ALL {
            let one_thread = querier(name).query(&pool, model, 7, &Par::sequential()).unwrap();
            let rows: Vec<usize> = one_thread.iter().map(|asked| asked.row).collect();
            assert_eq!(rows.len(), 7, "{name}");
            assert!(
                rows.iter().all(|row| pool.label(*row).is_none()),
                "{name} asks for a label that is known"
            );
            assert!((0..7).all(|i| !rows[..i].contains(&rows[i])), "{name} asks for a row twice: {rows:?}");
            assert!(
                one_thread.iter().all(|asked| asked.utility >= 0.0 && asked.utility.is_finite()),
                "{name}"
            );
            assert!(one_thread.iter().all(|asked| !asked.reason.is_empty()), "{name}");
            let threads = querier(name).query(&pool, model, 7, &Par::new(3).unwrap()).unwrap();
            assert_eq!(one_thread, threads, "{name}: the number of threads changed the query");
        }
    }
}

#[test]
fn a_pool_that_runs_dry() {
    let data = mixed(12);
    let pool = pool(&data, &(0..10).collect::<Vec<_>>());
    for &name in StrategyName::ALL {
        let asked = querier(name).query(&pool, None, 5, &Par::sequential()).unwrap();
        let mut rows: Vec<usize> = asked.iter().map(|asked| asked.row).collect();
        rows.sort_unstable();
        assert_eq!(rows, [10, 11], "{name}");
    }
    let all = self::pool(&data, &(0..12).collect::<Vec<_>>());
    assert!(querier(StrategyName::Auto).query(&all, None, 5, &Par::sequential()).unwrap().is_empty());
}

#[test]
fn a_batch_is_not_made_of_copies() {
    struct Same;
    impl Strategy for Same {
        fn utilities(
            &mut self,
            situation: &hedgerow_active::Situation<'_>,
        ) -> hedgerow_core::Result<Vec<f64>> {
            Ok(situation.candidates().iter().map(|row| if row % 4 == 0 { 1.0 } else { 0.9 }).collect())
        }
    }
    // Fifty copies of four rows; those of the first are worth most.
    let four = blobs(4, 2, 4, 3);
    let data = four.select(&(0..200).map(|row| row % 4).collect::<Vec<_>>());
    let batch = |diversity: f64| {
        let params = QueryParams { diversity, ..Default::default() }.check().unwrap();
        let asked = Querier::with_strategy(params, Box::new(Same))
            .query(&pool(&data, &[]), None, 4, &Par::sequential())
            .unwrap();
        let mut groups: Vec<usize> = asked.iter().map(|asked| asked.row % 4).collect();
        groups.sort_unstable();
        groups
    };
    assert_eq!(batch(0.0), [0, 0, 0, 0]);
    assert_eq!(batch(1.0), [0, 1, 2, 3]);
}

#[test]
fn large_pools_are_sampled_and_every_row_can_come() {
    let data = blobs(5_000, 2, 2, 1);
    let pool = pool(&data, &(0..4_990).collect::<Vec<_>>());
    let params = QueryParams { n_candidates: 4, strategy: StrategyName::Random, ..Default::default() };
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let mut querier = Querier::new(QueryParams { seed, ..params.clone() }.check().unwrap());
        let asked = querier.query(&pool, None, 4, &Par::sequential()).unwrap();
        seen.extend(asked.iter().map(|asked| asked.row));
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), (4_990..5_000).collect::<Vec<_>>());
}

#[test]
fn labels_come_and_go() {
    let data = mixed(20);
    let mut pool = pool(&data, &[3]);
    pool.set_label(7, ClassId(2)).unwrap();
    pool.set_label(3, ClassId(0)).unwrap();
    assert_eq!((pool.labelled(), pool.label(3), pool.n_unlabelled()), (&[3, 7][..], Some(ClassId(0)), 18));
    assert!(pool.take_label(3) && !pool.take_label(3));
    assert_eq!((pool.labelled(), pool.class_counts()), (&[7][..], vec![0, 0, 1]));
    assert!(!pool.has_two_classes());
    let new = pool.class("d").unwrap();
    pool.set_label(0, new).unwrap();
    assert!(pool.has_two_classes() && pool.training_rows().unwrap().n_rows() == 2);
    let message = pool.set_label(99, ClassId(0)).unwrap_err().to_string();
    assert!(message.contains("a row below 20") && message.contains("99"), "{message}");
    assert!(pool.set_label(1, ClassId(9)).is_err());
    let infinite = Features::from_view(ndarray::array![[1.0], [f32::INFINITY]].view());
    let message = Pool::new(Schema::unnamed(1), infinite, vec![None; 2]).unwrap_err().to_string();
    assert!(message.contains("row 2"), "{message}");
}

#[test]
fn names_lead_to_strategies_and_back() {
    for &name in StrategyName::ALL {
        assert_eq!(name.name().parse::<StrategyName>().unwrap(), name);
        assert_eq!(serde_json::to_value(name).unwrap(), name.name());
        assert!(name.words().1.len() > 10);
    }
    let message = "orcale".parse::<StrategyName>().unwrap_err().to_string();
    assert!(message.contains("auto, ") && message.contains("orcale"), "{message}");
}

#[test]
fn utilities_before_each_choice_are_shown() {
    let data = mixed(80);
    let pool = pool(&data, &(0..20).collect::<Vec<_>>());
    let trained = forest(&pool.training_rows().unwrap());
    let model = OfModel::new(&trained).unwrap();
    let candidates: Vec<usize> = (30..80).collect();
    for &name in StrategyName::ALL {
        let par = Par::sequential();
        let (queried, steps) =
            querier(name).query_with_utilities(&pool, Some(&model), candidates.clone(), 3, &par).unwrap();
        let plain = querier(name).query_among(&pool, Some(&model), candidates.clone(), 3, &par).unwrap();
        assert_eq!((&queried, steps.len()), (&plain, 3), "{name}");
        for (step, utilities) in steps.iter().enumerate() {
            let place = queried[step].row - 30;
            assert_eq!(utilities[place], queried[step].utility, "{name}");
            let is_known = |before: &hedgerow_active::QueriedRow| !utilities[before.row - 30].is_nan();
            assert!(!queried[..step].iter().any(is_known), "{name}: chosen before");
            assert!(utilities.iter().all(|other| other.is_nan() || *other <= utilities[place]), "{name}");
        }
    }
}

#[test]
fn classes_are_named_anew_and_forgotten() {
    let data = mixed(20);
    let mut pool = pool(&data, &[]);
    pool.set_label(3, ClassId(1)).unwrap();
    pool.keep_classes(0);
    assert_eq!(pool.schema().labels.names(), ["a", "b"], "the class of a label stays, and those before it");
    pool.set_classes(["x", "y", "z"].map(String::from).to_vec().into()).unwrap();
    assert_eq!(pool.schema().labels.name(pool.label(3).unwrap()), "y");
    assert!(pool.set_classes(vec!["x".to_string()].into()).is_err());
    pool.take_label(3);
    pool.keep_classes(0);
    assert_eq!(pool.schema().n_classes(), 0);
}

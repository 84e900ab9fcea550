//! Sets beside their definition, and their coverage where it can be promised.

use ndarray::{Array2, array};

use super::*;
use crate::data::ClassId;
use crate::rng::{Purpose, Rng};
use crate::scores::Source;
use crate::testing::{check_damaged_arrays, saved_copy};

/// Rows of a random problem: probabilities that are right where the classes are drawn from them.
fn rows(n: usize, n_classes: usize, rng: &mut Rng) -> (Array2<f64>, Vec<ClassId>) {
    let mut proba =
        Array2::from_shape_fn((n, n_classes), |(_, c)| rng.unit().powi(5) + 0.02 / (c + 1) as f64);
    let mut labels = Vec::new();
    for mut row in proba.rows_mut() {
        let sum = row.sum();
        row /= sum;
        let mut left = rng.unit();
        let drawn = row.iter().position(|p| {
            left -= p;
            left < 0.0
        });
        labels.push(ClassId(drawn.unwrap_or(n_classes - 1) as u32));
    }
    (proba, labels)
}

fn conformal(proba: &Array2<f64>, labels: &[ClassId]) -> Conformal {
    let places = (0..labels.len()).collect();
    Conformal::of(&OutOfSample::new(Source::HeldOut, places, proba.clone(), labels.to_vec())).unwrap()
}

/// The score of a class by definition.
fn score(method: SetMethod, row: &[f64], class: usize) -> f32 {
    let before: f64 = row.iter().filter(|p| **p > row[class]).sum();
    (if method == SetMethod::Adaptive { before } else { 1.0 - row[class] }) as f32
}

/// The score of rank ⌈(n + 1) · level⌉.
fn quantile(mut scores: Vec<f32>, level: f64) -> f32 {
    scores.sort_by(f32::total_cmp);
    let rank = ((scores.len() as f64 + 1.0) * level - 1e-9).ceil() as usize;
    scores.get(rank.max(1) - 1).copied().unwrap_or(f32::INFINITY)
}

/// The thresholds of all classes by definition: every score there is is tried.
fn naive(method: SetMethod, level: f64, proba: &Array2<f64>, labels: &[ClassId]) -> Vec<f32> {
    let own = |i: usize| score(method, &proba.row(i).to_vec(), labels[i].index());
    let all: Vec<f32> = (0..labels.len()).map(own).collect();
    let of_class = |class: usize, level: f64| {
        let scores: Vec<f32> =
            (0..all.len()).filter(|i| labels[*i].index() == class).map(|i| all[i]).collect();
        let found = quantile(scores.clone(), level);
        (scores.len() >= 30 && found.is_finite()).then_some(found)
    };
    let n_classes = proba.ncols();
    match method {
        SetMethod::Marginal | SetMethod::Adaptive => vec![quantile(all, level); n_classes],
        SetMethod::PerClass => (0..n_classes)
            .map(|c| of_class(c, level).unwrap_or_else(|| quantile(all.clone(), level)))
            .collect(),
        SetMethod::Balanced => {
            let floor = |c| of_class(c, 1.0 - 1.2 * (1.0 - level)).unwrap_or(f32::NEG_INFINITY);
            let floors: Vec<f32> = (0..n_classes).map(floor).collect();
            let covered =
                |v: f32| (0..all.len()).filter(|i| all[*i] <= v.max(floors[labels[*i].index()])).count();
            let rank = ((all.len() as f64 + 1.0) * level - 1e-9).ceil() as usize;
            let mut candidates = [all.clone(), vec![f32::NEG_INFINITY, f32::INFINITY]].concat();
            candidates.sort_by(f32::total_cmp);
            let pooled = candidates.into_iter().find(|v| covered(*v) >= rank).unwrap_or(f32::INFINITY);
            floors.into_iter().map(|floor| floor.max(pooled)).collect()
        }
    }
}

#[test]
fn thresholds_are_those_of_the_definition() {
    let mut rng = Rng::new(5, Purpose::Data, 0);
    for (n, n_classes) in [(8, 2), (57, 3), (400, 2), (700, 12)] {
        let (proba, labels) = rows(n, n_classes, &mut rng);
        let (conformal, (new, _)) = (conformal(&proba, &labels), rows(40, n_classes, &mut rng));
        for method in SetMethod::ALL {
            for level in [0.05, 0.5, 0.8, 0.9, 0.99] {
                let options = SetOptions { method, ..SetOptions::new(level) };
                let sets = conformal.sets(new.view(), &options).unwrap();
                let thresholds = naive(method, level, &proba, &labels);
                let expected = Array2::from_shape_fn(new.dim(), |(i, c)| {
                    score(method, &new.row(i).to_vec(), c) <= thresholds[c]
                });
                assert_eq!(sets.table(), expected, "{n} rows, {method}, {level}");
            }
        }
    }
}

#[test]
fn sets_by_hand() {
    // Nine rows of class 0 with scores 0.1 to 0.9: the eighth of ten ranks is 0.8.
    let values = Array2::from_shape_fn((9, 2), |(i, c)| [0.9 - i as f64 / 10.0, 0.1 + i as f64 / 10.0][c]);
    let conformal = conformal(&values, &[ClassId(0); 9]);
    let set = |p: f64, level: f64| {
        let sets = conformal.sets(array![[p, 1.0 - p]].view(), &SetOptions::new(level)).unwrap();
        sets.classes(0).map(|class| class.0).collect::<Vec<_>>()
    };
    assert_eq!(set(0.21, 0.8), [0, 1]);
    assert_eq!(set(0.19, 0.8), [1]);
    assert_eq!(set(0.5, 0.4), [0_u32; 0], "nothing conforms as well as four in ten");
    assert_eq!(set(0.0, 0.95), [0, 1], "nine rows cannot tell what is rarer than one in ten");
    let never_empty = SetOptions { never_empty: true, ..SetOptions::new(0.4) };
    let sets = conformal.sets(array![[0.5, 0.5], [0.45, 0.55]].view(), &never_empty).unwrap();
    assert_eq!(sets.table(), array![[true, false], [false, true]]);
    for level in [0.0, 1.0, -0.5, f64::NAN, 90.0] {
        let message = conformal.thresholds(&SetOptions::new(level)).unwrap_err().to_string();
        assert!(message.contains("between 0 and 1"), "{message}");
    }
    assert!(
        "mondrian"
            .parse::<SetMethod>()
            .unwrap_err()
            .to_string()
            .contains("balanced, marginal, per-class, adaptive")
    );
    assert_eq!(SetMethod::ALL.map(|method| method.name().parse().ok()), SetMethod::ALL.map(Some));
}

#[test]
fn coverage_is_what_was_asked_for() {
    let mut rng = Rng::new(6, Purpose::Data, 0);
    let (n_draws, n_rows, n_new) = (60, 500, 500);
    for method in SetMethod::ALL {
        let (mut covered, mut of_last, mut n_last) = (0.0, 0.0, 0.0);
        for _ in 0..n_draws {
            let (proba, labels) = rows(n_rows, 3, &mut rng);
            let (new, truth) = rows(n_new, 3, &mut rng);
            let options = SetOptions { method, ..SetOptions::new(0.9) };
            let report = conformal(&proba, &labels)
                .sets(new.view(), &options)
                .unwrap()
                .report(&truth, &options)
                .unwrap();
            covered += report.coverage / f64::from(n_draws);
            of_last += report.classes[2].covered as f64;
            n_last += report.classes[2].rows as f64;
        }
        // Five standard deviations of the mean; adaptive sets cover more, as the most probable class is always in.
        let most = if method == SetMethod::Adaptive { 1.0 } else { 0.913 };
        assert!((0.887..most).contains(&covered), "{method}: {covered}");
        let least = if method == SetMethod::Balanced { 0.86 } else { 0.88 };
        let is_by_class = matches!(method, SetMethod::Balanced | SetMethod::PerClass);
        assert!(!is_by_class || of_last / n_last > least, "{method}: {}", of_last / n_last);
    }
}

#[test]
fn many_scores_are_kept_as_few_that_say_the_same() {
    let mut rng = Rng::new(7, Purpose::Data, 0);
    let (proba, labels) = rows(30_000, 3, &mut rng);
    let conformal = conformal(&proba, &labels);
    assert!(conformal.bytes() < 40_000 && conformal.n_rows() == 30_000);
    for method in SetMethod::ALL {
        let kept = conformal.thresholds(&SetOptions { method, ..SetOptions::new(0.9) }).unwrap();
        for (class, all) in naive(method, 0.9, &proba, &labels).into_iter().enumerate() {
            let kept = kept.of_class(class);
            assert!(kept >= all - 1e-6 && kept < all + 0.01, "{method}, {class}: {kept} for {all}");
        }
    }
}

#[test]
fn scores_are_continued_from_half_of_an_ensemble_to_all_of_it() {
    // On the scale of log-odds ln 3 for half of the members becomes 0 for some: all of them are where two steps more lead.
    let [half, all] =
        [0.75, 0.5].map(|score: f64| Array2::from_shape_fn((9, 2), |(_, c)| [1.0 - score, score][c]));
    let labels = [ClassId(0); 9];
    let expected = 1.0 / (1.0 + 9.0);
    let found = Conformal::continued([all.view(), half.view()], &labels, 2.0).unwrap();
    let options = SetOptions { method: SetMethod::Marginal, ..SetOptions::new(0.8) };
    assert!((found.thresholds(&options).unwrap().of_class(0) - expected).abs() < 1e-6);
    let none = Conformal::continued([all.view(), half.view()], &labels, 0.0).unwrap();
    for method in SetMethod::ALL {
        let options = SetOptions { method, ..SetOptions::new(0.8) };
        let [found, own] = [&none, &conformal(&all, &labels)]
            .map(|conformal| conformal.thresholds(&options).unwrap().of_class(0));
        assert!((found - own).abs() < 1e-6, "{method}: {found} for {own}");
    }
    let empty = Array2::zeros((0, 2));
    assert!(Conformal::continued([empty.view(), empty.view()], &[], 1.0).is_none());
}

#[test]
fn outcomes_are_those_of_the_sets() {
    let mut rng = Rng::new(8, Purpose::Data, 0);
    let (proba, labels) = rows(900, 4, &mut rng);
    let mut online = Conformal::new();
    let options = SetOptions::new(TRACKED_LEVEL);
    for (row, label) in proba.rows().into_iter().zip(&labels) {
        let row = row.to_vec();
        let outcome = online.outcome(&row, label.index());
        let sets = online.sets(ndarray::ArrayView2::from_shape((1, 4), &row).unwrap(), &options).unwrap();
        let expected =
            SetOutcome { is_covered: sets.classes(0).any(|class| class == *label), size: sets.size(0) };
        assert_eq!(outcome, expected);
        online.learn(&row, label.index());
    }
    assert!(!online.outcome(&[0.5, 0.5], 7).is_covered, "a class that is not known is in no set");
}

#[test]
fn online_levels_keep_the_coverage_of_every_window_whatever_comes() {
    // Predictions that mean nothing half of the time, and the other way round every 700 rows.
    let mut rng = Rng::new(9, Purpose::Data, 0);
    let mut online = Conformal::new();
    let mut covered = Vec::new();
    for row in 0..20_000_usize {
        let (proba, mut labels) = rows(1, 3, &mut rng);
        if row / 700 % 2 == 1 {
            labels[0] = ClassId((labels[0].0 + 1) % 3);
        }
        if row / 3_000 % 2 == 1 {
            labels[0] = ClassId((row / 50 % 3) as u32);
        }
        let proba = proba.row(0).to_vec();
        covered.push(f64::from(u8::from(online.outcome(&proba, labels[0].index()).is_covered)));
        online.learn(&proba, labels[0].index());
    }
    for start in (1_000..19_000).step_by(100) {
        let share = covered[start..start + 1_000].iter().sum::<f64>() / 1_000.0;
        assert!((0.858..=0.942).contains(&share), "rows from {start}: {share}");
    }
}

#[test]
fn it_goes_on_from_a_fit_and_after_it_was_saved() {
    let mut rng = Rng::new(10, Purpose::Data, 0);
    let (proba, labels) = rows(3_000, 5, &mut rng);
    let mut whole = conformal(&proba, &labels);
    let before = whole.thresholds(&SetOptions::default()).unwrap();
    let schema =
        Schema { labels: (0..5).map(|c| c.to_string()).collect::<Vec<_>>().into(), ..Schema::unnamed(1) };
    let mut saved = saved_copy(&whole, &schema).unwrap();
    for (i, row) in proba.rows().into_iter().enumerate().take(1_500) {
        let class = labels[i].index();
        whole.learn(&row.to_vec(), class);
        saved.learn(&row.to_vec(), class);
        if i == 0 {
            let after = whole.thresholds(&SetOptions::default()).unwrap();
            assert!((0..5).all(|class| (before.of_class(class) - after.of_class(class)).abs() < 0.1));
        }
        if i % 400 == 7 {
            saved = saved_copy(&saved, &schema).unwrap();
            assert!(saved == whole);
        }
    }
    assert!(saved == whole && whole.n_rows() == 1_000);
    let small = Schema { labels: vec!["a".to_string()].into(), ..schema.clone() };
    for conformal in [conformal(&proba, &labels), whole] {
        assert!(saved_copy(&conformal, &small).is_err(), "scores of more classes than there are");
        check_damaged_arrays(&conformal, &schema, |_, _, _| false);
    }
}

//! Pages to test with.

use hedgerow_core::conformal::{ClassCoverage, SetReport};
use hedgerow_core::metrics::{self, ReliabilityBin};
use hedgerow_core::rejection::RejectionCurve;
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{ClassId, Features, LabelTable, Schema};
use ndarray::Array2;

use super::super::*;

/// A hostile name of a column.
pub(super) const NASTY: &str = "\"'><script>alert(1)</script><b onclick=\"x\">&amp;\u{0}\n";

/// A page with every section, whose texts all are or contain `text`.
pub(super) fn everything(text: &str) -> Page {
    let mut page = digits_like(8);
    let named = |n: usize| format!("{text}{n}");
    page.title = text.into();
    page.subtitle = text.into();
    page.facts = vec![(text.into(), text.into())];
    page.curve = Some(curve(text, 30));
    page.map = Some(map(text, 3));
    if let Some(scores) = &mut page.scores {
        scores.measured_on = text.into();
    }
    if let Some(confusion) = &mut page.confusion {
        confusion.classes = (0..10).map(named).collect();
    }
    for (n, class) in page.classes.iter_mut().enumerate() {
        class.name = named(n);
    }
    for row in &mut page.uncertain {
        row.truth = Some(text.into());
        row.prediction.iter_mut().for_each(|a| a.0 = text.into());
    }
    if let Some(importances) = &mut page.importances {
        importances.meaning = text.into();
        importances.values.iter_mut().for_each(|v| v.0 = text.into());
    }
    page.rejection = RejectionCurve::of((0..50).map(|i| (f64::from(i) / 50.0, i % 7 > 0)).collect());
    let classes = (0..10).map(|n| ClassCoverage { rows: 20 + n, covered: 18 }).collect();
    let report =
        SetReport { level: 0.9, coverage: 0.88, mean_size: 1.3, sizes: vec![3, 150, 30, 20], classes };
    page.sets = Some(Sets { report, classes: (0..10).map(named).collect() });
    let picture = Picture { size: [2, 2], values: vec![0.0, 1.0, 2.0, 3.0], range: [0.0, 3.0] };
    let bars = ClassBars {
        title: text.into(),
        text: text.into(),
        bars: (0..3).map(|n| (named(n), 10 - n as u64)).collect(),
        examples: vec![Example { picture, caption: text.into() }],
    };
    page.class_bars = vec![bars];
    let point = |i: u64| StrategyPoint { labels: i, accuracy: 0.5 + 0.01 * i as f64, standard_error: 0.02 };
    let strategies = (0..3).map(|n| (named(n), (1..20).map(point).collect())).collect();
    page.strategies = vec![StrategyCurves { model: text.into(), strategies }];
    page.ranks = Some(RankDiagram {
        text: text.into(),
        strategies: (0..3).map(|n| (named(n), 1.0 + 0.8 * n as f64)).collect(),
        critical_difference: 1.1,
        groups: vec![vec![0, 1], vec![1, 2]],
    });
    let rows = (0..40).map(|i| ([f64::from(i % 7), f64::from(i * i % 11)], i as usize % 2)).collect();
    let columns = [0, 1].map(named);
    let classes = (0..2).map(named).collect();
    page.queries = vec![QueryMap { strategy: text.into(), columns, rows, order: (3..30).collect(), classes }];
    page.notes = vec![text.into()];
    page
}

/// A page about images with `side` pixels a side, with random predictions.
pub(super) fn digits_like(side: usize) -> Page {
    let mut rng = Rng::new(1, Purpose::Data, 0);
    let mut schema = Schema::unnamed(side * side);
    schema.image = Some([side, side]);
    schema.labels = LabelTable::from((0..10).map(|c| c.to_string()).collect::<Vec<_>>());
    let features = Array2::from_shape_fn((80, side * side), |_| rng.below(256) as f32);
    let (proba, truth) = predictions(&mut rng, 80, 10);
    let mut page = Page::default();
    let features = Features::from_view(features.view());
    let predictions =
        Predictions { features: Some(&features), ..Predictions::new(proba.view(), &truth, &schema) };
    page.evaluate(&predictions).unwrap();
    let importances: Vec<f64> = (0..side * side).map(|_| rng.unit()).collect();
    page.importances = Some(Importances::new("what it is", &schema, &importances));
    page.curve = Some(curve("x", 200));
    page
}

/// A page about rows of named values.
pub(super) fn tabular(text: &str) -> Page {
    let values = (0..9).map(|n| (format!("{text}{n}"), text.to_string())).collect();
    let row = UncertainRow {
        row: 7,
        prediction: vec![(text.into(), 0.6), ("b".into(), 0.4)],
        certainty: 0.03,
        look: Look::Values(values),
        ..UncertainRow::default()
    };
    let importances = (0..30).map(|n| (format!("{text}{n}"), 0.1 * f64::from(n) - 1.0)).collect();
    Page {
        uncertain: vec![row; 3],
        importances: Some(Importances { values: importances, ..Importances::default() }),
        ..Page::default()
    }
}

/// A page of numbers that are not numbers, counts that are huge, and names that begin with `text`.
pub(super) fn extreme(n_classes: usize, text: &str) -> Page {
    let names: Vec<String> = (0..n_classes).map(|c| format!("{text}{c}")).collect();
    let counts = |truth: usize| {
        (0..n_classes).map(|a| if a == truth { 1_000_000_000 } else { (truth * a % 7) as u64 }).collect()
    };
    let mut metrics = metrics::Report::new(Array2::zeros((0, 1)).view(), &[], None).unwrap();
    (metrics.accuracy, metrics.balanced_accuracy, metrics.log_loss) = (f64::NAN, f64::NAN, f64::INFINITY);
    (metrics.brier, metrics.ece, metrics.auc) = (f64::NAN, f64::NEG_INFINITY, Some(f64::NAN));
    (metrics.overconfidence, metrics.underconfidence) = (None, Some(f64::NAN));
    let bin = |accuracy| ReliabilityBin { count: 1_000_000_000, confidence: 0.5, accuracy };
    let mut curve = curve(text, 5000);
    curve.points[7].accuracy = f64::NAN;
    curve.points[9].log_loss = Some(f64::INFINITY);
    curve.points.push(CurvePoint { rows_seen: 1_000_000_000, accuracy: 0.3, ..CurvePoint::default() });
    let class = |c: &String| ClassRow {
        name: c.clone(),
        rows: 1_000_000_000,
        recall: Some(f64::NAN),
        ..ClassRow::default()
    };
    let row = UncertainRow {
        row: u64::MAX,
        prediction: vec![(text.into(), f64::NAN)],
        certainty: f64::NAN,
        look: Look::Picture(Picture { size: [500, 3], values: vec![f32::NAN; 5], range: [0.0, 0.0] }),
        ..UncertainRow::default()
    };
    Page {
        title: text.into(),
        scores: Some(Scores { measured_on: text.into(), metrics }),
        curve: Some(curve),
        map: Some(DecisionMap { span: [[f64::NAN, 1.0], [-1e300, 1e300]], ..map(text, n_classes) }),
        confusion: Some(Confusion { classes: names.clone(), counts: (0..n_classes).map(counts).collect() }),
        reliability: Some(Reliability { bins: vec![bin(1.0), bin(f64::NAN)], ece: Some(f64::NAN) }),
        classes: names.iter().map(class).collect(),
        importances: Some(Importances {
            values: names.iter().map(|n| (n.clone(), 1e-300)).chain([("y".into(), f64::NAN)]).collect(),
            image: Some([usize::MAX, 2]),
            ..Importances::default()
        }),
        uncertain: vec![row; 50],
        class_bars: vec![ClassBars {
            bars: names.iter().map(|n| (n.clone(), u64::MAX)).collect(),
            ..ClassBars::default()
        }],
        ..Page::default()
    }
}

/// A map with all that may be on one, and some that should not be.
fn map(text: &str, n_classes: usize) -> DecisionMap {
    let cell =
        |i: u32| Cell { class: ClassId(i % 5), probability: if i == 9 { f32::NAN } else { i as f32 / 64.0 } };
    let row = |i: u32| ([i as f32 / 10.0, (i % 7) as f32], ClassId(i % 4));
    DecisionMap {
        text: text.into(),
        columns: [text.into(), text.into()],
        classes: (0..n_classes).map(|c| format!("{text}{c}")).collect(),
        span: [[-1.0, 8.0], [0.0, 7.0]],
        side: 8,
        cells: (0..64).map(cell).collect(),
        n_rows: 1_000_000_000,
        rows: (0..60).map(row).collect(),
        active: vec![([1.0, 2.0], Some(ClassId(1))), ([9e9, 2.0], None)],
    }
}

/// A learning curve with all that may be on one.
fn curve(text: &str, n_points: u64) -> LearningCurve {
    let point = |i: u64| CurvePoint {
        rows_seen: i * 100,
        accuracy: 0.9 - 0.4 / (i + 1) as f64,
        log_loss: Some(0.2 + 1.0 / (i + 1) as f64),
        test_accuracy: i.is_multiple_of(3).then_some(0.85),
        rows_per_second: Some(12_345.0),
        ..CurvePoint::default()
    };
    let kinds = [MarkKind::DriftDetected, MarkKind::KnownChange, MarkKind::NewClass];
    let mark = |i: u64| Mark { rows_seen: i * 40, kind: kinds[i as usize % 3], text: text.into() };
    LearningCurve {
        text: text.into(),
        points: (0..n_points).map(point).collect(),
        marks: (0..30).map(mark).collect(),
    }
}

/// Random probabilities and labels.
fn predictions(rng: &mut Rng, n_rows: usize, n_classes: usize) -> (Array2<f64>, Vec<ClassId>) {
    let mut proba = Array2::from_shape_fn((n_rows, n_classes), |_| rng.unit().powi(4));
    for mut row in proba.rows_mut() {
        let sum = row.sum();
        row /= sum;
    }
    (proba, (0..n_rows).map(|_| ClassId(rng.below(n_classes as u32))).collect())
}

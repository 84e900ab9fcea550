//! Accuracy and log-loss on real data, pinned for every kind of model: a loss of half a point, or of 3 % in log-loss, is a failure. Of regressions the RMSE
//! (3 %) and the NLPD (0.03) are pinned.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod models;

use std::path::PathBuf;

use hedgerow::core::metrics::ValueReport;
use hedgerow::core::{Budget, ClassQuality, Dataset, Par, Quality, Silent, Task, Training};
use hedgerow::io::{ColumnRef, Format, ReadOptions, read_dataset};
use hedgerow::{Kind, Model, ModelParams};
use models::{digits, shipped};

/// What a kind of model must reach: its settings, the accuracy in percent, and the log-loss.
type Pinned = (Kind, &'static [(&'static str, &'static str)], f64, f64);

/// Fits each kind and compares.
fn check(name: &str, train: &Dataset, test: &Dataset, pinned: &[Pinned]) {
    let (par, budget) = (Par::new(2).unwrap(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let x = test.features.to_array(0..test.n_rows());
    let mut failures = Vec::new();
    for &(kind, settings, accuracy, log_loss) in pinned {
        let params = ModelParams::new(kind).with_settings(settings.iter().copied()).unwrap();
        let model = Model::fit(train, &params, &training).unwrap().model;
        let proba = model.predict_proba_par(x.view(), &par).unwrap();
        let found = ClassQuality::new(&proba, test.labels());
        let found_accuracy = 100.0 * found.accuracy;
        println!("{name} {kind}: {found_accuracy:.2} %, log-loss {:.4}", found.log_loss);
        if found_accuracy < accuracy - 0.5 || found.log_loss > 1.03 * log_loss {
            failures.push(format!(
                "{kind}: {found_accuracy:.2} % and {:.4}, where {accuracy:.2} % and {log_loss:.4} are wanted",
                found.log_loss
            ));
        }
    }
    assert!(failures.is_empty(), "{name}: {}", failures.join("; "));
}

/// Every third row for the test.
fn split(data: &Dataset) -> [Dataset; 2] {
    let rows = |is_test: bool| (0..data.n_rows()).filter(|row| (row % 3 == 2) == is_test).collect::<Vec<_>>();
    [data.select(&rows(false)), data.select(&rows(true))]
}

/// A folder of larger data sets, if there is one.
fn large(folder: &str) -> Option<PathBuf> {
    let found = std::env::var_os("HEDGEROW_DATA").map(|root| PathBuf::from(root).join(folder));
    if found.is_none() {
        println!("skipped: HEDGEROW_DATA does not name the folder of data sets");
    }
    found
}

#[test]
fn digits_are_recognised() {
    let [train, test] = split(&digits());
    let pinned: [Pinned; 9] = [
        (Kind::Forest, &[], 98.00, 0.0570),
        (Kind::Ivm, &[("n_active", "40")], 99.00, 0.0411),
        (Kind::Gp, &[], 99.17, 0.0530),
        (Kind::LeafGp, &[], 98.83, 0.0476),
        (Kind::ForestIvm, &[("n_active", "40")], 99.00, 0.0417),
        (Kind::Rvm, &[], 98.50, 0.0703),
        (Kind::ForestKernel, &[], 97.66, 0.0599),
        (Kind::Kde, &[], 98.33, 0.0789),
        (Kind::Knn, &[], 97.16, 0.1296),
    ];
    check("digits", &train, &test, &pinned);
}

#[test]
fn two_bananas_are_told_apart() {
    let [train, test] = split(&shipped("banana", "label"));
    let pinned: [Pinned; 8] = [
        (Kind::Forest, &[], 88.73, 0.2507),
        (Kind::Ivm, &[("n_active", "60")], 89.69, 0.2318),
        (Kind::LeafGp, &[], 89.69, 0.2314),
        (Kind::ForestIvm, &[("n_active", "60")], 89.98, 0.2287),
        (Kind::Rvm, &[], 90.26, 0.2261),
        (Kind::ForestKernel, &[], 89.35, 0.2361),
        (Kind::Kde, &[], 90.09, 0.2184),
        (Kind::Knn, &[], 89.81, 0.2258),
    ];
    check("banana", &train, &test, &pinned);
    let some = train.select(&(0..train.n_rows()).step_by(4).collect::<Vec<_>>());
    check("a quarter of banana", &some, &test, &[(Kind::Gp, &[], 89.41, 0.2371)]);
}

#[test]
fn handwritten_zip_codes_are_read() {
    let Some(folder) = large("usps") else { return };
    let options = ReadOptions {
        format: Some(Format::Whitespace),
        header: Some(false),
        target: Some(ColumnRef::Index(0)),
        ..Default::default()
    };
    let [train, test] =
        ["zip.train.gz", "zip.test.gz"].map(|file| read_dataset(&folder.join(file), &options, None).unwrap());
    // Every fourth row, so that slow builds of slow kinds are done in time.
    let some = train.select(&(0..train.n_rows()).step_by(4).collect::<Vec<_>>());
    check("usps", &train, &test, &[(Kind::Forest, &[], 94.77, 0.2241), (Kind::LeafGp, &[], 95.02, 0.1915)]);
    let pinned: [Pinned; 5] = [
        (Kind::Ivm, &[("n_active", "40")], 93.07, 0.2426),
        (Kind::Rvm, &[], 93.22, 0.2492),
        (Kind::ForestKernel, &[], 92.68, 0.2530),
        (Kind::Kde, &[], 92.53, 0.2608),
        (Kind::Knn, &[], 89.99, 0.3335),
    ];
    check("a quarter of usps", &some, &test, &pinned);
}

#[test]
fn letters_are_recognised() {
    let Some(folder) = large("tabular") else { return };
    let options = ReadOptions { target: Some(ColumnRef::Name("lettr".into())), ..Default::default() };
    let data = read_dataset(&folder.join("letter.csv.gz"), &options, None).unwrap();
    let [train, test] = split(&data);
    check("letter", &train, &test, &[(Kind::Forest, &[], 96.46, 0.1146), (Kind::LeafGp, &[], 97.28, 0.0953)]);
    let some = train.select(&(0..train.n_rows()).step_by(6).collect::<Vec<_>>());
    let pinned: [Pinned; 5] = [
        (Kind::Ivm, &[("n_active", "40")], 89.39, 0.3935),
        (Kind::ForestIvm, &[("n_active", "40")], 90.94, 0.3197),
        (Kind::ForestKernel, &[], 89.05, 0.3722),
        (Kind::Kde, &[], 85.67, 0.5004),
        (Kind::Knn, &[], 81.53, 0.6277),
    ];
    check("a sixth of letter", &some, &test, &pinned);
}

/// The test rows, and the out-of-sample predictions of the training rows, which must not look much better than the test rows.
#[test]
fn numbers_are_predicted() {
    let Some(folder) = large("tabular") else { return };
    let (par, budget) = (Par::new(2).unwrap(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    for (name, target, step, pinned) in [
        ("boston", "medv", 1, [(Kind::Gp, 0.0, 0.0), (Kind::Rvm, 0.0, 0.0)]),
        ("abalone", "rings", 4, [(Kind::Gp, 0.0, 0.0), (Kind::Rvm, 0.0, 0.0)]),
    ] {
        let target = Some(ColumnRef::Name(target.into()));
        let options = ReadOptions { target, task: Task::Regression, ..Default::default() };
        let data = read_dataset(&folder.join(format!("{name}.csv.gz")), &options, None).unwrap();
        let [train, test] = split(&data);
        let train = train.select(&(0..train.n_rows()).step_by(step).collect::<Vec<_>>());
        let x = test.features.to_array(0..test.n_rows());
        for (kind, rmse, nlpd) in pinned {
            let fitted = Model::fit(&train, &ModelParams::new(kind), &training).unwrap();
            let predictions = fitted.model.predict_values_par(x.view(), &par).unwrap();
            let found = ValueReport::new(&predictions, test.values()).unwrap();
            let Some(Quality::Values(own)) = fitted.validation.map(|own| own.quality()) else {
                panic!("{kind}")
            };
            println!("{name} {kind}: {found:?}, of itself {own:?}");
            assert!(found.rmse < 1.03 * rmse && found.nlpd < nlpd + 0.03, "{name} {kind}: {found:?}");
            assert!(own.rows == train.n_rows(), "{name} {kind}: {own:?}");
            assert!((own.rmse / found.rmse - 1.0).abs() < 0.25, "{name} {kind}: {own:?} {found:?}");
        }
    }
}

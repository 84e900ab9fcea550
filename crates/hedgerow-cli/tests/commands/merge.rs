//! `hedgerow merge`.

use std::fmt::Write as _;

use crate::program::{Program, data_file, holds};
use hedgerow::core::Dataset;
use hedgerow::io::{ReadOptions, read_dataset};

/// The digits as a table, some rows of them.
fn digits(chosen: impl Fn(usize, usize) -> bool) -> String {
    let options = ReadOptions { target: Some("digit".parse().unwrap()), ..Default::default() };
    let data: Dataset = read_dataset(&data_file("digits.csv.gz"), &options, None).unwrap();
    let mut text: String = data.schema.columns.iter().map(|column| format!("{},", column.name)).collect();
    text.push_str("digit\n");
    for row in (0..data.n_rows()).filter(|&row| chosen(row, data.labels()[row].index())) {
        for value in data.features.to_array(row..row + 1) {
            write!(text, "{value},").unwrap();
        }
        writeln!(text, "{}", data.schema.labels.name(data.labels()[row])).unwrap();
    }
    text
}

/// The share of all rows of a file that a model gets right; rows of classes it does not know are wrong predictions.
fn accuracy(program: &Program, model: &str, data: &str, n_rows: usize) -> f64 {
    let result = program.json(&format!("evaluate {model} {data}"));
    result["metrics"]["accuracy"].as_f64().unwrap() * result["rows"].as_f64().unwrap() / n_rows as f64
}

#[test]
fn models_of_different_classes_make_one_of_all_classes_and_no_less_accurate() {
    let program = Program::new();
    program.write("low.csv", digits(|row, label| row % 2 == 0 && label <= 5));
    program.write("high.csv", digits(|row, label| row % 2 == 0 && label >= 4));
    let test = digits(|row, _| row % 2 == 1);
    let n_rows = test.lines().count() - 1;
    program.write("test.csv", test);
    for part in ["low", "high"] {
        program.ok(&format!("fit {part}.csv --target digit --set n_trees=60 --out {part}.hedgerow"));
    }
    let merged = program.json("merge low.hedgerow high.hedgerow --out both.hedgerow");
    let mut classes: Vec<String> = serde_json::from_value(merged["classes"].clone()).unwrap();
    classes.sort();
    assert_eq!(classes, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    assert_eq!((&merged["trees"], &merged["parts"]), (&120.into(), &2.into()));

    let [low, high, both] = ["low", "high", "both"]
        .map(|part| accuracy(&program, &format!("{part}.hedgerow"), "test.csv", n_rows));
    println!("accuracy on all classes: {low:.4} and {high:.4} apart, {both:.4} together");
    assert!(both >= low.max(high), "{both} is less than {low} or {high}");
    assert!(both > 0.9, "{both}: the merged model does not know all classes well");
}

#[test]
fn models_of_the_same_classes_make_a_better_one() {
    let program = Program::new();
    program.write("test.csv", digits(|row, _| row % 3 == 2));
    for part in 0..2 {
        program.write("part.csv", digits(|row, _| row % 3 == part));
        program
            .ok(&format!("fit part.csv --target digit --set n_trees=30 --seed {part} --out {part}.hedgerow"));
    }
    let text = program.ok("merge 0.hedgerow 1.hedgerow --out both.hedgerow");
    holds(&text, &["forest of 60 trees from 2 models", "saved to both.hedgerow"]);
    let [first, second, both] =
        ["0", "1", "both"].map(|part| accuracy(&program, &format!("{part}.hedgerow"), "test.csv", 599));
    assert!(both >= first.max(second), "{both} is less than {first} or {second}");
}

#[test]
fn models_of_different_columns_are_refused() {
    let program = Program::with_ripley();
    program.ok("fit {data}/titanic.csv.gz --target Survived --set n_trees=3 --out other.hedgerow");
    program.ok("fit {data}/banana.csv.gz --target label --set n_trees=3 --out renamed.hedgerow");
    let message = program.refused("merge m.hedgerow other.hedgerow --out both.hedgerow");
    holds(&message, &["cannot merge", "columns", "2", "3"]);
    let message = program.refused("merge m.hedgerow renamed.hedgerow --out both.hedgerow");
    holds(&message, &["cannot merge", "\"xs\"", "\"x1\""]);
    assert!(!program.path("both.hedgerow").exists());
}

#[test]
fn one_model_cannot_be_merged() {
    let program = Program::with_ripley();
    program.refused("merge m.hedgerow --out both.hedgerow");
    holds(&program.refused("merge m.hedgerow nowhere.hedgerow --out b.hedgerow"), &["nowhere.hedgerow"]);
    let message = program.refused("merge m.hedgerow m.hedgerow --out missing/both.hedgerow");
    holds(&message, &["missing"]);
}

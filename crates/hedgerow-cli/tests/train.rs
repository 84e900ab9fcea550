//! `hedgerow train`.
#![allow(clippy::unwrap_used)]

mod program;

use program::{Program, holds};
use serde_json::{Value, json};

const IVM: &str =
    "{data}/ripley_train.csv.gz --target yc --model ivm --set n_active=20 --set signal_variance=8";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn a_model_is_trained_in_slices_judged_and_saved() {
    let program = Program::new();
    let line = "train {data}/ripley_train.csv.gz --target yc --model forest-ivm --set n_trees=20 --set n_active=20 \
                --test {data}/ripley_test.csv.gz --curve curve.csv --out m.hedgerow";
    let text = program.ok(line);
    holds(
        &text,
        &[
            "forest-ivm of 20 trees",
            "weakest first",
            "attraction",
            "machine 1",
            "trees 1",
            "rows not learnt: accuracy",
        ],
    );
    holds(&text, &["test, 1,000 rows:", "saved to m.hedgerow with its rows, ready to learn more"]);
    let result = program.json(line);
    assert_eq!(
        (&result["model"], &result["rows"], &result["stop"]),
        (&json!("forest-ivm"), &json!(250), &json!("done"))
    );
    assert!(
        number(&result["metrics"]["accuracy"]) > 0.87 && number(&result["judged"]["rows"]) > 40.0,
        "{result}"
    );
    let jobs = result["jobs"].as_array().unwrap();
    assert!(
        jobs.iter()
            .any(|job| job["kind"] == "machine" && job["points"] == 20 && number(&job["slices"]) > 0.0)
    );
    assert!(jobs.iter().all(|job| job["problem"].is_null() && job["state"] == "done"), "{result}");
    let curve = String::from_utf8(program.read("curve.csv")).unwrap();
    let snapshots = result["snapshots"].as_array().unwrap();
    assert_eq!(curve.lines().count(), snapshots.len() + 1);
    assert!(snapshots.iter().all(|point| number(&point["test_macro_accuracy"]) > 0.5));
    let judged = program.json("evaluate m.hedgerow {data}/ripley_test.csv.gz");
    assert_eq!(judged["metrics"], result["metrics"]);
    program.ok("update m.hedgerow {data}/ripley_test.csv.gz");
}

#[test]
fn rounds_give_the_same_file_for_any_number_of_threads_and_policies_differ_by_name_only() {
    let program = Program::new();
    for policy in ["weakest", "round-robin"] {
        for threads in [1, 2, 3] {
            let line = format!(
                "train {IVM} --rounds 12 --policy {policy} --threads {threads} --out {threads}.hedgerow"
            );
            let result = program.json(&line);
            assert_eq!(result["policy"], policy);
        }
        assert_eq!(program.read("1.hedgerow"), program.read("2.hedgerow"), "{policy}");
        assert_eq!(program.read("1.hedgerow"), program.read("3.hedgerow"), "{policy}");
    }
}

#[test]
fn leaves_of_trees_are_trained_in_slices() {
    let program = Program::new();
    let line = "train {data}/banana.csv.gz --target label --model leaf-gp --set n_trees=6 --set leaf_rows=100 --rounds 400";
    let text = program.ok(&format!("{line} --out 1.hedgerow --threads 1"));
    holds(
        &text,
        &["leaf-gp", "leaves 1", "trees 1", "search 1", "rows not learnt: accuracy", "ready to learn more"],
    );
    let result = program.json(&format!("{line} --out 2.hedgerow --threads 2"));
    assert_eq!(program.read("1.hedgerow"), program.read("2.hedgerow"));
    let jobs = result["jobs"].as_array().unwrap();
    let leaves: Vec<&Value> = jobs.iter().filter(|job| job["kind"] == "leaves").collect();
    assert!(leaves.len() == 6 && leaves.iter().all(|job| job["points"] == job["goal"]), "{result}");
    assert!(number(&result["judged"]["accuracy"]) > 0.85, "{result}");
    let fitted = program.json(
        "fit {data}/banana.csv.gz --target label --model leaf-gp --set n_trees=6 --set leaf_rows=100 --holdout 0.1",
    );
    let difference = number(&fitted["metrics"]["accuracy"]) - number(&result["judged"]["accuracy"]);
    assert!(difference.abs() < 0.03, "{difference}");
}

#[test]
fn limits_are_kept_and_bad_requests_refused() {
    let program = Program::new();
    let timed =
        "train {data}/banana.csv.gz --target label --set n_trees=0 --max-seconds 1 --frozen --out m.hedgerow";
    let result = program.json(timed);
    assert_eq!((&result["stop"], &result["rows_remembered"]), (&json!("time"), &Value::Null));
    assert!(number(&result["trees"]) > 1.0 && number(&result["seconds"]["fit"]) < 10.0, "{result}");
    holds(&program.refused("train x.csv --model gp"), &["gp", "forest-ivm"]);
    holds(&program.refused("train x.csv --policy best"), &["best", "round-robin"]);
    holds(&program.refused("train x.csv --model ivm --set n_active=0"), &["n_active", "1 or more"]);
    holds(
        &program
            .refused("train {data}/ripley_train.csv.gz --target yc --model forest-ivm --set combine=route"),
        &["combine", "pool or gate"],
    );
}

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
fn a_model_is_trained_validated_and_saved() {
    let program = Program::new();
    let line = "train {data}/ripley_train.csv.gz --target yc --model forest-ivm --set n_trees=20 --set n_active=20 \
                --test {data}/ripley_test.csv.gz --curve curve.csv --out m.hedgerow";
    let text = program.ok(line);
    holds(
        &text,
        &[
            "forest-ivm of 20 trees",
            "policy gain",
            "attraction",
            "active set 1",
            "trees 1",
            "validation, 246 rows: accuracy",
        ],
    );
    holds(&text, &["test, 1,000 rows:", "saved to m.hedgerow with its rows, ready to learn more"]);
    let result = program.json(line);
    assert_eq!(
        (&result["model"], &result["rows"], &result["stop"]),
        (&json!("forest-ivm"), &json!(250), &json!("done"))
    );
    assert!(number(&result["metrics"]["accuracy"]) > 0.89, "{result}");
    assert!(number(&result["validation"]["rows"]) > 200.0, "{result}");
    // The same as a fit, to the last digits of what is printed.
    let fitted = program.json(
        "fit {data}/ripley_train.csv.gz --target yc --model forest-ivm --set n_trees=20 --set n_active=20 \
         --test {data}/ripley_test.csv.gz",
    );
    for name in ["accuracy", "log_loss"] {
        let [a, b] = [&fitted, &result].map(|result| number(&result["metrics"][name]));
        assert!((a - b).abs() < 1e-3, "{name}: {a} fitted, {b} trained");
    }
    let jobs = result["jobs"].as_array().unwrap();
    assert!(
        jobs.iter()
            .any(|job| job["kind"] == "active set" && job["points"] == 20 && number(&job["slices"]) > 0.0)
    );
    assert!(jobs.iter().all(|job| job["problem"].is_null() && job["state"] == "done"), "{result}");
    let curve = String::from_utf8(program.read("curve.csv")).unwrap();
    let snapshots = result["snapshots"].as_array().unwrap();
    assert_eq!(curve.lines().count(), snapshots.len() + 1);
    assert!(snapshots.iter().all(|point| number(&point["test_balanced_accuracy"]) > 0.8));
    let evaluated = program.json("evaluate m.hedgerow {data}/ripley_test.csv.gz");
    assert_eq!(evaluated["metrics"], result["metrics"]);
    program.ok("update m.hedgerow {data}/ripley_test.csv.gz");
}

#[test]
fn rounds_give_the_same_file_for_any_number_of_threads_and_policies_differ_by_name_only() {
    let program = Program::new();
    for policy in ["weakest", "gain", "round-robin"] {
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
fn leaf_gps_are_trained_leaf_by_leaf() {
    let program = Program::new();
    let line = "train {data}/banana.csv.gz --target label --model leaf-gp --set n_trees=6 --set leaf_rows=100 --rounds 400";
    let text = program.ok(&format!("{line} --out 1.hedgerow --threads 1"));
    holds(
        &text,
        &["leaf-gp", "leaves 1", "trees 1", "kernel search 1", "validation, ", "ready to learn more"],
    );
    let result = program.json(&format!("{line} --out 2.hedgerow --threads 2"));
    assert_eq!(program.read("1.hedgerow"), program.read("2.hedgerow"));
    let jobs = result["jobs"].as_array().unwrap();
    let leaves: Vec<&Value> = jobs.iter().filter(|job| job["kind"] == "leaves").collect();
    assert!(leaves.len() == 6 && leaves.iter().all(|job| job["points"] == job["goal"]), "{result}");
    assert!(number(&result["validation"]["accuracy"]) > 0.89, "{result}");
    let fitted = program.json(
        "fit {data}/banana.csv.gz --target label --model leaf-gp --set n_trees=6 --set leaf_rows=100 --holdout 0.1",
    );
    let difference = number(&fitted["metrics"]["accuracy"]) - number(&result["validation"]["accuracy"]);
    assert!(difference.abs() < 0.02, "{difference}");
}

#[test]
fn ivms_are_assigned_to_predictions_of_the_forest() {
    let program = Program::new();
    let line = "train {data}/banana.csv.gz --target label --model forest-ivm --set combine=route --set n_trees=20 --set n_active=30 \
                --rounds 400";
    let text = program.ok(&format!("{line} --out 1.hedgerow --threads 1"));
    holds(&text, &["forest-ivm of 20 trees", "assignment", "active set", "validation, "]);
    let result = program.json(&format!("{line} --out 2.hedgerow --threads 2"));
    assert_eq!(program.read("1.hedgerow"), program.read("2.hedgerow"));
    assert!(number(&result["validation"]["accuracy"]) > 0.885, "{result}");
    program.ok("info 1.hedgerow");
    program.ok("update 1.hedgerow {data}/banana.csv.gz");
}

#[test]
fn a_gp_with_the_kernel_of_a_forest_is_trained() {
    let program = Program::new();
    let line =
        "train {data}/banana.csv.gz --target label --model forest-kernel --set n_trees=20 --rounds 200";
    let text = program.ok(&format!("{line} --out 1.hedgerow --threads 1"));
    holds(&text, &["forest-kernel", "gp", "trees 1", "validation, ", "ready to learn more"]);
    let result = program.json(&format!("{line} --out 2.hedgerow --threads 2"));
    assert_eq!(program.read("1.hedgerow"), program.read("2.hedgerow"));
    assert!(number(&result["validation"]["accuracy"]) > 0.885, "{result}");
    program.ok("update 1.hedgerow {data}/banana.csv.gz");
    let sparse = program.json(&format!("{line} --set learner=ivm --set n_active=40"));
    assert!(number(&sparse["validation"]["accuracy"]) > 0.88, "{sparse}");
}

#[test]
fn limits_are_kept_and_bad_requests_refused() {
    let program = Program::new();
    let timed =
        "train {data}/banana.csv.gz --target label --set n_trees=0 --max-seconds 1 --frozen --out m.hedgerow";
    let result = program.json(timed);
    assert_eq!((&result["stop"], &result["rows_retained"]), (&json!("time"), &Value::Null));
    assert!(number(&result["trees"]) > 1.0 && number(&result["seconds"]["fit"]) < 10.0, "{result}");
    holds(&program.refused("train x.csv --model gp"), &["gp", "forest-ivm"]);
    holds(&program.refused("train x.csv --policy best"), &["best", "round-robin"]);
    holds(&program.refused("train x.csv --model ivm --set n_active=0"), &["n_active", "1 or more"]);
}

#[test]
fn an_engine_learns_from_a_store_and_goes_on_where_it_stopped() {
    let program = Program::new();
    let line = "train {data}/banana.csv.gz --target label --set n_trees=10 --store kept --out m.hedgerow";
    let text = program.ok(line);
    // How many trees: the last model made while rows came in may not have been better than one before it.
    let wanted = [
        "forest of ",
        " trees from 5,300 rows",
        "kept in kept: 5,300 rows, learner train",
        "saved to m.hedgerow",
    ];
    holds(&text, &wanted);
    let info = program.json("store info kept");
    assert_eq!((&info["rows"], &info["learners"][0]["name"]), (&json!(5300), &json!("train")));
    assert_eq!(
        (&info["learners"][0]["model"], &info["learners"][0]["cursor"]),
        (&json!("forest"), &json!(5300))
    );
    // Without data and settings: those of the store, and no worse than what was there.
    let again = program.json("train --store kept --out again.hedgerow");
    assert_eq!((&again["store"]["resumed_at"], &again["rows"]), (&json!(5300), &json!(5300)));
    assert_eq!(again["params"]["n_trees"], 10);
    // A row told to be of the other class, and a row more.
    program.write("labels.csv", "1,1\n2,-1\n3,1\n4,-1\n");
    program.ok("store label kept labels.csv");
    let third = program.json("train --store kept --max-seconds 20");
    assert!(
        number(&third["store"]["events"]) > 5300.0 && number(&third["validation"]["accuracy"]) > 0.86,
        "{third}"
    );
    holds(&program.refused("train --store kept --model ivm"), &["train", "--model", "forest", "ivm"]);
    let other = program.json("train --store kept --model ivm --set n_active=10 --learner second --rounds 60");
    assert_eq!((&other["model"], &other["store"]["learner"]), (&json!("ivm"), &json!("second")));
    holds(&program.refused("train --store nowhere"), &["nowhere", "give the data"]);
    holds(&program.refused("train"), &["<DATA>"]);
}

#[test]
fn rounds_from_a_store_give_the_same_file_and_a_bad_row_ends_the_input_only() {
    let program = Program::new();
    for threads in [1, 2] {
        program.ok(&format!(
            "train {IVM} --rounds 12 --threads {threads} --store kept{threads} --out {threads}.hedgerow"
        ));
    }
    assert_eq!(program.read("1.hedgerow"), program.read("2.hedgerow"));
    let mut rows = String::from("a,b,y\n");
    for i in 0..2500 {
        rows.push_str(&format!("{},{},{}\n", i % 17, i % 5, if i % 17 > 8 { "x" } else { "o" }));
    }
    program.write("bad.csv", format!("{rows}1,oops,x\n"));
    let errors = program.refused("train bad.csv --target y --set n_trees=5 --store bad --out bad.hedgerow");
    holds(&errors, &["oops"]);
    let info = program.json("store info bad");
    assert!(number(&info["rows"]) >= 2000.0, "{info}");
    assert!(program.names().contains(&"bad.hedgerow".to_string()), "what came before is learnt and saved");
}

#[test]
fn a_training_can_be_watched_from_outside() {
    let program = Program::new();
    let none = program.output("info --live m.hedgerow");
    assert_eq!(none.status.code(), Some(1));
    holds(&String::from_utf8_lossy(&none.stdout), &["nothing is being trained", "m.hedgerow.live.json"]);
    let line =
        "train {data}/banana.csv.gz --target label --set n_trees=0 --max-seconds 6 --out m.hedgerow --frozen";
    let mut child = program.std_command(line).stdout(std::process::Stdio::null()).spawn().unwrap();
    let start = std::time::Instant::now();
    let seen = loop {
        let output = program.output("info --live m.hedgerow --json");
        let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
        if seen["is_running"] == true && !seen["validation"].is_null() {
            assert_eq!(output.status.code(), Some(0));
            break seen;
        }
        assert!(start.elapsed().as_secs() < 60, "{seen}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert_eq!((&seen["model"], &seen["state"]), (&json!("forest"), &json!("training")));
    assert!(number(&seen["left_seconds"]) <= 6.0 && seen["process"] == child.id());
    let jobs = seen["jobs"].as_array().unwrap();
    assert!(jobs.iter().any(|job| job["kind"] == "trees" && job["attraction"].is_number()), "{seen}");
    let text = program.output("info --live m.hedgerow");
    holds(
        &String::from_utf8_lossy(&text.stdout),
        &["forest, training, process", "attraction", "trees 1", "validation accuracy"],
    );
    assert!(child.wait().unwrap().success());
    assert!(!program.names().iter().any(|name| name.contains("live")), "{:?}", program.names());
    // What a process left that was killed.
    let mut left = seen;
    left["written"] = json!(number(&left["written"]) - 100.0);
    program.write("m.hedgerow.live.json", left.to_string());
    let stale = program.output("info --live m.hedgerow");
    assert_eq!(stale.status.code(), Some(1));
    holds(
        &String::from_utf8_lossy(&stale.stdout),
        &["nothing is being trained", "ago by process", "attraction"],
    );
}

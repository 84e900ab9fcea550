//! The Informative Vector Machine on the command line.

use crate::program::{Program, holds};
use serde_json::{Value, json};

const RIPLEY: &str = "{data}/ripley_train.csv.gz --target yc --model ivm --set n_active=28";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// Fails unless nothing is told that only forests have.
#[track_caller]
fn is_no_forest(result: &Value) {
    for key in
        ["trees", "nodes", "height", "heights", "calibrated", "oob_accuracy", "trees_tried", "leaf_power"]
    {
        assert!(result.get(key).is_none(), "{key}: {result}");
    }
}

#[test]
fn parameters_are_its_own() {
    let program = Program::new();
    let text = program.ok("fit --model ivm --help-params");
    holds(&text, &["n_active", "length_scale", "signal_variance", "noise_variance", "seed"]);
    assert!(!text.contains("n_trees"), "{text}");
    let message = program.refused("fit nowhere.csv --model ivm --set n_trees=3");
    holds(&message, &["n_trees", "n_active"]);
    holds(&program.refused("fit nowhere.csv --model ivm --set n_active=0"), &["n_active", "1 or more"]);
    holds(&program.refused("stream nowhere.csv --model ivm --set noise_variance=0"), &["noise_variance"]);
    holds(&program.ok("fit --help"), &["forest", "ivm"]);
}

#[test]
fn what_only_forests_can_do_is_refused_with_the_kinds_that_can() {
    let program = Program::new();
    let message = program.refused("fit nowhere.csv --model ivm --oob oob.csv");
    holds(&message, &["--oob", "ivm", "forest"]);
}

#[test]
fn fit_tells_what_it_made_as_text_and_as_json() {
    let program = Program::new();
    let line = format!("fit {RIPLEY} --test {{data}}/ripley_test.csv.gz --seed 3 --out m.hedgerow");
    let text = program.ok(&line);
    holds(&text, &["ivm of 28 active rows from 250 rows, 2 features, 2 classes", "kernel: length_scale"]);
    holds(&text, &["test, 1,000 rows:", "saved to m.hedgerow with its rows, ready to learn more"]);
    let result = program.json(&line);
    is_no_forest(&result);
    assert_eq!((&result["model"], &result["active_rows"]), (&json!("ivm"), &json!(28)));
    assert_eq!((&result["params"]["n_active"], &result["params"]["seed"]), (&json!(28), &json!(3)));
    assert!(number(&result["kernel"]["length_scale"]) > 0.0, "{result}");
    assert!(number(&result["kernel"]["signal_variance"]) > 0.0, "{result}");
    assert_eq!((&result["rows"], &result["features"]), (&json!(250), &json!(2)));
    assert_eq!(result["bytes"], program.read("m.hedgerow").len());
    assert_eq!(result["metrics_from"], "test");
    for key in ["accuracy", "balanced_accuracy", "log_loss", "brier", "ece", "auc", "confusion"] {
        assert!(!result["metrics"][key].is_null(), "{key}");
    }
    assert!(number(&result["metrics"]["accuracy"]) > 0.87, "{result}");
    // Without held-out rows there are no metrics, and the output says how to get some.
    let without_test = program.json(&format!("fit {RIPLEY}"));
    assert!(without_test["metrics"].is_null() && without_test["metrics_from"].is_null());
    holds(&program.ok(&format!("fit {RIPLEY}")), &["no metrics", "--holdout", "not saved"]);
    assert_eq!(program.json(&format!("fit {RIPLEY} --holdout 0.2"))["metrics_rows"], 50);
}

#[test]
fn threads_do_not_change_the_file() {
    let program = Program::new();
    for threads in 1..=2 {
        program.ok(&format!("fit {RIPLEY} --threads {threads} --out {threads}.hedgerow"));
    }
    assert!(program.read("1.hedgerow") == program.read("2.hedgerow"));
    program.ok(&format!("fit {RIPLEY} --set length_scale=0.5 --out other.hedgerow"));
    assert!(program.read("1.hedgerow") != program.read("other.hedgerow"));
}

#[test]
fn a_saved_ivm_is_evaluated_used_and_described() {
    let program = Program::new();
    let line = format!("fit {RIPLEY} --test {{data}}/ripley_test.csv.gz --out m.hedgerow");
    let fitted = program.json(&line);
    let evaluated = program.json("evaluate m.hedgerow {data}/ripley_test.csv.gz");
    assert_eq!(evaluated["metrics"], fitted["metrics"]);
    assert_eq!((&evaluated["model"], &evaluated["params"]), (&json!("ivm"), &fitted["params"]));
    program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --proba --out p.csv");
    let predictions = String::from_utf8(program.read("p.csv")).unwrap();
    assert_eq!(
        (predictions.lines().next(), predictions.lines().count()),
        (Some("prediction,probability,p_0,p_1"), 1001)
    );
    let info = program.json("info m.hedgerow");
    is_no_forest(&info);
    assert_eq!((&info["active_rows"], &info["kernel"]), (&json!(28), &fitted["kernel"]));
    assert_eq!(info["learning"]["rows_learnt"], 250);
    holds(
        &program.ok("info m.hedgerow"),
        &["ivm of 28 active rows", "kernel: length_scale", "keeps learning: 250 rows"],
    );
    program.ok("evaluate m.hedgerow {data}/ripley_test.csv.gz --importances --report r.html");
    let page = String::from_utf8(program.read("r.html")).unwrap();
    holds(
        &page,
        &["Active rows", "Length scale", "Decision map", "active rows", "The dots are the evaluated rows"],
    );
    assert!(!page.contains("Trees"));
}

#[test]
fn a_frozen_ivm_predicts_and_learns_no_more() {
    let program = Program::new();
    program.ok(&format!("fit {RIPLEY} --out m.hedgerow"));
    let result = program.json(&format!("fit {RIPLEY} --frozen --out f.hedgerow"));
    assert!(result["rows_retained"].is_null(), "{result}");
    let predictions =
        |model: &str| program.ok(&format!("predict {model} {{data}}/ripley_test.csv.gz --proba"));
    assert_eq!(predictions("f.hedgerow"), predictions("m.hedgerow"));
    assert!(program.json("info f.hedgerow")["learning"].is_null());
    holds(&program.ok("info f.hedgerow"), &["cannot learn more"]);
    let message = program.refused("update f.hedgerow {data}/ripley_test.csv.gz");
    holds(&message, &["f.hedgerow", "cannot learn more"]);
}

#[test]
fn ivms_are_not_merged() {
    let program = Program::with_ripley();
    program.ok(&format!("fit {RIPLEY} --out ivm.hedgerow"));
    let message = program.refused("merge ivm.hedgerow ivm.hedgerow --out both.hedgerow");
    holds(&message, &["ivm", "cannot be merged", "forest"]);
    let message = program.refused("merge m.hedgerow ivm.hedgerow --out both.hedgerow");
    holds(&message, &["cannot merge", "kinds", "forest", "ivm"]);
    assert!(!program.path("both.hedgerow").exists());
}

#[test]
fn gaps_and_categories_need_no_preparation() {
    let program = Program::new();
    program.ok("fit {data}/titanic.csv.gz --target Survived --model ivm --set n_active=20 --out m.hedgerow");
    let result = program.json("evaluate m.hedgerow {data}/titanic.csv.gz");
    assert!(number(&result["metrics"]["accuracy"]) > 0.75, "{result}");
    program.write("gaps.csv", "Class,Sex,Age\n1st,,Adult\n,Female,\n");
    assert_eq!(program.ok("predict m.hedgerow gaps.csv").lines().count(), 3);
}

#[test]
fn limits_end_the_work_with_a_model() {
    let program = Program::new();
    let line = "fit {data}/digits.csv.gz --target digit --model ivm --max-seconds 1 --out m.hedgerow";
    let result = program.json(line);
    assert!(["time", "done"].contains(&result["stop"].as_str().unwrap()), "{result}");
    program.ok("predict m.hedgerow {data}/digits.csv.gz --out p.csv");
    holds(&program.refused(&format!("fit {RIPLEY} --max-memory 1MB")), &["needs at least", "1.0 MB"]);
}

#[test]
fn a_stream_is_predicted_and_learnt() {
    let program = Program::new();
    let line = "stream {data}/banana.csv.gz --target label --model ivm --set n_active=30 --batch-rows 1000";
    let result = program.json(&format!("{line} --out m.hedgerow --report r.html"));
    is_no_forest(&result);
    assert_eq!((&result["model"], &result["rows"]), (&json!("ivm"), &json!(5300)));
    assert!(number(&result["active_rows"]) > 0.0);
    assert!(result["active_rows_tried"].is_u64() && result["active_rows_replaced"].is_u64(), "{result}");
    assert_eq!(result["batches"].as_array().unwrap().len(), 6);
    assert_eq!(result["rows_learnt"], 5300);
    assert!(number(&result["prequential"]["accuracy"]) > 0.7, "{result}");
    let last = &result["batches"][5];
    assert!(number(&last["prequential_accuracy"]) > 0.8, "{last}");
    let page = String::from_utf8(program.read("r.html")).unwrap();
    holds(&page, &["Learning curve", "Decision map", "by an Informative Vector Machine"]);
    let text = program.ok(line);
    holds(
        &text,
        &["ivm of ", "active rows", "new active rows tried", "each row predicted before it was learnt"],
    );
}

#[test]
fn an_update_goes_on_where_the_fit_ended() {
    let program = Program::new();
    program.ok(&format!("fit {RIPLEY} --out m.hedgerow"));
    let result = program.json("update m.hedgerow {data}/ripley_test.csv.gz --out m2.hedgerow");
    assert_eq!((&result["rows"], &result["rows_learnt"]), (&json!(1000), &json!(1250)));
    assert_eq!(program.json("info m2.hedgerow")["learning"]["rows_learnt"], 1250);
    // How rows are cut changes nothing.
    program.ok("stream {data}/ripley_test.csv.gz --from m.hedgerow --batch-rows 130 --out cut.hedgerow");
    assert!(program.read("m2.hedgerow") == program.read("cut.hedgerow"));
    // A class that is new to the model.
    program.write("new.csv", "xs,ys,yc\n5,5,new\n5.1,5,new\n0.1,0.2,0\n5,5.1,new\n");
    let result = program.json("update m2.hedgerow new.csv");
    assert_eq!(result["new_classes"], json!(["new"]));
    assert_eq!(program.json("info m2.hedgerow")["schema"]["labels"], json!(["0", "1", "new"]));
}

#[test]
fn a_stream_keeps_to_its_limits() {
    let program = Program::new();
    let line = "stream {data}/banana.csv.gz --target label --model ivm --set n_active=20";
    let result = program.json(&format!("{line} --max-memory 60MB"));
    assert_eq!(result["stop"], "done");
    if let Some(peak) = result["peak_memory_bytes"].as_u64() {
        assert!(peak < 60_000_000, "{peak}");
    }
    let message = program.refused(&format!("{line} --max-memory 12MB"));
    holds(&message, &["20 active rows a class", "12.0 MB"]);
}

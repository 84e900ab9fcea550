//! `hedgerow fit`.

use crate::program::{Program, holds};
use serde_json::Value;

#[track_caller]
fn has_keys(value: &Value, keys: &[&str]) {
    for key in keys {
        assert!(!value[key].is_null(), "{key} is missing in {value}");
    }
}

#[test]
fn help_of_every_verb_has_examples() {
    let program = Program::new();
    for verb in ["fit", "update", "predict", "evaluate", "stream", "info", "merge", "demo"] {
        let help = program.ok(&format!("{verb} --help"));
        holds(&help, &["Examples:", &format!("  hedgerow {verb} "), "--threads", "--json"]);
    }
    holds(&program.ok("--help"), &["fit", "update", "predict", "evaluate", "stream", "demo", "Exit codes"]);
}

#[test]
fn version_is_told() {
    assert_eq!(Program::new().ok("--version"), format!("hedgerow {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn unknown_words_are_an_error() {
    let program = Program::new();
    holds(&program.refused("fit x.csv --frobnicate"), &["--frobnicate"]);
    holds(&program.refused("prune m.hedgerow"), &["prune"]);
    holds(&program.refused("fit"), &["DATA"]);
    holds(&program.refused("fit x.csv --model oracle"), &["oracle", "forest"]);
}

#[test]
fn text_says_what_was_made_and_how_good_it_is() {
    let program = Program::new();
    let line = "fit {data}/ripley_train.csv.gz --target yc --set n_trees=20 --test {data}/ripley_test.csv.gz";
    let text = program.ok(&format!("{line} --out m.hedgerow"));
    let wanted = ["forest of 20 trees from 250 rows, 2 features, 2 classes", "test, 1,000 rows:", "accuracy"];
    holds(&text, &wanted);
    holds(&text, &["log-loss", "confusion", "saved to m.hedgerow"]);
    let text = program.ok("fit {data}/ripley_train.csv.gz --target yc --set n_trees=20");
    holds(&text, &["out of bag", "not saved: give --out"]);
    assert_eq!(program.names(), ["m.hedgerow"]);
}

#[test]
fn json_holds_every_key_of_the_contract() {
    let program = Program::new();
    let line = "fit {data}/ripley_train.csv.gz --target yc --set n_trees=20 --seed 3 --out m.hedgerow";
    let out_of_bag = program.json(line);
    let tested = program.json(&format!("{line} --test {{data}}/ripley_test.csv.gz"));
    for result in [&out_of_bag, &tested] {
        has_keys(result, &["model", "params", "rows", "features", "classes", "seconds", "bytes", "metrics"]);
        has_keys(&result["seconds"], &["read", "fit", "predict"]);
        let metrics = ["accuracy", "balanced_accuracy", "log_loss", "brier", "ece", "overconfidence"];
        has_keys(&result["metrics"], &metrics);
        has_keys(&result["metrics"], &["underconfidence", "auc", "confusion"]);
        assert_eq!(result["model"], "forest");
        assert_eq!((&result["params"]["n_trees"], &result["params"]["seed"]), (&20.into(), &3.into()));
        assert_eq!((&result["rows"], &result["features"]), (&250.into(), &2.into()));
        assert_eq!(result["classes"], serde_json::json!(["0", "1"]));
        assert_eq!(result["bytes"], program.read("m.hedgerow").len());
        if cfg!(target_os = "linux") {
            assert!(result["peak_memory_bytes"].as_u64().unwrap() > 1 << 20);
        }
    }
    assert_eq!(
        (&out_of_bag["metrics_from"], &tested["metrics_from"]),
        (&"out_of_bag".into(), &"test".into())
    );
    assert!(tested["metrics"]["accuracy"].as_f64().unwrap() > 0.85);
    let confusion: Vec<Vec<u64>> = serde_json::from_value(tested["metrics"]["confusion"].clone()).unwrap();
    assert_eq!(confusion.iter().flatten().sum::<u64>(), 1000);
}

#[test]
fn the_same_seed_gives_the_same_file_for_any_number_of_threads() {
    let program = Program::new();
    for threads in 1..=3 {
        program.ok(&format!(
            "fit {{data}}/titanic.csv.gz --target Survived --set n_trees=15 --seed 5 --threads {threads} \
             --out {threads}.hedgerow"
        ));
    }
    let one = program.read("1.hedgerow");
    assert!(one == program.read("2.hedgerow") && one == program.read("3.hedgerow"));
    program
        .ok("fit {data}/titanic.csv.gz --target Survived --set n_trees=15 --set seed=5 --out set.hedgerow");
    assert!(one == program.read("set.hedgerow"), "--seed N is --set seed=N");
    program.ok("fit {data}/titanic.csv.gz --target Survived --set n_trees=15 --seed 6 --out other.hedgerow");
    assert!(one != program.read("other.hedgerow"));
}

#[test]
fn wrong_parameters_are_explained_before_any_work() {
    let program = Program::new();
    // The data do not exist: the parameters come first.
    for (setting, wanted) in [
        ("n_tree=3", &["n_tree", "n_trees", "max_height"][..]),
        ("n_trees=many", &["n_trees", "whole number", "many"]),
        ("n_trees=-1", &["n_trees", "-1"]),
        ("min_leaf_rows=0", &["min_leaf_rows", "1 or more"]),
        ("criterion=ginni", &["criterion", "gini"]),
        ("bagging=fraction:2", &["bagging", "fraction"]),
        ("max_features=0", &["max_features", "1 or more"]),
        ("n_trees", &["NAME=VALUE"]),
        ("=3", &["NAME=VALUE"]),
    ] {
        holds(&program.refused(&format!("fit nowhere.csv --set {setting}")), wanted);
    }
    holds(&program.refused("fit nowhere.csv --max-memory lots"), &["--max-memory", "500MB"]);
    holds(&program.refused("fit nowhere.csv --max-seconds 0"), &["--max-seconds", "above 0"]);
}

#[test]
fn every_parameter_is_listed_with_its_meaning() {
    let program = Program::new();
    let text = program.ok("fit --help-params");
    let listed: Value = program.json("fit --model forest --help-params");
    let params = listed.as_array().unwrap();
    let fitted = program.json("fit {data}/ripley_train.csv.gz --target yc --set n_trees=2");
    let names: Vec<&String> = fitted["params"].as_object().unwrap().keys().collect();
    assert_eq!(params.len(), names.len());
    for (param, name) in params.iter().zip(names) {
        assert_eq!(param["name"], name.as_str());
        holds(&text, &[name, param["meaning"].as_str().unwrap()]);
        assert!(!param["default"].is_null(), "{name} has no default");
    }
}

#[test]
fn tables_of_other_shapes_are_read_as_told() {
    let program = Program::new();
    let rows: String =
        (0..60).map(|i| format!("{},{},{}\n", i % 2, i % 7, if i % 2 == 0 { 3 } else { 9 })).collect();
    program.write("bare.csv", &rows);
    let result = program.json("fit bare.csv --no-header --target 0 --set n_trees=5");
    assert_eq!((&result["rows"], &result["features"]), (&60.into(), &2.into()));
    let result = program.json("fit bare.csv --no-header --target 0 --ignore 1 --set n_trees=5");
    assert_eq!(result["features"], 1);
    program.write("blanks", rows.replace(',', " "));
    assert_eq!(program.json("fit blanks --format txt --target 0 --set n_trees=5")["rows"], 60);
}

#[test]
fn out_of_bag_predictions_are_saved_for_every_row() {
    let program = Program::new();
    program.ok("fit {data}/ripley_train.csv.gz --target yc --set n_trees=20 --oob oob.csv");
    let text = String::from_utf8(program.read("oob.csv")).unwrap();
    assert_eq!(text.lines().next(), Some("n_trees,p_0,p_1"));
    assert_eq!(text.lines().count(), 251);
}

#[test]
fn rows_without_a_label_can_be_left_out() {
    let program = Program::new();
    // Every third label is missing, in three spellings.
    let row = |i: usize| match i % 3 {
        0 => format!("{},{},{}\n", i % 10, i * 7 % 31, ["", "?", "NA"][i / 3 % 3]),
        _ => format!("{},{},{}\n", i % 10, i * 7 % 31, if i % 10 < 5 { "low" } else { "high" }),
    };
    let part = |keep: fn(usize) -> bool| (0..90).filter(|i| keep(*i)).map(row).collect::<String>();
    program.write("all.csv", format!("size,width,y\n{}", part(|_| true)));
    program.write("labelled.csv", format!("size,width,y\n{}", part(|i| i % 3 > 0)));
    let message = program.refused("fit all.csv --target y");
    holds(&message, &["row 1 (line 2)", "column \"y\"", "label is missing", "--skip-unlabelled"]);
    for verb in ["fit", "train --rounds 50"] {
        let line = |file: &str| format!("{verb} {file} --target y --set n_trees=5 --out m.hedgerow");
        let result = program.json(&format!("{} --skip-unlabelled", line("all.csv")));
        assert_eq!((&result["rows"], &result["rows_without_label"]), (&60.into(), &30.into()), "{verb}");
        let skipped = program.json("predict m.hedgerow labelled.csv --proba --out p.csv");
        assert_eq!(skipped["rows"], 60);
        let predictions = program.read("p.csv");
        assert_eq!(program.json(&line("labelled.csv"))["rows_without_label"], 0);
        program.ok("predict m.hedgerow labelled.csv --proba --out p.csv");
        assert_eq!(predictions, program.read("p.csv"), "{verb}: the rows without a label changed the model");
    }
    let output = program.output("fit all.csv --target y --set n_trees=2 --skip-unlabelled");
    holds(&String::from_utf8(output.stderr).unwrap(), &["30 rows without a label were left out"]);
    program.write("none.csv", "size,y\n1,\n2,?\n");
    holds(&program.refused("fit none.csv --target y --skip-unlabelled"), &["all 2 rows lack a label"]);
}

#[test]
fn numbers_to_predict_may_be_missing_too() {
    let program = Program::new();
    let row = |i: u16| {
        format!(
            "{},{}\n",
            f64::from(i) / 9.0,
            if i.is_multiple_of(4) { String::new() } else { (i * i).to_string() }
        )
    };
    program.write("t.csv", format!("x,y\n{}", (0..80).map(row).collect::<String>()));
    let result = program.json("fit t.csv --target y --model rvm --task regression --skip-unlabelled");
    assert_eq!((&result["rows"], &result["rows_without_label"]), (&60.into(), &20.into()));
}

//! `hedgerow evaluate`.

use crate::program::{Program, holds};

#[test]
fn figures_are_those_that_fit_tells_about_the_same_rows() {
    let program = Program::new();
    let test = "{data}/ripley_test.csv.gz";
    let fitted = program.json(&format!(
        "fit {{data}}/ripley_train.csv.gz --target yc --set n_trees=20 --out m.hedgerow --test {test}"
    ));
    let evaluated = program.json(&format!("evaluate m.hedgerow {test}"));
    for key in ["model", "params", "features", "classes", "bytes", "metrics"] {
        assert_eq!(evaluated[key], fitted[key], "{key}");
    }
    assert_eq!(evaluated["rows"], 1000);
    for key in ["read", "fit", "predict"] {
        assert!(evaluated["seconds"][key].is_number(), "{key}");
    }
    assert!(evaluated["peak_memory_bytes"].is_number() || !cfg!(target_os = "linux"));
}

#[test]
fn text_shows_the_figures_and_the_confusions() {
    let program = Program::with_ripley();
    let text = program.ok("evaluate m.hedgerow {data}/ripley_test.csv.gz");
    holds(&text, &["1,000 rows predicted", "accuracy", "log-loss", "overconfidence", "confusion"]);
}

#[test]
fn accuracy_below_the_wanted_one_is_a_negative_result() {
    let program = Program::with_ripley();
    let evaluate = |least: &str| {
        program.output(&format!("evaluate m.hedgerow {{data}}/ripley_test.csv.gz --at-least {least}"))
    };
    assert_eq!(evaluate("0.8").status.code(), Some(0));
    let output = evaluate("0.99");
    assert_eq!(output.status.code(), Some(1));
    assert!(!output.stdout.is_empty(), "the figures are told all the same");
    holds(&String::from_utf8(output.stderr).unwrap(), &["accuracy", "below the 0.99"]);
    assert_eq!(evaluate("1.5").status.code(), Some(2));
}

#[test]
fn labels_the_model_does_not_know_are_reported() {
    let program = Program::with_ripley();
    program.write("some.csv", "xs,ys,yc\n0.1,0.2,0\n0.3,0.9,1\n0.1,0.1,7\n0.1,0.1,7\n0.2,0.2,\n");
    let output = program.output("evaluate m.hedgerow some.csv --json");
    assert!(output.status.success());
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["rows"], 2);
    assert_eq!(result["left_out"]["unknown_labels"]["7"], 2);
    assert_eq!(result["left_out"]["without_label"], 1);
    holds(&String::from_utf8(output.stderr).unwrap(), &["2 rows", "\"7\"", "1 rows without a label"]);

    program.write("none.csv", "xs,ys,yc\n0.1,0.2,8\n0.3,0.9,9\n");
    holds(&program.refused("evaluate m.hedgerow none.csv"), &["none.csv", "\"8\"", "0, 1"]);
}

#[test]
fn rows_without_labels_cannot_be_evaluated() {
    let program = Program::with_ripley();
    program.write("bare.csv", "xs,ys\n0.1,0.2\n");
    holds(&program.refused("evaluate m.hedgerow bare.csv"), &["bare.csv", "no labels", "\"yc\""]);
}

#[test]
fn the_worth_of_columns_is_measured() {
    let program = Program::with_titanic();
    let result = program.json("evaluate m.hedgerow {data}/titanic.csv.gz --importances");
    let importances = result["importances"].as_array().unwrap();
    assert_eq!(importances.len(), 3);
    assert_eq!(importances[0][0], "Sex");
}

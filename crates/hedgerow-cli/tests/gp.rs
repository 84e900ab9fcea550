//! The exact Gaussian process on the command line.
#![allow(clippy::unwrap_used)]

mod program;

use program::{Program, holds};
use serde_json::json;

const RIPLEY: &str = "{data}/ripley_train.csv.gz --target yc --model gp";

#[test]
fn it_is_fitted_evaluated_used_and_described() {
    let program = Program::new();
    let line = format!("fit {RIPLEY} --test {{data}}/ripley_test.csv.gz --out m.hedgerow");
    let text = program.ok(&line);
    holds(&text, &["gp of 250 rows", "kernel: ", "length_scale", "saved to m.hedgerow ("]);
    let fitted = program.json(&format!("{line} --report r.html"));
    assert_eq!((&fitted["model"], &fitted["rows_kept"]), (&json!("gp"), &json!(250)));
    assert!(fitted["kernel"]["length_scale"].as_f64().unwrap() > 0.0, "{fitted}");
    assert!(fitted.get("trees").is_none() && fitted.get("active_rows").is_none());
    assert!(fitted["rows_retained"].is_null());
    assert!(fitted["metrics"]["accuracy"].as_f64().unwrap() > 0.88, "{fitted}");
    assert_eq!(fitted["bytes"], program.read("m.hedgerow").len());
    let page = String::from_utf8(program.read("r.html")).unwrap();
    holds(&page, &["A Gaussian process fitted to 250 rows", "Rows kept", "Decision map"]);
    let evaluated = program.json("evaluate m.hedgerow {data}/ripley_test.csv.gz");
    assert_eq!((&evaluated["metrics"], &evaluated["params"]), (&fitted["metrics"], &fitted["params"]));
    program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --proba --out p.csv");
    assert_eq!(String::from_utf8(program.read("p.csv")).unwrap().lines().count(), 1001);
    let info = program.json("info m.hedgerow");
    assert_eq!((&info["kernel"], &info["learning"]), (&fitted["kernel"], &json!(null)));
    holds(&program.ok("info m.hedgerow"), &["gp of 250 rows", "do not learn row by row"]);
}

#[test]
fn what_it_cannot_do_is_refused_with_the_kinds_that_can() {
    let program = Program::new();
    let message = program.refused("stream {data}/ripley_train.csv.gz --target yc --model gp");
    holds(&message, &["gp cannot learn row by row", "forest, ivm"]);
    holds(&program.refused("fit nowhere.csv --model gp --oob oob.csv"), &["--oob", "gp", "forest"]);
    program.ok(&format!("fit {RIPLEY} --out m.hedgerow"));
    let message = program.refused("update m.hedgerow {data}/ripley_test.csv.gz");
    holds(&message, &["m.hedgerow", "gp cannot learn row by row", "forest, ivm"]);
    let message = program.refused("stream {data}/ripley_test.csv.gz --from m.hedgerow");
    holds(&message, &["gp cannot learn row by row"]);
    let message = program.refused("merge m.hedgerow m.hedgerow --out both.hedgerow");
    holds(&message, &["gp cannot be merged", "forest"]);
}

#[test]
fn more_rows_than_it_can_bear_are_refused() {
    let program = Program::new();
    let line = "fit {data}/banana.csv.gz --target label --model gp";
    holds(&program.refused(&format!("{line} --set max_rows=1000")), &["max_rows", "5300", "ivm"]);
    holds(&program.refused(&format!("{line} --max-memory 100MB")), &["5300 rows", "ivm"]);
}

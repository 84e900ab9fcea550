//! The exact Gaussian process on the command line.

use crate::program::{Program, holds};
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

/// 3 sin(x) + 5 with normal noise of deviation 0.5, beside a column of words that add 2 or nothing.
fn wave(n: usize, seed: u64) -> String {
    use hedgerow::core::rng::{Purpose, Rng};
    let mut rng = Rng::new(seed, Purpose::Data, 0);
    let mut text = String::from("x,side,y\n");
    for i in 0..n {
        let x = 10.0 * rng.unit();
        let (side, more) = if i % 3 == 0 { ("left", 2.0) } else { ("right", 0.0) };
        text.push_str(&format!("{x:.4},{side},{:.5}\n", 5.0 + 3.0 * x.sin() + more + 0.5 * rng.normal()));
    }
    text
}

#[test]
fn numbers_are_predicted_with_intervals_that_hold() {
    let program = Program::new();
    program.write("train.csv", wave(250, 1));
    program.write("test.csv", wave(1000, 2));
    let line = "fit train.csv --target y --model gp --task regression --test test.csv --out m.hedgerow";
    let result = program.json(&format!("{line} --report r.html"));
    assert_eq!(
        (&result["model"], &result["task"], &result["target"], &result["rows_kept"]),
        (&"gp".into(), &"regression".into(), &"y".into(), &250.into())
    );
    let metric = |result: &serde_json::Value, name: &str| result["metrics"][name].as_f64().unwrap();
    assert!((metric(&result, "coverage90") - 0.9).abs() < 0.04, "{result}");
    assert!(metric(&result, "rmse") < 0.6 && metric(&result, "mae") < 0.48, "{result}");
    assert!(metric(&result, "nlpd") < 0.95 && result["log_evidence"].is_number(), "{result}");
    assert!((result["noise_deviation"].as_f64().unwrap() - 0.5).abs() < 0.1, "{result}");
    assert!(result["kernel"]["noise_variance"].is_number(), "{result}");
    holds(
        &program.ok(line),
        &[
            "gp of 250 rows from 250 rows, 2 features, regression of \"y\"",
            "coverage",
            "validation (leave-one-out), 250 rows: R² 0.9",
        ],
    );
    // Leave-one-out predictions tell what the test rows tell.
    let own = |name: &str| result["validation"][name].as_f64().unwrap();
    assert_eq!((&result["validation_from"], own("rows")), (&"leave_one_out".into(), 250.0));
    assert!((own("rmse") - metric(&result, "rmse")).abs() < 0.08, "{result}");
    assert!((own("nlpd") - metric(&result, "nlpd")).abs() < 0.15 && own("r2") > 0.9, "{result}");
    // The file gives the same model back.
    let evaluated = program.json("evaluate m.hedgerow test.csv --report e.html");
    assert_eq!((&evaluated["metrics"], &evaluated["task"]), (&result["metrics"], &result["task"]));
    holds(
        &String::from_utf8(program.read("r.html")).unwrap(),
        &["A Gaussian process fitted to 250 rows", "Noise"],
    );
    holds(&String::from_utf8(program.read("e.html")).unwrap(), &["RMSE", "Inside 90 % intervals", "Noise"]);
    let text = program.ok("predict m.hedgerow test.csv --interval 0.5");
    assert_eq!((text.lines().next(), text.lines().count()), (Some("prediction,deviation,low,high"), 1001));
    let truth: Vec<f64> =
        wave(1000, 2).lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
    let inside = text.lines().skip(1).zip(&truth).filter(|(line, value)| {
        let numbers: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        numbers[2] < **value && **value < numbers[3]
    });
    assert!((inside.count() as f64 / 1000.0 - 0.5).abs() < 0.06);
    holds(
        &program.ok("info m.hedgerow"),
        &["gp of 250 rows", "regression of \"y\"", "do not learn row by row"],
    );
    for threads in 1..=2 {
        program.ok(&format!("{line} --threads {threads}"));
        program.ok(&format!("predict m.hedgerow test.csv --out {threads}.csv"));
    }
    assert!(program.read("1.csv") == program.read("2.csv"));
}

#[test]
fn the_wrong_task_is_refused_in_words() {
    let program = Program::new();
    program.write("d.csv", wave(60, 3));
    program.ok("fit d.csv --target y --model gp --task regression --out n.hedgerow");
    program.ok("fit d.csv --target side --model gp --out c.hedgerow");
    let refused = |line: &str, words: &[&str]| holds(&program.refused(line), words);
    refused(
        "fit d.csv --target side --model gp --task regression",
        &["row 1", "\"side\"", "number", "--task"],
    );
    refused("fit d.csv --target y --model gp --task classification", &["continuous"]);
    refused(
        "fit d.csv --target y --model forest --task regression",
        &["--task regression", "forest", "gp, rvm"],
    );
    refused("fit d.csv --target y --model gp --task regression --set method=ep", &["method", "labels", "ep"]);
    refused("fit d.csv --target y --model gp --task regression --set max_rows=9", &["max_rows", "rvm"]);
    refused("predict n.hedgerow d.csv --proba", &["--proba", "regression model"]);
    refused("predict c.hedgerow d.csv --interval 1.0", &["--interval", "between 0 and 1"]);
    refused("evaluate n.hedgerow d.csv --at-least 0.9", &["--at-least", "regression model"]);
    refused("update n.hedgerow d.csv", &["gp", "row by row"]);
    refused("stream d.csv --target y --from n.hedgerow", &["gp", "row by row"]);
    // Rows that cannot be evaluated.
    program.write("bare.csv", "x,side\n1,left\n");
    assert_eq!(program.ok("predict n.hedgerow bare.csv").lines().count(), 2);
    refused("evaluate n.hedgerow bare.csv", &["bare.csv", "target"]);
    program.write("gap.csv", "x,side,y\n1,left,\n2,right,5\n");
    assert_eq!(program.json("evaluate n.hedgerow gap.csv")["left_out"]["without_label"], 1);
}

//! The Relevance Vector Machine on the command line, for classes and for values.

use crate::program::{Program, holds};
use serde_json::{Value, json};

const RIPLEY: &str = "{data}/ripley_train.csv.gz --target yc --model rvm";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// sin(x)/x at even places with a little noise that is always the same.
/// Neighbors do not follow each other.
fn sinc(n: usize) -> String {
    let mut text = String::from("x,y\n");
    for i in (0..n).map(|i| 149 * i % n) {
        let x = 20.0 * i as f64 / n as f64 - 10.01;
        let noise = 0.1 * (12.9898 * i as f64).sin() * (78.233 * i as f64).cos();
        text.push_str(&format!("{x:.4},{:.5}\n", x.sin() / x + noise));
    }
    text
}

#[test]
fn classes_are_told_from_few_rows() {
    let program = Program::new();
    let line =
        format!("fit {RIPLEY} --test {{data}}/ripley_test.csv.gz --seed 3 --out m.hedgerow --report r.html");
    let result = program.json(&line);
    assert_eq!((&result["model"], &result["params"]["seed"]), (&json!("rvm"), &json!(3)));
    assert!(number(&result["metrics"]["accuracy"]) > 0.88, "{result}");
    assert!(number(&result["active_rows"]) <= 12.0, "{result}");
    assert!(number(&result["kernel"]["length_scale"]) > 0.0 && result["log_evidence"].is_number());
    holds(&String::from_utf8(program.read("r.html")).unwrap(), &["Relevance Vector Machine", "Decision map"]);
    holds(&program.ok(&line), &["rvm of", "active rows from 250 rows, 2 features, 2 classes"]);
    let evaluated = program.json("evaluate m.hedgerow {data}/ripley_test.csv.gz");
    assert_eq!(evaluated["metrics"], result["metrics"]);
    holds(&program.ok("info m.hedgerow"), &["rvm of", "keeps learning: 250 rows"]);
    let updated = program.json("update m.hedgerow {data}/ripley_test.csv.gz --out n.hedgerow");
    assert_eq!(updated["rows"], 1000);
    for threads in 1..=2 {
        program.ok(&format!("fit {RIPLEY} --threads {threads} --out {threads}.hedgerow"));
    }
    assert!(program.read("1.hedgerow") == program.read("2.hedgerow"));
    let streamed = program.json("stream {data}/ripley_train.csv.gz --target yc --model rvm --batches 3");
    assert_eq!(streamed["rows"], 250);
}

#[test]
fn values_are_predicted_with_intervals() {
    let program = Program::new();
    program.write("sinc.csv", sinc(300));
    let line = "fit sinc.csv --target y --model rvm --task regression --holdout 0.3 --out m.hedgerow --report r.html";
    let result = program.json(line);
    assert_eq!((&result["task"], &result["target"]), (&json!("regression"), &json!("y")));
    for key in ["rmse", "mae", "nlpd", "coverage90"] {
        assert!(result["metrics"][key].is_number(), "{key}");
    }
    assert!(number(&result["metrics"]["rmse"]) < 0.09, "{result}");
    assert!(number(&result["metrics"]["coverage90"]) > 0.7, "{result}");
    assert_eq!(result["metrics_rows"], 90);
    let page = String::from_utf8(program.read("r.html")).unwrap();
    holds(&page, &["Active rows", "class=\"band\"", "relevant rows, the band should hold", "RMSE"]);
    let text = program.ok("predict m.hedgerow sinc.csv --interval 0.9");
    assert_eq!((text.lines().next(), text.lines().count()), (Some("prediction,deviation,low,high"), 301));
    let second: Vec<f64> = text.lines().nth(1).unwrap().split(',').map(|v| v.parse().unwrap()).collect();
    assert!((second[3] - second[0] - 1.6449 * second[1]).abs() < 1e-3 && second[2] < second[0]);
    let evaluated = program.json("evaluate m.hedgerow sinc.csv --report e.html");
    assert_eq!(evaluated["rows"], 300);
    holds(&program.ok("evaluate m.hedgerow sinc.csv"), &["RMSE", "NLPD", "coverage"]);
    holds(
        &program.ok("info m.hedgerow"),
        &["rvm of", "noise", "regression of \"y\"", "keeps learning: 210 rows"],
    );
    assert_eq!(program.json("info m.hedgerow")["task"], "regression");
    let updated = program.json("update m.hedgerow sinc.csv --test sinc.csv");
    assert_eq!(updated["rows"], 300);
    assert!(number(&updated["prequential"]["rmse"]) < 0.2 && number(&updated["metrics"]["rmse"]) < 0.1);
    holds(
        &program.ok("update m.hedgerow sinc.csv --report u.html"),
        &["300 rows learnt", "prequential", "RMSE", "saved to"],
    );
    let page = String::from_utf8(program.read("u.html")).unwrap();
    holds(
        &page,
        &["Learning curve", "<h3>RMSE</h3>", "<h3>NLPD</h3>", "class=\"band\"", "newest rows learnt"],
    );
    program.ok("predict m.hedgerow sinc.csv --latency --out p.csv");
    // Rows without the value can be predicted too.
    program.write("bare.csv", "x\n0.5\n");
    assert_eq!(program.ok("predict m.hedgerow bare.csv").lines().count(), 2);
}

#[test]
fn a_stream_of_numbers_is_learnt_row_by_row() {
    let program = Program::new();
    program.write("sinc.csv", sinc(400));
    let line = "stream sinc.csv --target y --model rvm --task regression --set length_scale=0.4 --window 100";
    let whole = program.json(&format!("{line} --out m.hedgerow --predictions p.csv"));
    assert_eq!((&whole["task"], &whole["rows_learnt"]), (&json!("regression"), &json!(400)));
    let windows = whole["batches"].as_array().unwrap();
    let rmse: Vec<f64> = windows.iter().map(|window| number(&window["prequential_rmse"])).collect();
    assert!(rmse.len() == 4 && rmse[3] < 0.1 && rmse[3] < 0.5 * rmse[0], "{rmse:?}");
    assert_eq!(whole["metrics"], whole["prequential"]);
    // The figures are those of the table of predictions.
    let table = String::from_utf8(program.read("p.csv")).unwrap();
    assert!(table.starts_with("row,value,prediction,deviation\n"), "{table}");
    let errors = table.lines().skip(1).map(|line| {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        (cells[1] - cells[2]).powi(2)
    });
    let mean = errors.sum::<f64>() / 400.0;
    assert!((number(&whole["prequential"]["rmse"]) - mean.sqrt()).abs() < 1e-9);
    // Batches change nothing; the model on disk goes on; a store keeps labels only.
    let cut = program.json(&format!("{} --batch-rows 150 --test sinc.csv", line.replace("--window 100", "")));
    assert_eq!(cut["prequential"], whole["prequential"]);
    assert!(number(&cut["batches"][2]["test_rmse"]) < 0.1);
    let on = program.json("stream sinc.csv --from m.hedgerow --delay 5");
    assert_eq!((&on["rows_learnt"], &on["rows"]), (&json!(800), &json!(400)));
    holds(&program.ok(line), &["RMSE", "prequential", "coverage"]);
    holds(&program.refused(&format!("{line} --store kept")), &["--store", "numbers"]);
    let refused = program.refused("stream sinc.csv --target y --task regression");
    holds(&refused, &["--task regression", "forest", "gp, rvm"]);
}

#[test]
fn a_regression_is_trained_in_the_background() {
    let program = Program::new();
    program.write("sinc.csv", sinc(300));
    let settings = "--target y --model rvm --task regression --set length_scale=0.4 --test sinc.csv";
    let fitted = program.json(&format!("fit sinc.csv {settings}"));
    let trained = program.json(&format!("train sinc.csv {settings} --out m.hedgerow --curve c.csv"));
    assert_eq!((&trained["task"], &trained["metrics"]), (&fitted["task"], &fitted["metrics"]));
    let curve = String::from_utf8(program.read("c.csv")).unwrap();
    let header = "seconds,steps,validation_nlpd,validation_rmse,validation_r2,test_rmse,test_nlpd\n";
    assert!(curve.starts_with(header) && curve.lines().count() > 1, "{curve}");
    assert_eq!(trained["validation"], fitted["validation"]);
    assert!(trained["validation"]["r2"].as_f64().unwrap() > 0.7, "{trained}");
    let text = program.ok(&format!("train sinc.csv {settings}"));
    holds(&text, &["validation, 300 rows: R² 0.", "RMSE 0.", "NLPD "]);
    assert_eq!(program.json("update m.hedgerow sinc.csv")["rows_learnt"], 600);
    // As for a fit, a target that looks continuous is one of numbers.
    assert_eq!(
        program.json("train sinc.csv --target y --model rvm --set length_scale=0.4")["task"],
        "regression"
    );
    holds(&program.refused(&format!("train sinc.csv {settings} --store kept")), &["--store", "numbers"]);
}

#[test]
fn the_task_follows_from_the_target_unless_it_is_given() {
    let program = Program::new();
    program.write("sinc.csv", sinc(200));
    let output = program.output("fit sinc.csv --target y --model rvm --json --set length_scale=0.4");
    assert!(output.status.success());
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["task"], "regression");
    holds(&String::from_utf8(output.stderr).unwrap(), &["looks numeric"]);
    let refused = program.refused("fit sinc.csv --target y --model rvm --task classification");
    holds(&refused, &["continuous"]);
    holds(&program.refused("fit sinc.csv --target y --model forest --task regression"), &["forest", "rvm"]);
    holds(&program.refused("fit sinc.csv --target y --model ivm"), &["continuous"]);
    holds(&program.refused("fit sinc.csv --target z --model rvm --task regression"), &["\"z\"", "x, y"]);
    let words = "fit sinc.csv --target y --model rvm --task regression --set hyper_priors=[1,1,0,0]";
    holds(&program.refused(words), &["hyper_priors", "solver=basic"]);
}

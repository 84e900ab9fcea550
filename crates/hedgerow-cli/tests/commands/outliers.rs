//! `hedgerow outliers`.

use std::fmt::Write as _;

use crate::program::{Program, holds};

/// Rows around a circle, with a color each; row 30 lies in the middle, row 70 has a color of its own.
fn table() -> String {
    let mut text = String::from("x,y,color,mark\n");
    for row in 0..120 {
        let angle = f64::from(row) * 0.7;
        let (mut x, mut y) = (angle.cos(), angle.sin());
        let mut color = if row % 2 == 0 { "red" } else { "blue" };
        if row == 30 {
            (x, y) = (0.0, 0.0);
        }
        if row == 70 {
            color = "green";
        }
        writeln!(text, "{x},{y},{color},{}", u8::from(row == 30 || row == 70)).unwrap();
    }
    text
}

#[test]
fn strange_rows_are_found_with_their_reasons() {
    let program = Program::new();
    program.write("t.csv", table());
    let text = program.ok("outliers t.csv --target mark --out s.csv --top 2");
    holds(
        &text,
        &["auto fitted to 120 rows of 3 columns", "AUROC", "color = green (0.8 % of rows)", "s.csv"],
    );
    let scores = String::from_utf8(program.read("s.csv")).unwrap();
    let mut lines = scores.lines();
    assert_eq!(lines.next(), Some("row,outlier,reason"));
    assert_eq!(lines.clone().count(), 120);
    for (row, line) in lines.enumerate() {
        let mut fields = line.splitn(3, ',');
        assert_eq!(fields.next(), Some(row.to_string().as_str()));
        let score: f64 = fields.next().unwrap().parse().unwrap();
        assert!((0.0..=1.0).contains(&score), "{line}");
    }
}

#[test]
fn json_holds_scores_and_costs() {
    let program = Program::new();
    program.write("t.csv", table());
    let result = program.json("outliers t.csv --target mark --top 3");
    assert_eq!(
        (&result["rows"], &result["features"], &result["rows_scored"]),
        (&120.into(), &3.into(), &120.into())
    );
    assert!(result["auc"].as_f64().unwrap() > 0.97, "{result}");
    assert_eq!(result["strangest"].as_array().unwrap().len(), 3);
    assert_eq!(result["strangest"][0]["row"], 70);
    assert!(result["seconds"]["fit"].as_f64().unwrap() > 0.0);
    assert!(result["peak_memory_bytes"].as_u64().unwrap() > 0);
    // Labels that are not 0 and 1 have no area.
    assert!(program.json("outliers t.csv --target color")["auc"].is_null());
}

#[test]
fn every_method_is_the_same_for_any_number_of_threads() {
    let program = Program::new();
    program.write("t.csv", table());
    for method in
        ["auto", "isolation", "separation", "knn", "forest --set n_trees=50", "proximity --set n_trees=50"]
    {
        let scores = |threads: usize| {
            program.ok(&format!(
                "outliers t.csv --target mark --method {method} --threads {threads} --out s.csv"
            ));
            program.read("s.csv")
        };
        assert_eq!(scores(1), scores(3), "{method}");
    }
}

#[test]
fn other_rows_are_scored_by_those_of_the_table() {
    let program = Program::new();
    program.write("t.csv", table());
    program.write("new.csv", "color,x,y\nred,1,0\nred,9,9\npurple,0,1\n,,\n");
    let result = program.json("outliers t.csv --ignore mark --score new.csv --top 4");
    assert_eq!((&result["rows"], &result["rows_scored"]), (&120.into(), &4.into()));
    assert_eq!(result["strangest"][0]["row"], 1);
    assert_eq!(result["strangest"][3]["row"], 0, "{result}");
    let reason = result["strangest"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("x = 9 (most -0.97"), "{reason}");
}

#[test]
fn tables_in_which_nothing_is_strange_are_no_error() {
    let program = Program::new();
    program.write("same.csv", "a,b\n".to_string() + &"1,x\n".repeat(20));
    let result = program.json("outliers same.csv");
    assert_eq!((&result["n_outliers"], &result["strangest"][0]["outlier"]), (&0.into(), &0.5.into()));
    assert_eq!(result["strangest"][0]["reason"], "");
    program.write("two.csv", "a\n1\n2\n");
    assert_eq!(program.json("outliers two.csv")["rows"], 2);
}

#[test]
fn bad_input_is_told() {
    let program = Program::new();
    program.write("one.csv", "a,b\n1,2\n");
    holds(&program.refused("outliers one.csv"), &["at least 2 rows", "got 1"]);
    program.write("t.csv", table());
    holds(&program.refused("outliers t.csv --set n_neighbors=0"), &["n_neighbors", "1 or more"]);
    holds(&program.refused("outliers t.csv --set nmethod=x"), &["nmethod"]);
    holds(&program.refused("outliers t.csv --out t.csv"), &["overwrite"]);
    holds(&program.refused("outliers t.csv --target nothing"), &["nothing"]);
    holds(&program.ok("outliers --help-params"), &["sample_rows", "default: 256"]);
}

#[test]
fn time_that_is_up_leaves_scores_of_what_there_was_time_for() {
    let program = Program::new();
    program.write("t.csv", table());
    let line = "outliers t.csv --target mark --max-seconds 0.001 --set n_trees=100000";
    let result = program.json(line);
    assert_eq!(result["stop"], "time");
    assert_eq!(result["rows_scored"], 120);
}

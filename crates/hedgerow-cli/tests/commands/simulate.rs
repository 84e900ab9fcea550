//! `hedgerow simulate`.

use std::fmt::Write as _;

use crate::program::{Program, holds};

/// Four squares of points, two of each class in opposite corners.
fn corners() -> String {
    let mut text = String::from("x,y,class\n");
    for i in 0..160 {
        let (across, up) = (i % 2, i / 2 % 2);
        let (x, y) = (f64::from(i * 37 % 101) / 101.0, f64::from(i * 53 % 97) / 97.0);
        let class = if across == up { "same" } else { "other" };
        writeln!(text, "{},{},{class}", 2.0 * f64::from(across) + x, 2.0 * f64::from(up) + y).unwrap();
    }
    text
}

#[test]
fn strategies_are_compared_and_drawn() {
    let program = Program::new();
    program.write("t.csv", corners());
    let text =
        program.ok("simulate t.csv --target class --labels 14 --seeds 3 --set n_trees=10 --report r.html");
    holds(
        &text,
        &[
            "160 rows of 2 columns and 2 classes",
            "auto",
            "margin",
            "random",
            "with all labels",
            "Friedman",
            "r.html",
        ],
    );
    let page = String::from_utf8(program.read("r.html")).unwrap();
    holds(
        &page,
        &["Learning curves", "Mean ranks", "critical difference", "Order of queries: auto", "class=\"nth\""],
    );
    assert!(!page.contains("NaN"));
}

#[test]
fn json_holds_curves_areas_and_tests() {
    let program = Program::new();
    program.write("t.csv", corners());
    let command = "simulate t.csv --target class --labels 12 --start 4 --seeds 3 --strategies margin,deal --models forest,knn";
    let result = program.json(command);
    let outcomes = result["outcomes"].as_array().unwrap();
    let names: Vec<[&str; 2]> =
        outcomes.iter().map(|o| ["model", "strategy"].map(|key| o[key].as_str().unwrap())).collect();
    assert_eq!(names, [["forest", "margin"], ["forest", "deal"], ["knn", "margin"], ["knn", "deal"]]);
    let curve = outcomes[0]["curve"].as_array().unwrap();
    assert_eq!((curve.len(), &curve[0]["labels"], &curve[8]["labels"]), (9, &4.into(), &12.into()));
    assert_eq!(outcomes[0]["area"]["runs"].as_array().unwrap().len(), 3);
    assert_eq!(outcomes[0]["order"].as_array().unwrap()[..4], outcomes[1]["order"].as_array().unwrap()[..4]);
    assert_eq!(result["ranks"]["scores"].as_array().unwrap().len(), 6);
    assert!(result["ranks"]["pairs"][0]["wilcoxon"]["p_value"].as_f64().unwrap() <= 1.0);
    let again = program.json(&format!("{command} --threads 1"));
    assert_eq!(result["outcomes"], again["outcomes"], "threads change nothing");
}

#[test]
fn wrong_arguments_are_told() {
    let program = Program::new();
    program.write("t.csv", corners());
    for (wrong, parts) in [
        ("--strategies orcale", ["orcale", "auto"]),
        ("--labels 10 --start 20", ["start", "20"]),
        ("--models forest,knn --set n_trees=5", ["--set", "2"]),
        ("--losses 1,0", ["losses", "above 0"]),
    ] {
        holds(&program.refused(&format!("simulate t.csv --target class {wrong}")), &parts);
    }
}

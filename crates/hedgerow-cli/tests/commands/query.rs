//! `hedgerow query`.

use std::collections::BTreeMap;

use hedgerow::Kind;
use serde_json::Value;

use crate::program::{Program, holds};

/// Rows around three places, with a color that hardly matters; `label` makes the label of a row of a class, or leaves it empty.
fn table(n_rows: usize, label: impl Fn(usize, &str) -> String) -> String {
    let row = |row: usize| {
        let (class, x, y) = [("elm", 0.0, 0.0), ("oak", 6.0, 0.0), ("ash", 0.0, 6.0)][row % 3];
        let [x, y] = [x + (row as f64 * 1.7).sin(), y + (row as f64 * 2.3).cos()];
        let color = if row.is_multiple_of(2) { "red" } else { "" };
        format!("{x:.3},{color},{y:.3},{}\n", label(row, class))
    };
    format!("x,color,y,tree\n{}", (0..n_rows).map(row).collect::<String>())
}

fn rows(result: &Value) -> Vec<u64> {
    result["queries"].as_array().unwrap().iter().map(|query| query["row"].as_u64().unwrap()).collect()
}

#[test]
fn the_rows_with_a_label_are_learnt_from_and_others_chosen() {
    let program = Program::new();
    let labelled = |row: usize, class: &str| if row < 30 { class.into() } else { String::new() };
    program.write("t.csv", table(200, labelled));
    let result = program.json("query t.csv --target tree -n 7 --out next.csv");
    assert_eq!(
        (&result["rows"], &result["labelled"], &result["model"]),
        (&200.into(), &30.into(), &"forest".into())
    );
    assert_eq!(result["strategy"], "auto");
    assert_eq!(result["classes"], serde_json::json!([["ash", 10], ["elm", 10], ["oak", 10]]));
    let chosen = rows(&result);
    assert_eq!(chosen.len(), 7);
    assert!(chosen.iter().all(|row| (30..200).contains(row)), "{chosen:?}");
    for query in result["queries"].as_array().unwrap() {
        assert!(query["utility"].as_f64().unwrap() >= 0.0 && !query["reason"].as_str().unwrap().is_empty());
        assert!(["ash", "elm", "oak"].contains(&query["prediction"].as_str().unwrap()), "{query}");
        assert!((1.0 / 3.0..=1.0).contains(&query["probability"].as_f64().unwrap()), "{query}");
    }
    let advice = &result["advice"];
    assert_eq!((&advice["stop"], &advice["n_labels"]), (&false.into(), &30.into()));
    holds(advice["reason"].as_str().unwrap(), &["30 labels of at least 50"]);
    assert_eq!(advice["gain"]["labels"], 10);

    let next = String::from_utf8(program.read("next.csv")).unwrap();
    let mut lines = next.lines();
    assert_eq!(lines.next(), Some("row,utility,reason,prediction,probability,x,color,y,tree"));
    let all = String::from_utf8(program.read("t.csv")).unwrap();
    for (line, row) in lines.by_ref().zip(&chosen) {
        let own: Vec<&str> = all.lines().nth(*row as usize + 1).unwrap().rsplitn(4, ',').collect();
        assert!(line.starts_with(&format!("{row},")) && line.ends_with(','), "the target is empty: {line}");
        let x: f64 = line.rsplit(',').nth(3).unwrap().parse().unwrap();
        assert!((x - own[3].parse::<f64>().unwrap()).abs() < 1e-6 && line.contains(own[2]), "{line}");
    }
    assert_eq!(next.lines().count(), 8);
    let text = program.ok("query t.csv --target tree -n 2 --strategy margin");
    holds(
        &text,
        &[
            "200 rows",
            "30 labels (ash 10, elm 10, oak 10)",
            "chosen by margin",
            "between ",
            "stop? not yet: 30 labels",
        ],
    );
    assert!(!program.ok("query t.csv --target tree --no-advice").contains("stop?"));
}

#[test]
fn it_works_without_labels_and_with_one_class() {
    let program = Program::new();
    program.write("none.csv", table(60, |_, _| String::new()));
    program.write("one.csv", table(60, |row, _| if row == 4 { "oak".into() } else { "?".into() }));
    program.write("bare.csv", table(60, |_, _| "left out".into()));
    for (line, labels) in [
        ("none.csv --target tree", 0),
        ("one.csv --target tree", 1),
        ("bare.csv --ignore tree", 0),
        ("one.csv --target tree --model ivm", 1),
    ] {
        let result = program.json(&format!("query {line} -n 5"));
        assert_eq!((rows(&result).len(), &result["labelled"]), (5, &labels.into()), "{line}");
        assert!(result["model"].is_null() && result["queries"][0]["prediction"].is_null(), "{line}");
        assert!(!result["queries"][0]["reason"].as_str().unwrap().is_empty());
        assert_eq!(result["advice"]["stop"], false);
        assert!(!rows(&result).contains(&4) || labels == 0);
        holds(&program.ok(&format!("query {line}")), &["no model yet"]);
    }
    assert_eq!(rows(&program.json("query none.csv --target tree -n 100")).len(), 60, "as many as there are");
}

#[test]
fn a_model_asks_about_a_pool() {
    let program = Program::new();
    program.write("t.csv", table(40, |_, class| class.into()));
    program.write("pool.csv", table(90, |row, _| if row == 50 { "oak".into() } else { String::new() }));
    program.ok("fit t.csv --target tree --set n_trees=20 --out m.hedgerow");
    let result = program.json("query m.hedgerow pool.csv -n 89");
    assert_eq!((&result["rows"], &result["model"]), (&90.into(), &"forest".into()));
    assert_eq!(result["labelled"], 41, "those of the model count, too");
    let mut chosen = rows(&result);
    chosen.sort_unstable();
    assert_eq!(chosen, (0..90).filter(|row| *row != 50).collect::<Vec<_>>(), "never a row of the model");
    assert_eq!(result["advice"]["n_labels"], 41);
    assert_eq!(result["queries"], program.json("query pool.csv --model m.hedgerow -n 89")["queries"]);
    // Without its rows a model still asks, but there is nothing to give advice by.
    program.ok("fit t.csv --target tree --set n_trees=20 --frozen --out f.hedgerow");
    let frozen = program.json("query f.hedgerow pool.csv -n 3 --strategy margin");
    assert_eq!((rows(&frozen).len(), &frozen["advice"]), (3, &Value::Null));
    // The pool need not have the column of the labels.
    program.write("bare.csv", table(30, |_, _| String::new()).replace(",tree", "").replace(",\n", "\n"));
    assert_eq!(rows(&program.json("query m.hedgerow bare.csv -n 4")).len(), 4);
}

#[test]
fn labelled_rows_may_come_in_a_file_of_their_own() {
    let program = Program::new();
    program.write("labelled.csv", table(24, |_, class| class.into()));
    let pool = table(120, |_, _| String::new()).replace(",tree", "").replace(",\n", "\n");
    program.write("pool.csv", pool.replace("red", "blue"));
    let result = program.json("query pool.csv --labelled labelled.csv --target tree -n 6 --strategy margin");
    assert_eq!(
        (&result["rows"], &result["labelled"], &result["features"]),
        (&120.into(), &24.into(), &3.into())
    );
    assert!(rows(&result).iter().all(|row| *row < 120));
    assert!(!result["queries"][0]["prediction"].is_null());
}

#[test]
fn every_kind_asks_and_threads_change_nothing() {
    let program = Program::new();
    let labelled = |row: usize, class: &str| if row.is_multiple_of(5) { class.into() } else { String::new() };
    program.write("t.csv", table(100, labelled));
    for kind in Kind::ALL {
        let small = match kind.name() {
            "forest" | "leaf-gp" | "forest-ivm" | "forest-kernel" => "--set n_trees=5",
            "ivm" => "--set n_active=8",
            _ => "",
        };
        let query = |threads: usize| {
            let line = format!("query t.csv --target tree --model {kind} {small} -n 4 --threads {threads}");
            let result = program.json(&line);
            assert_eq!(result["model"], kind.name());
            (rows(&result), result["advice"].clone())
        };
        assert_eq!(query(1), query(3), "{kind}");
    }
    assert_ne!(
        rows(&program.json("query t.csv --target tree --strategy random --seed 1")),
        rows(&program.json("query t.csv --target tree --strategy random --seed 2"))
    );
}

#[test]
fn labelling_what_is_asked_finds_all_classes_and_comes_to_an_end() {
    let program = Program::new();
    let truth: Vec<&str> = (0..45).map(|row| ["elm", "oak", "ash"][row % 3]).collect();
    let mut known: BTreeMap<u64, &str> = BTreeMap::new();
    for round in 0..9 {
        let label = |row: usize, _: &str| known.get(&(row as u64)).map_or(String::new(), ToString::to_string);
        program.write("t.csv", table(45, label));
        let result = program.json("query t.csv --target tree -n 5 --no-advice");
        let chosen = rows(&result);
        assert!(chosen.len() == 5 && chosen.iter().all(|row| !known.contains_key(row)), "round {round}");
        known.extend(chosen.iter().map(|row| (*row, truth[*row as usize])));
        if round == 1 {
            let found: std::collections::BTreeSet<&&str> = known.values().collect();
            assert_eq!(found.len(), 3, "ten labels");
        }
    }
    program.write("t.csv", table(45, |_, class| class.into()));
    let output = program.output("query t.csv --target tree");
    assert_eq!(output.status.code(), Some(1), "there is nothing left to choose from");
    holds(&String::from_utf8(output.stdout).unwrap(), &["every row has a label", "stop? labelling may stop"]);
}

#[test]
fn parameters_of_model_choice_and_advice_are_set_and_listed() {
    let program = Program::new();
    let labelled = |row: usize, class: &str| if row < 80 { class.into() } else { String::new() };
    program.write("t.csv", table(200, labelled));
    let line = "query t.csv --target tree --set n_trees=5 --set query.diversity=0 --set stopping.rule=cost";
    let result = program.json(&format!("{line} --set stopping.horizon=1"));
    assert_eq!((&result["advice"]["rule"], &result["advice"]["stop"]), (&"cost".into(), &true.into()));
    let text = program.ok("query --help-params --model ivm");
    holds(&text, &["n_active", "query.diversity", "query.n_targets", "stopping.rule", "stopping.min_labels"]);
}

#[test]
fn mistakes_are_told() {
    let program = Program::with_ripley();
    program.write("t.csv", table(30, |_, class| class.into()));
    for (line, parts) in [
        ("query", &["POOL"][..]),
        ("query m.hedgerow", &["m.hedgerow", "this is a model"]),
        ("query m.hedgerow t.csv", &["t.csv", "column"]),
        ("query m.hedgerow t.csv --model forest", &["--model", "already"]),
        ("query t.csv --target tree --model foerst", &["model file", "forest, ivm"]),
        ("query t.csv --target tree --strategy best", &["auto", "margin"]),
        ("query t.csv --target tree -n 0", &["0"]),
        ("query t.csv --target bush", &["bush"]),
        ("query t.csv --target tree --out t.csv", &["overwrite"]),
        ("query t.csv --target tree --set query.n_targets=1", &["n_targets", "10 or more"]),
        ("query t.csv --target tree --set query.trees=1", &["trees", "diversity"]),
        ("query m.hedgerow {data}/ripley_train.csv.gz --set n_trees=3", &["n_trees", "already"]),
        ("query m.hedgerow t.csv --labelled t.csv --target tree", &["--labelled", "update"]),
        ("query t.csv --labelled t.csv", &["--target"]),
    ] {
        holds(&program.refused(line), parts);
    }
    program.write("some.csv", table(30, |row, class| if row == 3 { String::new() } else { class.into() }));
    holds(&program.refused("query t.csv --labelled some.csv --target tree"), &["row 4", "no label"]);
}

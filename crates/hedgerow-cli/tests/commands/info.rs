//! `hedgerow info`.

use crate::program::{Program, holds};

#[test]
fn a_table_is_described_column_by_column() {
    let program = Program::new();
    let text = program.ok("info {data}/titanic.csv.gz --target Survived");
    insta::assert_snapshot!(text, @r#"
    csv of 2,201 rows, 3 feature columns
    target "Survived", 2 classes: No (1,490), Yes (711)
    column  kind          missing  distinct  values
    Class   categorical         0         4  Crew (885), 3rd (706), 1st (325), 2nd (285)
    Sex     categorical         0         2  Male (1,731), Female (470)
    Age     categorical         0         2  Adult (2,092), Child (109)
    "#);
}

#[test]
fn a_model_is_described_with_its_schema() {
    let program = Program::new();
    std::fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../hedgerow/tests/data/forest-v3.hedgerow"),
        program.path("m.hedgerow"),
    )
    .unwrap();
    insta::assert_snapshot!(program.ok("info m.hedgerow"), @r#"
    forest of 6 trees, 146 nodes, up to 4 high, 15.9 kB (file format 3)
    2 classes of "Survived": No, Yes
    3 columns: Class (categorical), Sex (categorical), Age (categorical)
    trees are 4 to 4 high
    probabilities not calibrated
    keeps learning: 2,201 rows learnt, 2,201 retained (11.2 kB in the file, the model without them 4.8 kB)
    retained by class: No (1,490), Yes (711)
    columns that removed most impurity:
      Sex    70.47 % ██████████████████████████████
      Class  25.81 % ███████████
      Age     3.72 % ██
    parameters: n_trees=6 splits=random criterion=gini max_features=sqrt n_thresholds=1 sample_rows=128 max_height=4 min_leaf_rows=1 min_split_rows=2 bagging=fraction:0.8 learn_left_out=true class_weights=none probabilities=leaf leaf_power=auto calibrate=true patience=0 pool_rows=100000 keep=all replace=0.6 forget=true horizons=true confidence=false confidence_rows=0 background_rows=auto seed=1
    "#);
    let json = program.json("info m.hedgerow");
    assert_eq!(
        (&json["trees"], &json["nodes"], &json["format_version"]),
        (&6.into(), &146.into(), &3.into())
    );
    assert_eq!(json["schema"]["labels"], serde_json::json!(["No", "Yes"]));
    assert_eq!(json["bytes"], program.read("m.hedgerow").len());
    // The content tells, not the name.
    std::fs::rename(program.path("m.hedgerow"), program.path("model.bin")).unwrap();
    assert_eq!(program.json("info model.bin"), json);
}

#[test]
fn wide_tables_are_cut_short_unless_asked() {
    let program = Program::new();
    let short = program.ok("info {data}/digits.csv.gz --target digit");
    holds(&short, &["and 44 more columns", "--all"]);
    let all = program.ok("info {data}/digits.csv.gz --target digit --all");
    assert_eq!(all.lines().count(), 3 + 64);
    let json = program.json("info {data}/digits.csv.gz --target digit");
    assert_eq!(json["columns"].as_array().unwrap().len(), 64);
    assert_eq!(json["rows"], 1797);
}

#[test]
fn tables_need_no_target_and_tell_missing_values() {
    let program = Program::new();
    program.write("t.csv", "a,b\n1,x\n,y\n3,\n");
    let json = program.json("info t.csv");
    assert_eq!((&json["columns"][0]["missing"], &json["columns"][1]["missing"]), (&1.into(), &1.into()));
    let piped = program.command("info - --format csv").write_stdin("a,b\n1,2\n").output().unwrap();
    holds(&String::from_utf8(piped.stdout).unwrap(), &["csv of 1 rows"]);
    holds(&program.refused("info nowhere.csv"), &["nowhere.csv"]);
}

#[test]
fn a_model_that_keeps_learning_tells_what_it_retains() {
    let program = Program::with_ripley();
    let text = program.ok("info m.hedgerow");
    holds(&text, &["keeps learning: 250 rows learnt, 250 retained", "by class: 0 (125), 1 (125)"]);
    let learning = program.json("info m.hedgerow")["learning"].clone();
    let bytes = |key: &str| learning[key].as_u64().unwrap();
    assert_eq!(bytes("predictor_bytes") + bytes("row_bytes"), program.read("m.hedgerow").len() as u64);
    assert_eq!(learning["retained_by_class"], serde_json::json!([["0", 125], ["1", 125]]));
}

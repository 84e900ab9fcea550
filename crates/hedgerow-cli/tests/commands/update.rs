//! `hedgerow update`.

use crate::program::{Program, holds};

#[test]
fn a_fitted_model_learns_more() {
    let program = Program::with_titanic();
    let before = program.read("m.hedgerow");
    let updated = program.json("update m.hedgerow {data}/titanic.csv.gz --out m2.hedgerow");
    assert!(program.read("m.hedgerow") == before, "--out leaves the model alone");
    assert_eq!((&updated["rows"], &updated["rows_learnt"]), (&2201.into(), &4402.into()));
    assert_eq!(updated["metrics_from"], "prequential");
    assert_eq!(updated["metrics"], updated["prequential"]);
    assert!(updated["prequential"]["accuracy"].as_f64().unwrap() > 0.75);
    let text = program.ok("update m.hedgerow {data}/titanic.csv.gz --test {data}/titanic.csv.gz");
    holds(&text, &["2,201 rows learnt; accuracy on them before they were learnt", "rows retained"]);
    holds(&text, &["test, 2,201 rows:", "saved to m.hedgerow"]);
    assert!(program.read("m.hedgerow") == program.read("m2.hedgerow"), "replaced in one step");
    assert_eq!(program.names(), ["m.hedgerow", "m2.hedgerow"]);
    holds(
        &program.ok("info m.hedgerow"),
        &["keeps learning: 4,402 rows learnt, ", " retained (", "by class: No ("],
    );
}

#[test]
fn threads_do_not_change_what_is_learnt() {
    let program = Program::with_ripley();
    for threads in 1..=3 {
        program.ok(&format!(
            "update m.hedgerow {{data}}/ripley_test.csv.gz --threads {threads} --out {threads}.hedgerow"
        ));
    }
    let one = program.read("1.hedgerow");
    assert!(one == program.read("2.hedgerow") && one == program.read("3.hedgerow"));
}

#[test]
fn new_classes_and_categories_are_named_and_known_from_then_on() {
    let program = Program::with_titanic();
    let rows = "4th,Male,Adult,Maybe\n".repeat(60) + &"Crew,Male,Adult,No\n".repeat(30);
    program.write("more.csv", format!("Class,Sex,Age,Survived\n{rows}"));
    let text = program.ok("update m.hedgerow more.csv");
    holds(&text, &["new classes: \"Maybe\""]);
    let info = program.json("info m.hedgerow");
    assert_eq!(info["schema"]["labels"], serde_json::json!(["No", "Yes", "Maybe"]));
    program.write("ask.csv", "Class,Sex,Age\n4th,Male,Adult\n");
    let predictions = program.ok("predict m.hedgerow ask.csv");
    holds(&predictions, &["Maybe"]);
}

#[test]
fn a_model_without_its_rows_cannot_learn_and_says_what_to_do() {
    let program = Program::new();
    let fit = "fit {data}/ripley_train.csv.gz --target yc --set n_trees=20 --out";
    program.ok(&format!("{fit} m.hedgerow"));
    program.ok(&format!("{fit} frozen.hedgerow --frozen"));
    assert!(program.read("frozen.hedgerow").len() < program.read("m.hedgerow").len());
    let message = program.refused("update frozen.hedgerow {data}/ripley_test.csv.gz");
    holds(&message, &["frozen.hedgerow", "without the rows", "fit it again"]);
    holds(&program.ok("info frozen.hedgerow"), &["cannot learn more"]);
    // It predicts as the other does.
    let evaluated = |model: &str| {
        program.json(&format!("evaluate {model} {{data}}/ripley_test.csv.gz"))["metrics"].clone()
    };
    assert_eq!(evaluated("frozen.hedgerow"), evaluated("m.hedgerow"));
}

#[test]
fn bad_input_leaves_a_whole_model() {
    let program = Program::with_ripley();
    let before = program.read("m.hedgerow");
    holds(&program.refused("update m.hedgerow {data}/titanic.csv.gz"), &["titanic.csv.gz", "column"]);
    holds(&program.refused("update m.hedgerow nowhere.csv"), &["nowhere.csv"]);
    assert!(program.read("m.hedgerow") == before);
    program.write("bad.csv", format!("xs,ys,yc\n{}oops,1,0\n", "0.1,0.2,1\n".repeat(1_100)));
    let message = program.refused("update m.hedgerow bad.csv");
    holds(&message, &["row 1101", "\"oops\"", "1,100 rows", "saved to m.hedgerow"]);
    assert_eq!(program.json("info m.hedgerow")["learning"]["rows_learnt"], 1350);
}

#[test]
fn memory_is_kept() {
    let program = Program::with_ripley();
    program.ok("generate hyperplane --rows 2000 --features 2 --out t.csv");
    let text = String::from_utf8(program.read("t.csv")).unwrap();
    program.write("t.csv", text.replacen("x0,x1,class", "xs,ys,yc", 1));
    let result = program.json("update m.hedgerow t.csv --max-memory 30MB --report r.html");
    if let Some(peak) = result["peak_memory_bytes"].as_u64() {
        assert!(peak <= 30_000_000, "{peak} bytes");
    }
    holds(&program.refused("update m.hedgerow t.csv --max-memory 3MB"), &["needs at least"]);
}

//! Bad data: exit code 2 and a message that says where, for every verb.

use crate::program::{Program, data_file, holds};

/// A table of 40 rows in which row 7 is replaced.
fn table(row_7: &[u8]) -> Vec<u8> {
    let mut out = b"xs,ys,yc\n".to_vec();
    for i in 1..=40 {
        if i == 7 {
            out.extend_from_slice(row_7);
        } else {
            out.extend(format!("0.{i},{}.5,{}", i * 2, i % 2).bytes());
        }
        out.push(b'\n');
    }
    out
}

/// Fits to a bad file and asks an existing model about it.
#[track_caller]
fn every_verb_refuses(name: &str, content: &[u8], wanted: &[&str]) {
    let program = Program::with_ripley();
    program.write(name, content);
    for line in [
        format!("fit {name} --target yc --out new.hedgerow"),
        format!("predict m.hedgerow {name} --out predictions.csv"),
        format!("evaluate m.hedgerow {name}"),
        format!("info {name} --target yc"),
        format!("fit {{data}}/ripley_train.csv.gz --target yc --set n_trees=2 --test {name}"),
    ] {
        let message = program.refused(&line);
        holds(&message, &[name]);
        holds(&message, wanted);
    }
    assert!(!program.path("new.hedgerow").exists(), "a model of bad data was saved");
}

/// Fits to a file that is bad only for learning.
#[track_caller]
fn fit_refuses(name: &str, content: impl AsRef<[u8]>, arguments: &str, wanted: &[&str]) {
    let program = Program::new();
    program.write(name, content);
    let message = program.refused(&format!("fit {name} {arguments} --out new.hedgerow"));
    holds(&message, &[name]);
    holds(&message, wanted);
    assert_eq!(program.names(), [name], "something was saved");
}

#[test]
fn ragged_rows() {
    every_verb_refuses("t.csv", &table(b"1,2"), &["row 7 (line 8)", "expected 3 fields", "got 2"]);
    every_verb_refuses("t.csv", &table(b"1,2,0,9"), &["row 7 (line 8)", "expected 3 fields", "got 4"]);
}

#[test]
fn text_in_a_column_of_numbers() {
    every_verb_refuses("t.csv", &table(b"1,oops,0"), &["row 7 (line 8)", "column \"ys\"", "\"oops\""]);
}

#[test]
fn infinite_values() {
    for text in ["inf", "-inf", "1e300"] {
        let content = table(format!("{text},1,0").as_bytes());
        every_verb_refuses("t.csv", &content, &["row 7 (line 8)", "column \"xs\"", text]);
    }
}

#[test]
fn empty_files() {
    every_verb_refuses("t.csv", b"", &["no rows"]);
    every_verb_refuses("t.csv", b"xs,ys,yc\n", &["no rows"]);
}

#[test]
fn truncated_gzip() {
    let packed = std::fs::read(data_file("ripley_test.csv.gz")).unwrap();
    for part in [packed.len() / 2, packed.len() - 3, 12] {
        every_verb_refuses("t.csv.gz", &packed[..part], &["damaged or cut off"]);
    }
}

#[test]
fn text_that_is_not_utf8() {
    every_verb_refuses("t.csv", &table(b"\xff\xfe,1,0"), &["row 7 (line 8)", "column \"xs\"", "UTF-8"]);
}

#[test]
fn columns_of_one_name() {
    every_verb_refuses("t.csv", b"xs,ys,xs,yc\n1,2,3,0\n1,2,3,1\n", &["column \"xs\"", "columns 0 and 2"]);
}

#[test]
fn too_many_columns() {
    let mut wide: String = (0..100_000).map(|i| format!("c{i},")).collect();
    wide.push_str("yc\n");
    for label in ["0", "1"] {
        wide.push_str(&"0,".repeat(100_000));
        wide.push_str(label);
        wide.push('\n');
    }
    fit_refuses("t.csv", &wide, "--target yc", &["100000 columns", "65535"]);
    let program = Program::with_ripley();
    program.write("t.csv", &wide);
    holds(&program.refused("predict m.hedgerow t.csv"), &["t.csv", "column"]);
    holds(&program.refused("info t.csv"), &["t.csv", "columns", "65535"]);
}

#[test]
fn no_target() {
    let content = table(b"1,2,0");
    fit_refuses("t.csv", &content, "", &["no labels", "--target", "xs, ys, yc"]);
    fit_refuses("t.csv", &content, "--target class", &["\"class\"", "xs, ys, yc"]);
    fit_refuses("t.csv", &content, "--target 3", &["\"3\"", "xs, ys, yc"]);
}

#[test]
fn labels_that_cannot_be_learned() {
    fit_refuses("t.csv", "a,y\n1,x\n2,x\n3,x\n", "--target y", &["same label", "\"x\""]);
    fit_refuses(
        "t.csv",
        table(b"1,2,"),
        "--target yc",
        &["row 7 (line 8)", "column \"yc\"", "label is missing"],
    );
    let continuous: String = (0..300).map(|i| format!("{},{}\n", i % 5, f64::from(i) * 0.37)).collect();
    fit_refuses("t.csv", format!("a,y\n{continuous}"), "--target y", &["column \"y\"", "continuous", "300"]);
    fit_refuses("t.csv", "y\n1\n2\n", "--target y", &["no column to learn from"]);
}

#[test]
fn other_formats_name_their_place_too() {
    fit_refuses("t.svm", "1 1:1\n0 3:1 2:1\n", "", &["row 2 (line 2)"]);
    fit_refuses(
        "t.arff",
        "@attribute a real\n@attribute class {x,y}\n@data\n1,x,2\n",
        "",
        &["row 1 (line 4)"],
    );
    fit_refuses("t.npy", "not numpy at all", "--target 0", &["npy"]);
    fit_refuses("t.parquet", "not parquet at all", "--target 0", &["parquet"]);
    fit_refuses("t.arrow", "not arrow at all", "--target 0", &["arrow"]);
    fit_refuses("t.xyz", "a,y\n1,2\n", "--target y", &["--format", "csv"]);
}

#[test]
fn files_that_are_not_there() {
    let program = Program::with_ripley();
    for line in
        ["fit no.csv --target y", "predict m.hedgerow no.csv", "evaluate m.hedgerow no.csv", "info no.csv"]
    {
        holds(&program.refused(line), &["no.csv"]);
    }
    holds(&program.refused("predict no.hedgerow {data}/ripley_test.csv.gz"), &["no.hedgerow"]);
}

#[test]
fn kinds_of_columns_are_enforced() {
    let program = Program::with_titanic();
    program.ok("fit {data}/ripley_train.csv.gz --target yc --set n_trees=2 --out r.hedgerow");
    program.write("words.csv", "xs,ys\nred,1\nblue,2\n");
    holds(
        &program.refused("predict r.hedgerow words.csv --out p.csv"),
        &["words.csv", "column \"xs\"", "red"],
    );
    program.write("bare.npy", "junk");
    holds(&program.refused("predict m.hedgerow bare.npy"), &["bare.npy"]);
}

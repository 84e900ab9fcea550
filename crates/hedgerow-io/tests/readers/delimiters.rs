//! The delimiter and the decimal mark of a table are found, and can be given.

use std::path::Path;

use crate::files::{Files, assert_same, drain, label_names, message, read_both, row, target};
use hedgerow_core::{ColumnKind, Schema, Task};
use hedgerow_io::{Decimal, ReadOptions, RowReader, read_dataset};

/// A table with commas and points, to be written in other ways.
const TABLE: &str = "len,color,y\n1.5,red,a\n-2.25,blue,b\n7,red,a\n";

fn split_at(delimiter: &str, name: &str) -> ReadOptions {
    ReadOptions { delimiter: Some(delimiter.parse().unwrap()), ..target(name) }
}

#[test]
fn every_usual_delimiter_gives_the_same_table() {
    let expected = read_both("t.csv", TABLE.as_bytes(), &target("y"));
    for delimiter in [";", "\t", "|"] {
        let text = TABLE.replace(',', delimiter);
        for name in ["t.csv", "t.tsv", "t.txt", "t.data"] {
            assert_same(&read_both(name, text.as_bytes(), &target("y")), &expected);
            assert_same(&read_both(name, text.as_bytes(), &split_at(delimiter, "y")), &expected);
        }
    }
    for name in ["t.tsv", "t.txt"] {
        assert_same(&read_both(name, TABLE.as_bytes(), &target("y")), &expected);
    }
    let unusual = TABLE.replace(',', "#");
    assert_same(&read_both("t.csv", unusual.as_bytes(), &split_at("#", "y")), &expected);
    let blanks = TABLE.replace(',', "  ");
    assert_same(&read_both("t.csv", blanks.as_bytes(), &split_at("space", "y")), &expected);
}

#[test]
fn decimal_commas_between_semicolons() {
    let expected = read_both("t.csv", TABLE.as_bytes(), &target("y"));
    let text = TABLE.replace(',', ";").replace('.', ",");
    assert_same(&read_both("t.csv", text.as_bytes(), &target("y")), &expected);
    let with = |decimal| ReadOptions { decimal: Some(decimal), ..target("y") };
    assert_same(&read_both("t.csv", text.as_bytes(), &with(Decimal::Comma)), &expected);
    // Other delimiters need the option; without it such fields are text.
    let tabs = text.replace(';', "\t");
    assert_same(&read_both("t.csv", tabs.as_bytes(), &with(Decimal::Comma)), &expected);
    assert_ne!(read_both("t.csv", tabs.as_bytes(), &target("y")).schema, expected.schema);
    let quoted = "len,color,y\n\"1,5\",red,a\n\"-2,25\",blue,b\n7,red,a\n";
    assert_same(&read_both("t.csv", quoted.as_bytes(), &with(Decimal::Comma)), &expected);
    let blanks = text.replace(';', " ");
    assert_same(&read_both("t.txt", blanks.as_bytes(), &with(Decimal::Comma)), &expected);
    // A column that mixes both marks is text.
    let mixed = read_both("t.csv", b"len;color;y\n1,5;red;a\n2.5;blue;b\n", &target("y"));
    assert!(matches!(mixed.schema.columns[0].kind, ColumnKind::Categorical { .. }));
}

#[test]
fn decimal_commas_in_labels_weights_and_values() {
    let text = "x;w;y\n1;0,5;1,0\n2;1,5;2,5\n3;1;1\n";
    let options = ReadOptions { weight: Some("w".parse().unwrap()), ..target("y") };
    let data = read_both("t.csv", text.as_bytes(), &options);
    assert_eq!(label_names(&data), ["1", "2.5", "1"]);
    assert_eq!(data.weights, Some(vec![0.5, 1.5, 1.0]));
    let files = Files::new();
    let path = files.write("t.csv", text);
    let options = ReadOptions { task: Task::Regression, ..target("y") };
    let numbers = read_dataset(&path, &options, None).unwrap();
    assert_eq!(numbers.values(), [1.0, 2.5, 1.0]);
    let mut reader = RowReader::open_with(&path, &ReadOptions::default(), &numbers.schema).unwrap();
    assert_eq!(reader.next_batch(9).unwrap().unwrap().values.unwrap(), [1.0, 2.5, 1.0]);
    let forced = ReadOptions { categorical: vec!["w".parse().unwrap()], ..target("y") };
    let data = read_both("t.csv", text.as_bytes(), &forced);
    let categories = ["0.5", "1.5", "1"].map(String::from).to_vec();
    assert_eq!(data.schema.columns[1].kind, ColumnKind::Categorical { categories });
}

#[test]
fn quotes_and_other_delimiters_inside_of_fields() {
    let text = "name;n;y\n\"Doe, John; Jr.\";1;a\n\"Roe, Jane\";2;b\nPoe;3;a\n";
    let data = read_both("t.csv", text.as_bytes(), &target("y"));
    let categories = ["Doe, John; Jr.", "Roe, Jane", "Poe"].map(String::from).to_vec();
    assert_eq!(data.schema.columns[0].kind, ColumnKind::Categorical { categories });
    assert_eq!(row(&data, 2), [2.0, 3.0]);
    let lines = "text,y\n\"one\ntwo; three\",a\n\"four; five\",b\n";
    let data = read_both("t.csv", lines.as_bytes(), &target("y"));
    assert_eq!((data.n_rows(), data.schema.n_features()), (2, 1));
}

#[test]
fn without_a_header() {
    let data = read_both("t.csv", b"1,5;2,5;0\n3,5;4,5;1\n", &target("2"));
    assert!(!data.schema.named);
    assert_eq!((data.n_rows(), row(&data, 0)), (2, vec![1.5, 2.5]));
    // Like the well-known iris.data: commas, no header, words for labels.
    let data = read_both("iris.data", b"5.1,3.5,x\n4.9,3.0,y\n", &target("2"));
    assert!(!data.schema.named);
    assert_eq!((data.n_rows(), row(&data, 1)), (2, vec![4.9, 3.0]));
    let options = ReadOptions { header: Some(false), ..target("1") };
    assert_eq!(read_both("t.csv", b"a;x\nb;y\n", &options).n_rows(), 2);
}

#[test]
fn one_column_stays_one() {
    let files = Files::new();
    let schema = |name: &str, text: &str| -> Schema {
        let reader = RowReader::open(&files.write(name, text), &ReadOptions::default()).unwrap();
        reader.schema().clone()
    };
    for text in ["y\n1\n2\n", "1\n2\n", "\"a,b\"\n\"c,d\"\n"] {
        assert_eq!(schema("t.csv", text).n_features(), 1, "{text:?}");
    }
    assert_eq!(schema("t.txt", "1\n2\n").n_features(), 1);
}

#[test]
fn batches_and_models() {
    let files = Files::new();
    let mut text = "a;b;y\n".to_string();
    // More than is read ahead, and decimals from the start.
    (0..3000).for_each(|i| text.push_str(&format!("{i},5;{};{}\n", i % 7, i % 2)));
    let path = files.write("t.csv", &text);
    let data = read_dataset(&path, &target("y"), None).unwrap();
    assert_eq!((data.n_rows(), row(&data, 2999)), (3000, vec![2999.5, 3.0]));
    for max_rows in [1, 999, usize::MAX] {
        let mut reader = RowReader::open_with(&path, &ReadOptions::default(), &data.schema).unwrap();
        let batches = drain(&mut reader, max_rows);
        let last = batches.last().unwrap();
        assert_eq!(batches.iter().map(|b| b.x.nrows()).sum::<usize>(), 3000);
        assert_eq!(last.x.row(last.x.nrows() - 1).to_vec(), [2999.5, 3.0]);
    }
    // New rows may be written in another way than the training rows.
    let commas = files.write("new.csv", "b,a\n3,1.5\n");
    let mut reader = RowReader::open_with(&commas, &ReadOptions::default(), &data.schema).unwrap();
    assert_eq!(reader.next_batch(9).unwrap().unwrap().x.row(0).to_vec(), [1.5, 3.0]);
}

#[test]
fn errors_keep_their_place_and_name_the_delimiter() {
    let files = Files::new();
    let check = |path: &Path, options: &ReadOptions, parts: &[&str]| {
        let text = message(path, options);
        for part in parts {
            assert!(text.contains(part), "{text:?} lacks {part:?}");
        }
    };
    let path = files.write("t.csv", TABLE);
    check(&path, &split_at("tab", "y"), &["\"y\"", "len,color,y", "split at every tab", "--delimiter"]);
    check(&path, &split_at(";", "y"), &["split at every semicolon"]);
    check(&path, &split_at("space", "y"), &["--delimiter comma"]);
    let text = message(&path, &target("colour"));
    assert!(text.contains("did you mean \"color\"?") && !text.contains("split"), "{text}");
    assert!(!message(&path, &target("weight")).contains("did you mean"));
    let ragged = files.write("r.csv", "a;b;y\n1;2;p\n3;4\n5;6;q\n");
    check(&ragged, &target("y"), &["row 2 (line 3)", "expected 3 fields", "got 2", "every semicolon"]);
    let ragged = files.write("r.csv", "a,b,y\n1,2,p\n3,4\n");
    assert!(!message(&ragged, &target("y")).contains("--delimiter"));
    // Decimal commas that come too late to be seen.
    let mut late = "a;y\n".to_string();
    (0..2000).for_each(|i| late.push_str(&format!("{i};{}\n", i % 2)));
    late.push_str("1,5;0\n");
    let late = files.write("late.csv", late);
    check(&late, &target("y"), &["row 2001", "\"1,5\"", "--decimal ,"]);
    let given = ReadOptions { decimal: Some(Decimal::Comma), ..target("y") };
    assert_eq!(row(&read_dataset(&late, &given, None).unwrap(), 2000), [1.5]);
    // A point means thousands where the decimal mark is a comma.
    let points =
        files.write("p.csv", "a;y\n1,5;0\n2,5;1\n1;0\n".to_string() + &"3,5;1\n".repeat(40) + "1.500;1\n");
    check(&points, &given, &["row 44", "\"1.500\""]);
}

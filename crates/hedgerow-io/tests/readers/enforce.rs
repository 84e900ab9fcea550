//! A model's schema is enforced on later files.

use crate::files::{Files, drain, idx, npy, target};
use hedgerow_core::{ClassId, Schema};
use hedgerow_io::{ReadOptions, RowReader, read_dataset};

const TRAINING: &str = "size,color,ok,kind\n1.5,red,yes,a\n2,blue,no,b\n3,red,no,a\n";

fn schema() -> Schema {
    let files = Files::new();
    read_dataset(&files.write("train.csv", TRAINING), &target("kind"), None).unwrap().schema.clone()
}

fn open(text: &str, options: &ReadOptions, schema: &Schema) -> Result<Vec<hedgerow_io::Batch>, String> {
    let files = Files::new();
    let path = files.write("new.csv", text);
    let mut reader = RowReader::open_with(&path, options, schema).map_err(|e| e.to_string())?;
    let batches = drain(&mut reader, 100);
    assert_eq!(reader.schema(), schema);
    Ok(batches)
}

#[test]
fn columns_are_found_by_name_in_any_order() {
    let batches =
        open("ok,kind,color,size\nNO,b,blue,7\nyes,?,green,\n", &ReadOptions::default(), &schema()).unwrap();
    assert_eq!(batches.len(), 1);
    let batch = &batches[0];
    assert_eq!(batch.x.row(0).to_vec(), [7.0, 1.0, 0.0]);
    assert_eq!(batch.labels, Some(vec![Some(ClassId(1)), None]));
    // An unknown category and an empty field are missing.
    assert!(batch.x[[1, 0]].is_nan() && batch.x[[1, 1]].is_nan());
    assert_eq!(batch.x[[1, 2]], 1.0);
}

#[test]
fn labels_are_optional_and_may_be_unknown() {
    let batches = open("size,color,ok\n1,red,yes\n", &ReadOptions::default(), &schema()).unwrap();
    assert_eq!(batches[0].labels, None);
    let files = Files::new();
    let path = files.write("new.csv", "size,color,ok,kind\n1,red,yes,z\n1,red,yes,a\n1,red,yes,z\n");
    let mut reader = RowReader::open_with(&path, &ReadOptions::default(), &schema()).unwrap();
    let batches = drain(&mut reader, 2);
    assert_eq!(batches[0].labels, Some(vec![None, Some(ClassId(0))]));
    assert_eq!(batches[1].first_row, 2);
    assert_eq!(reader.unknown_labels().iter().collect::<Vec<_>>(), [(&"z".to_string(), &2)]);
    let path = files.write("other.csv", "size,color,ok,truth\n1,red,yes,b\n");
    let mut reader = RowReader::open_with(&path, &target("truth"), &schema()).unwrap();
    assert_eq!(drain(&mut reader, 9)[0].labels, Some(vec![Some(ClassId(1))]));
}

#[test]
fn missing_and_extra_columns() {
    let none = ReadOptions::default();
    let message = open("size,ok,kind\n1,yes,a\n", &none, &schema()).unwrap_err();
    assert!(message.contains("new.csv") && message.contains("column \"color\""), "{message}");
    assert!(message.contains("size, ok, kind"), "{message}");
    let text = "size,color,ok,kind,more\n1,red,yes,a,5\n";
    let message = open(text, &none, &schema()).unwrap_err();
    assert!(message.contains("new.csv") && message.contains("column \"more\""), "{message}");
    let options = ReadOptions { ignore: vec!["more".parse().unwrap(), "absent".parse().unwrap()], ..none };
    assert_eq!(open(text, &options, &schema()).unwrap()[0].x.nrows(), 1);
    let message = open("size,color,ok,size\n1,red,yes,2\n", &ReadOptions::default(), &schema()).unwrap_err();
    assert!(message.contains("column \"size\"") && message.contains("same name"), "{message}");
}

#[test]
fn text_in_a_column_of_numbers() {
    let files = Files::new();
    let path = files.write("new.csv", "size,color,ok\n1,red,yes\nbig,red,no\n");
    let mut reader = RowReader::open_with(&path, &ReadOptions::default(), &schema()).unwrap();
    let message = reader.next_batch(10).unwrap_err().to_string();
    assert!(
        message.contains("new.csv: row 2 (line 3), column \"size\"") && message.contains("\"big\""),
        "{message}"
    );
}

#[test]
fn columns_without_names_go_by_place() {
    let files = Files::new();
    let bare =
        read_dataset(&files.write("t.txt", "6.0 1 2\n5.0 3 4\n"), &target("0"), None).unwrap().schema.clone();
    let read = |name: &str, content: &[u8]| {
        let path = files.write(name, content);
        let mut reader =
            RowReader::open_with(&path, &ReadOptions::default(), &bare).map_err(|e| e.to_string())?;
        Ok::<_, String>(drain(&mut reader, 10).remove(0))
    };
    let with_labels = read("a.txt", b"5 7 8\n").unwrap();
    assert_eq!(
        (with_labels.x.row(0).to_vec(), with_labels.labels),
        (vec![7.0, 8.0], Some(vec![Some(ClassId(0))]))
    );
    let without = read("b.txt", b"7 8\n").unwrap();
    assert_eq!((without.x.row(0).to_vec(), without.labels), (vec![7.0, 8.0], None));
    let named = read("c.csv", b"p,q\n7,8\n").unwrap();
    assert_eq!(named.x.row(0).to_vec(), [7.0, 8.0]);
    let matrix = read("d.npy", &npy("|u1", false, "(1, 2)", &[7, 8])).unwrap();
    assert_eq!(matrix.x.row(0).to_vec(), [7.0, 8.0]);
    let image = read("e.idx", &idx(8, &[1, 2], &[7, 8])).unwrap();
    assert_eq!((image.x.row(0).to_vec(), image.labels), (vec![7.0, 8.0], None));
    for content in ["7\n", "7 8 9 10\n"] {
        let message = read("f.txt", content.as_bytes()).unwrap_err();
        assert!(message.contains("f.txt") && message.contains("expected 2 feature columns"), "{message}");
    }
}

#[test]
fn libsvm_rows_are_as_wide_as_the_model() {
    let files = Files::new();
    let none = ReadOptions::default();
    let model = read_dataset(&files.write("t.svm", "1 1:1\n2 4:1\n"), &none, None).unwrap().schema.clone();
    let path = files.write("n.svm", "2:5\n2 1:1\n");
    let batch = drain(&mut RowReader::open_with(&path, &none, &model).unwrap(), 10).remove(0);
    assert_eq!(batch.x.row(0).to_vec(), [0.0, 5.0, 0.0, 0.0]);
    assert_eq!(batch.labels, Some(vec![None, Some(ClassId(1))]));
    let path = files.write("w.svm", "1 1:1\n2 5:1\n");
    let message = RowReader::open_with(&path, &none, &model).err().unwrap().to_string();
    assert!(message.contains("w.svm: row 2 (line 2)") && message.contains("expected 4"), "{message}");
    // A model that counts from 0 keeps doing so when a file lacks the first feature.
    let model = read_dataset(&files.write("z.svm", "1 0:1\n2 3:1\n"), &none, None).unwrap().schema.clone();
    let path = files.write("y.svm", "1 2:7\n");
    let batch = drain(&mut RowReader::open_with(&path, &none, &model).unwrap(), 10).remove(0);
    assert_eq!(batch.x.row(0).to_vec(), [0.0, 0.0, 7.0, 0.0]);
}

#[test]
fn weights_are_read_where_they_are_named() {
    let options = ReadOptions { weight: Some("w".parse().unwrap()), ..ReadOptions::default() };
    let batches = open("w,size,color,ok\n2,1,red,yes\n", &options, &schema()).unwrap();
    assert_eq!(batches[0].weights, Some(vec![2.0]));
}

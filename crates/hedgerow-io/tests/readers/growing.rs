//! Files for models that go on learning.

use crate::files::{Files, drain, target};
use hedgerow_core::{ClassId, ColumnKind, Schema};
use hedgerow_io::{ReadOptions, RowReader, read_dataset};

const TRAINING: &str = "size,color,ok,kind\n1.5,red,yes,b\n2,blue,no,a\n3,red,no,b\n";

fn schema(files: &Files) -> Schema {
    read_dataset(&files.write("train.csv", TRAINING), &target("kind"), None).unwrap().schema.clone()
}

fn grow(files: &Files, text: &str) -> RowReader {
    RowReader::open_growing(&files.write("new.csv", text), &ReadOptions::default(), &schema(files)).unwrap()
}

#[test]
fn labels_and_categories_are_added_at_the_end() {
    let files = Files::new();
    let text = "kind,color,ok,size\nz,green,yes,1\na,red,maybe,2\n?,blue,no,3\ny,grey,,4\n";
    let mut reader = grow(&files, text);
    let batch = drain(&mut reader, 10).remove(0);
    let labels = [Some(ClassId(2)), Some(ClassId(0)), None, Some(ClassId(3))];
    assert_eq!(batch.labels, Some(labels.to_vec()));
    assert_eq!(reader.schema().labels.names(), ["a", "b", "z", "y"]);
    let ColumnKind::Categorical { categories } = &reader.schema().columns[1].kind else { panic!() };
    assert_eq!(categories, &["red", "blue", "green", "grey"]);
    assert_eq!(batch.x.column(1).to_vec(), [2.0, 0.0, 1.0, 3.0]);
    // A column of two words stays one.
    assert_eq!(reader.schema().columns[2].kind.word(), "boolean");
    assert!(batch.x[[1, 2]].is_nan() && batch.x[[3, 2]].is_nan());
    assert!(schema(&files).same_columns(reader.schema()));
}

#[test]
fn columns_are_enforced() {
    let files = Files::new();
    let path = files.write("new.csv", "size,ok,kind\n1,yes,a\n");
    let error = RowReader::open_growing(&path, &ReadOptions::default(), &schema(&files)).err().unwrap();
    assert!(error.to_string().contains("column \"color\""), "{error}");
}

#[test]
fn rows_before_a_bad_one_come_first() {
    let files = Files::new();
    let good = "1,red,yes,a\n2,blue,no,b\n";
    for (bad, part) in [("big,red,no,new\n", "\"big\""), ("1,red\n", "fields"), ("1e99,red,no,a\n", "1e99")] {
        let mut reader = grow(&files, &format!("size,color,ok,kind\n{good}"));
        assert_eq!(drain(&mut reader, 10).len(), 1);
        // More rows than are looked at when a file is opened, then a bad one, then more.
        let text = format!("size,color,ok,kind\n{}{bad}3,red,yes,later\n", good.repeat(600));
        for max_rows in [1, 7, 5000] {
            let mut reader = grow(&files, &text);
            let mut n_rows = 0;
            let message = loop {
                match reader.next_batch(max_rows) {
                    Ok(batch) => n_rows += batch.unwrap().x.nrows(),
                    Err(error) => break error.to_string(),
                }
            };
            assert_eq!(n_rows, 1200, "{bad}");
            assert!(message.contains("row 1201") && message.contains(part), "{message}");
            assert_eq!(reader.schema().labels.names(), ["a", "b"], "{bad}");
        }
    }
}

#[test]
fn an_image_must_fit_the_columns() {
    let files = Files::new();
    let path = files.write("t.txt", "0 1 2 3 4\n1 5 6 7 8\n");
    let options = |size| ReadOptions { image: Some(size), ..target("0") };
    let data = read_dataset(&path, &options([2, 2]), None).unwrap();
    assert_eq!(data.schema.image, Some([2, 2]));
    let message = read_dataset(&path, &options([2, 3]), None).unwrap_err().to_string();
    assert!(message.contains("image") && message.contains('4') && message.contains("2 × 3"), "{message}");
    // A model is told later, too.
    let plain = read_dataset(&path, &target("0"), None).unwrap().schema.clone();
    let options = ReadOptions { image: Some([4, 1]), ..ReadOptions::default() };
    let reader = RowReader::open_with(&path, &options, &plain).unwrap();
    assert_eq!(reader.schema().image, Some([4, 1]));
}

#[test]
fn classes_and_categories_may_be_known_beforehand() {
    let files = Files::new();
    let path = files.write("t.csv", "color,kind\nred,2\nblue,1\n");
    let mut known = RowReader::open(&path, &target("kind")).unwrap().schema().clone();
    known.labels = ["1", "2", "3"].map(String::from).to_vec().into();
    known.columns[0].kind = ColumnKind::Categorical { categories: vec!["blue".into()] };
    let reader = RowReader::open(&path, &target("kind")).unwrap().for_learning();
    let mut reader = reader.with_schema(&known).unwrap();
    let batch = drain(&mut reader, 10).remove(0);
    assert_eq!(batch.labels, Some(vec![Some(ClassId(1)), Some(ClassId(0))]));
    assert_eq!(batch.x.column(0).to_vec(), [1.0, 0.0]);
    assert_eq!(reader.schema().n_classes(), 3);
    let reader = RowReader::open(&path, &target("kind")).unwrap();
    assert!(reader.with_schema(&Schema::unnamed(1)).is_err());
}

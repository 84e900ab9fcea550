//! Targets that are numbers.

use std::path::{Path, PathBuf};

use hedgerow_core::{Dataset, Result, Task};
use hedgerow_io::{ReadOptions, RowReader, read_dataset};

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn read(path: &Path, target: &str) -> Result<Dataset> {
    let target = Some(target.parse().unwrap());
    read_dataset(path, &ReadOptions { target, task: Task::Regression, ..ReadOptions::default() }, None)
}

#[test]
fn the_target_is_taken_out_wherever_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let named = write(folder.path(), "a.csv", "x,y,color\n1,2.5,red\n2,-3,blue\n");
    let data = read(&named, "y").unwrap();
    assert_eq!((data.values(), data.schema.n_features()), (&[2.5, -3.0][..], 2));
    assert_eq!((data.schema.target.as_deref(), data.schema.task()), (Some("y"), Task::Regression));
    let other = write(folder.path(), "b.csv", "color,y,x\nred,7,1\ngreen,,5\n");
    let mut reader = RowReader::open_with(&other, &ReadOptions::default(), &data.schema).unwrap();
    let batch = reader.next_batch(9).unwrap().unwrap();
    let values = batch.values.unwrap();
    assert_eq!((values[0], batch.x[(0, 0)], batch.x[(0, 1)]), (7.0, 1.0, 0.0));
    assert!(values[1].is_nan() && batch.x[(1, 1)].is_nan() && batch.labels.is_none());
    // A file to predict need not have it.
    let bare = write(folder.path(), "e.csv", "x,color\n1,red\n");
    let mut reader = RowReader::open_with(&bare, &ReadOptions::default(), &data.schema).unwrap();
    assert!(reader.next_batch(9).unwrap().unwrap().values.is_none());
}

#[test]
fn without_names_the_target_goes_by_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let bare = write(folder.path(), "c.csv", "1,10,100\n2,20,200\n");
    let data = read(&bare, "1").unwrap();
    assert_eq!(data.values(), [10.0, 20.0]);
    let mut reader = RowReader::open_with(&bare, &ReadOptions::default(), &data.schema).unwrap();
    assert_eq!(reader.next_batch(9).unwrap().unwrap().values.unwrap(), [10.0, 20.0]);
}

#[test]
fn values_are_read_in_full_precision_and_with_weights() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "p.csv", "x;y;w\n1;0,123456789012;2\n2;16777217;0,5\n");
    let options = ReadOptions {
        target: Some("y".parse().unwrap()),
        weight: Some("w".parse().unwrap()),
        task: Task::Regression,
        ..ReadOptions::default()
    };
    let data = read_dataset(&path, &options, None).unwrap();
    assert_eq!(data.values(), [0.123_456_789_012, 16_777_217.0]);
    assert_eq!(data.weights, Some(vec![2.0, 0.5]));
    // LIBSVM has its target in front.
    let path = write(folder.path(), "d.libsvm", "1.25 1:3\n-7.5 1:4 2:1\n");
    let options = ReadOptions { task: Task::Regression, ..ReadOptions::default() };
    assert_eq!(read_dataset(&path, &options, None).unwrap().values(), [1.25, -7.5]);
}

#[test]
fn what_cannot_be_a_value_is_reported_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let message = |text: &str, target: &str| {
        let path = write(folder.path(), "bad.csv", text);
        read(&path, target).unwrap_err().to_string()
    };
    let text = message("x,y,color\n1,2.5,red\n2,-3,blue\n", "color");
    assert!(text.contains("row 1") && text.contains("\"color\"") && text.contains("--task"), "{text}");
    let text = message("x,y\n1,2\n3,\n", "y");
    assert!(text.contains("row 2") && text.contains("\"y\""), "{text}");
    let text = message("x,y\n1,2\n3,inf\n", "y");
    assert!(text.contains("row 2") && text.contains("finite"), "{text}");
    let text = message("x,y\n1,2\n", "y");
    assert!(text.contains("at least"), "{text}");
    let path = write(folder.path(), "none.csv", "x,y\n1,2\n3,4\n");
    let options = ReadOptions { task: Task::Regression, ..ReadOptions::default() };
    let text = read_dataset(&path, &options, None).unwrap_err().to_string();
    assert!(text.contains("--target"), "{text}");
}

//! The split into batches does not change what is read, and a summary agrees with it.

use std::path::{Path, PathBuf};

use crate::files::{Files, drain, gzip, npy, target};
use hedgerow_io::{Batch, ReadOptions, RowReader, read_dataset, summarize};

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

/// Everything that comes out of a file, whatever the batches were.
fn all(path: &Path, options: &ReadOptions, max_rows: usize) -> (String, Vec<u32>, Vec<Option<u32>>) {
    let mut reader = RowReader::open(path, options).unwrap();
    let mut rows = 0;
    let (mut x, mut labels) = (Vec::new(), Vec::new());
    for Batch { first_row, x: more, labels: more_labels, .. } in drain(&mut reader, max_rows) {
        assert_eq!(first_row, rows);
        assert!(more.nrows() <= max_rows);
        rows += more.nrows() as u64;
        x.extend(more.iter().map(|v| v.to_bits()));
        labels.extend(more_labels.unwrap_or_default().into_iter().map(|c| c.map(|c| c.0)));
    }
    assert!(reader.next_batch(max_rows).unwrap().is_none());
    (serde_json::to_string(reader.schema()).unwrap(), x, labels)
}

fn check_splits(path: &Path, options: &ReadOptions) {
    let whole = all(path, options, usize::MAX);
    for max_rows in [1, 7, 1000] {
        assert_eq!(all(path, options, max_rows), whole, "{} by {max_rows}", path.display());
    }
}

#[test]
fn any_split_gives_the_same_rows() {
    check_splits(&bundled("titanic.csv.gz"), &target("Survived"));
    check_splits(&bundled("banana.csv.gz"), &target("label"));
    let files = Files::new();
    let mut svm = String::new();
    (0..2500).for_each(|i| svm.push_str(&format!("{} {}:1.5 9:{i}\n", i % 3, 1 + i % 7)));
    check_splits(&files.write("t.svm.gz", gzip(svm.as_bytes())), &ReadOptions::default());
    let bytes: Vec<u8> = (0..9000_u32).map(|i| (i * 31 % 251) as u8).collect();
    let labels: Vec<u8> = (0..3000_u32).map(|i| (i % 5) as u8).collect();
    let beside = files.write("y.npy", npy("|u1", false, "(3000,)", &labels));
    let options = ReadOptions { labels: Some(beside), ..ReadOptions::default() };
    check_splits(&files.write("x.npy", npy("|u1", false, "(3000, 3)", &bytes)), &options);
    check_splits(&files.write("f.npy", npy("<u2", true, "(1500, 3)", &bytes)), &ReadOptions::default());
    let mut arff = "@attribute a real\n@attribute b {x,y}\n@data\n".to_string();
    (0..1500).for_each(|i| arff.push_str(&format!("{i},{}\n", if i % 2 == 0 { "x" } else { "?" })));
    check_splits(&files.write("t.arff", arff), &target("b"));
}

#[test]
fn the_whole_data_set_agrees_with_its_batches() {
    let path = bundled("digits.csv.gz");
    let data = read_dataset(&path, &target("digit"), None).unwrap();
    assert_eq!((data.n_rows(), data.schema.n_features(), data.schema.n_classes()), (1797, 64, 10));
    let mut reader = RowReader::open_with(&path, &ReadOptions::default(), &data.schema).unwrap();
    let batches = drain(&mut reader, 100);
    let labels: Vec<_> = batches.iter().flat_map(|b| b.labels.clone().unwrap()).map(Option::unwrap).collect();
    assert_eq!(labels, data.labels());
    let values: Vec<f32> = batches.iter().flat_map(|b| b.x.iter().copied()).collect();
    assert_eq!(values, data.features.to_array(0..1797).into_raw_vec_and_offset().0);
}

#[test]
fn a_summary_tells_what_is_in_the_file() {
    let titanic = summarize(&bundled("titanic.csv.gz"), &target("Survived")).unwrap();
    assert_eq!((titanic.rows, titanic.format.as_str()), (2201, "csv"));
    let classes = titanic.classes.unwrap();
    assert_eq!(
        classes.iter().map(|c| (c.label.as_str(), c.count)).collect::<Vec<_>>(),
        [("No", 1490), ("Yes", 711)]
    );
    assert_eq!(titanic.columns[1].top[0].name, "Male");
    assert_eq!(titanic.columns[1].top[0].count, 1731);
    let files = Files::new();
    let small =
        summarize(&files.write("t.csv", "a,b\n1,x\n4,\n?,x\n1,z\n"), &ReadOptions::default()).unwrap();
    assert_eq!(small.classes, None);
    let column = &small.columns[0];
    assert_eq!((column.missing, column.distinct, column.min, column.max), (1, 2, Some(1.0), Some(4.0)));
    assert_eq!(column.mean, Some(2.0));
    assert_eq!((small.columns[1].kind.as_str(), small.columns[1].missing), ("categorical", 1));
    assert!(serde_json::to_string(&small).unwrap().contains("\"distinct\":2"));
}

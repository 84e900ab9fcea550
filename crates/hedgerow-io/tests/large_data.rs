//! Real data sets, looked for under `HEDGEROW_DATA`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Instant;

use hedgerow_core::{ColumnKind, Features};
use hedgerow_io::{Format, ReadOptions, read_dataset, summarize};

/// The folder, or a line that says what is skipped.
fn folder(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("HEDGEROW_DATA").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: {test} needs HEDGEROW_DATA to name the folder of data sets");
    }
    folder
}

fn target(name: &str) -> ReadOptions {
    ReadOptions { target: Some(name.parse().unwrap()), ..ReadOptions::default() }
}

#[test]
fn mnist() {
    let Some(folder) = folder("mnist") else { return };
    let start = Instant::now();
    let path = folder.join("mnist/train-images-idx3-ubyte.gz");
    let data = read_dataset(&path, &ReadOptions::default(), None).unwrap();
    println!("mnist: read in {:.2} s", start.elapsed().as_secs_f64());
    assert!(matches!(data.features, Features::Bytes { .. }));
    assert_eq!((data.n_rows(), data.schema.n_features(), data.schema.n_classes()), (60_000, 784, 10));
    assert_eq!(data.schema.image, Some([28, 28]));
    assert_eq!(data.class_counts()[..3], [5923, 6742, 5958]);
}

#[test]
fn usps() {
    let Some(folder) = folder("usps") else { return };
    let options = ReadOptions { format: Some(Format::Whitespace), ..target("0") };
    let train = read_dataset(&folder.join("usps/zip.train.gz"), &options, None).unwrap();
    assert_eq!((train.n_rows(), train.schema.n_features()), (7291, 256));
    assert_eq!(train.class_counts(), [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]);
    let test = read_dataset(&folder.join("usps/zip.test.gz"), &options, None).unwrap();
    assert_eq!(test.n_rows(), 2007);
}

#[test]
fn tables() {
    let Some(folder) = folder("tables") else { return };
    let read = |name: &str, column: &str| {
        read_dataset(&folder.join(format!("tabular/{name}.csv.gz")), &target(column), None)
    };
    let german = read("german", "risk").unwrap();
    let categorical = |c: &&hedgerow_core::Column| matches!(c.kind, ColumnKind::Categorical { .. });
    assert_eq!(german.schema.columns.iter().filter(categorical).count(), 13);
    let cancer = summarize(&folder.join("tabular/breast_cancer.csv.gz"), &target("Class")).unwrap();
    assert_eq!(cancer.columns.iter().map(|c| c.missing).sum::<u64>(), 16);
    assert_eq!(read("abalone", "rings").unwrap().schema.n_classes(), 28);
    for (name, column) in [("boston", "medv"), ("pumadyn32nm", "y")] {
        let message = read(name, column).unwrap_err().to_string();
        assert!(message.contains("continuous") && message.contains(name), "{message}");
    }
    for (name, column, rows, features, classes) in [
        ("letter", "lettr", 20_000, 16, 26),
        ("dna", "Class", 3186, 180, 3),
        ("shuttle", "Class", 58_000, 9, 7),
        ("spam", "type", 4601, 57, 2),
        ("waveform", "label", 5000, 21, 3),
        ("glass", "Type", 214, 9, 6),
        ("pima", "diabetes", 768, 8, 2),
        ("ionosphere", "Class", 351, 34, 2),
        ("sonar", "Class", 208, 60, 2),
    ] {
        let data = read(name, column).unwrap();
        let got = (data.n_rows(), data.schema.n_features(), data.schema.n_classes());
        assert_eq!(got, (rows, features, classes), "{name}");
    }
}

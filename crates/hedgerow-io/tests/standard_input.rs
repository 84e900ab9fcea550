//! `-` reads standard input. The test starts itself again with a pipe, since a test has no input of its own.
#![allow(clippy::unwrap_used)]

mod files;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use files::{f32_bytes, gzip, npy, zip};
use hedgerow_io::{Format, ReadOptions, read_dataset};

const CHILD: &str = "HEDGEROW_TEST_STANDARD_INPUT";

#[test]
fn child() {
    let Ok(format) = std::env::var(CHILD) else { return };
    if format.is_empty() {
        let error = read_dataset(Path::new("-"), &ReadOptions::default(), None).unwrap_err().to_string();
        assert!(error.contains("standard input") && error.contains("--format"), "{error}");
        return;
    }
    let format: Format = format.parse().unwrap();
    let target = (format == Format::Csv).then(|| "y".parse().unwrap());
    let options = ReadOptions { format: Some(format), target, ..ReadOptions::default() };
    let data = read_dataset(Path::new("-"), &options, None).unwrap();
    assert_eq!((data.n_rows(), data.schema.n_features()), (2, 2));
}

fn run_child(format: &str, content: &[u8]) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child"])
        .env(CHILD, format)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The child may stop reading early.
    let _ = child.stdin.take().unwrap().write_all(content);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{format}: {}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn every_kind_of_reader_takes_standard_input() {
    let csv = b"a,b,y\n1,2,p\n3,4,q\n";
    run_child("csv", csv);
    run_child("csv", &gzip(csv));
    let semicolons = b"a;b;y\n1,5;2;p\n3;4,5;q\n";
    run_child("csv", semicolons);
    run_child("csv", &gzip(semicolons));
    // Read twice, and not sought in.
    run_child("libsvm", b"1 1:2\n0 2:3\n");
    let x = npy("<f4", false, "(2, 2)", &f32_bytes(&[1.0, 2.0, 3.0, 4.0]));
    let y = npy("|u1", false, "(2,)", &[0, 1]);
    run_child("npz", &zip(&[("X.npy", x), ("y.npy", y)], true));
    run_child("", csv);
}

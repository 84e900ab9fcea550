//! Every kind of bad input gives an error that says where.

use crate::files::{Files, gzip, idx, message, npy, target};
use hedgerow_io::{Delimiter, ReadOptions, read_dataset};

/// A table of 40 rows with numbers, in which one row is replaced.
fn table(bad_row: usize, text: &[u8]) -> Vec<u8> {
    let mut out = b"a,b,y\n".to_vec();
    for i in 1..=40 {
        if i == bad_row {
            out.extend_from_slice(text);
        } else {
            out.extend(format!("{i},{}.5,{}", i * 2, i % 2).bytes());
        }
        out.push(b'\n');
    }
    out
}

#[track_caller]
fn check(name: &str, content: impl AsRef<[u8]>, options: &ReadOptions, wanted: &[&str]) {
    let files = Files::new();
    let message = message(&files.write(name, content), options);
    assert!(message.contains(name), "{message}");
    for part in wanted {
        assert!(message.contains(part), "{message:?} lacks {part:?}");
    }
}

#[test]
fn ragged_rows() {
    check("t.csv", table(7, b"1,2"), &target("y"), &["row 7 (line 8)", "expected 3 fields", "got 2"]);
    check("t.tsv", "a\ty\n1\t0\n1\t2\t3\n", &target("y"), &["row 2 (line 3)", "got 3"]);
    check("t.txt", "1 2\n\n3\n", &target("0"), &["row 2 (line 3)", "got 1"]);
    check(
        "t.arff",
        "@attribute a real\n@attribute class {x}\n@data\n1,x,2\n",
        &target("class"),
        &["row 1 (line 4)", "got 3"],
    );
}

#[test]
fn text_in_a_column_of_numbers() {
    check("t.csv", table(9, b"x7,2,0"), &target("y"), &["row 9 (line 10)", "column \"a\"", "\"x7\""]);
    // After the rows from which the kinds were told.
    let mut late = b"a,y\n".to_vec();
    (0..1500).for_each(|i| late.extend(format!("{i},{}\n", i % 2).bytes()));
    late.extend(b"oops,1\n");
    check("t.csv", late, &target("y"), &["row 1501 (line 1502)", "column \"a\"", "\"oops\""]);
}

#[test]
fn infinite_values() {
    for text in ["inf", "-Infinity", "1e39"] {
        let row = format!("3,{text},0");
        check("t.csv", table(4, row.as_bytes()), &target("y"), &["row 4 (line 5)", "column \"b\"", text]);
    }
    let content = crate::files::f32_bytes(&[1.0, 0.0, f32::INFINITY, 1.0]);
    check("t.npy", npy("<f4", false, "(2, 2)", &content), &target("1"), &["row 2", "column \"0\"", "inf"]);
    check("t.svm", "1 1:2\n0 2:inf\n", &ReadOptions::default(), &["row 2 (line 2)", "column \"2\""]);
}

#[test]
fn empty_files_and_headers_without_rows() {
    for name in ["t.csv", "t.tsv", "t.txt", "t.svm", "t.arff"] {
        check(name, "", &target("y"), &["no rows"]);
        check(name, "\n\n", &target("y"), &["no rows"]);
    }
    check("t.csv", "a,b,y\n", &target("y"), &["no rows"]);
    check("t.arff", "@relation x\n@attribute y {a}\n@attribute b real\n@data\n", &target("y"), &["no rows"]);
    check("t.npy", npy("<f4", false, "(0, 2)", &[]), &target("1"), &["no rows"]);
    check("t.npz", "", &target("1"), &["no rows"]);
    check("t.idx", "", &target("1"), &["empty file"]);
}

#[test]
fn targets_that_are_absent_or_misnamed() {
    check("t.csv", table(0, b""), &ReadOptions::default(), &["no labels", "a, b, y"]);
    check("t.csv", table(0, b""), &target("z"), &["\"z\"", "a, b, y"]);
    check("t.csv", table(0, b""), &target("3"), &["\"3\"", "a, b, y"]);
    check("t.idx", idx(8, &[1, 2], &[1, 2]), &ReadOptions::default(), &["--labels"]);
    let options = ReadOptions { ignore: vec!["q".parse().unwrap()], ..target("y") };
    check("t.csv", table(0, b""), &options, &["\"q\"", "a, b, y"]);
}

#[test]
fn labels_that_cannot_be_learned() {
    check("t.csv", table(3, b"1,2,"), &target("y"), &["row 3 (line 4)", "column \"y\"", "label is missing"]);
    check("t.csv", "a,y\n1,x\n2,x\n", &target("y"), &["same label", "\"x\""]);
    let mut floats = "a,y\n".to_string();
    let mut ints = floats.clone();
    (0..300).for_each(|i| floats.push_str(&format!("{i},{}\n", f64::from(i) * 0.37)));
    (0..300).for_each(|i| ints.push_str(&format!("{i},{}\n", i * 7)));
    check("t.csv", floats, &target("y"), &["continuous", "300", "column \"y\""]);
    check("t.csv", ints, &target("y"), &["continuous", "300"]);
    let mut many = "a,y\n".to_string();
    (0..70_000).for_each(|i| many.push_str(&format!("1,{i}.5\n")));
    check("t.csv", &many, &target("y"), &["continuous", "65535"]);
    check("t.csv", many.replace(".5", "x"), &target("y"), &["more than 65535 different labels", "row 65536"]);
    check("t.csv", "y\n1\n2\n", &target("y"), &["no column to learn from"]);
}

#[test]
fn damaged_compression() {
    let packed = gzip(&table(0, b""));
    check("t.csv.gz", &packed[..packed.len() / 2], &target("y"), &["damaged or cut off"]);
    check("t.csv.gz", &packed[..5], &target("y"), &["damaged or cut off"]);
    check("t.csv.gz", "a,y\n1,2\n", &target("y"), &["damaged or cut off"]);
    let mut flipped = packed.clone();
    let end = flipped.len() - 6;
    flipped[end] ^= 0xff;
    check("t.csv.gz", &flipped, &target("y"), &["damaged or cut off"]);
    let mut large = b"a,y\n".to_vec();
    (0..200_000).for_each(|i| large.extend(format!("{},{}\n", i * 7919 % 100_003, i % 2).bytes()));
    let packed = gzip(&large);
    check("t.csv.gz", &packed[..packed.len() - 100], &target("y"), &["damaged or cut off", "row "]);
    check("t.txt.gz", &gzip(b"1 2\n3 4\n")[..20], &target("0"), &["damaged or cut off"]);
    check("t.idx.gz", &gzip(&idx(8, &[9, 9], &[1; 81]))[..20], &target("0"), &["damaged or cut off"]);
}

#[test]
fn text_that_is_not_utf8() {
    check("t.csv", table(5, b"\xff\xfe,2,0"), &target("y"), &["row 5 (line 6)", "column \"a\"", "UTF-8"]);
    check("t.csv", b"\xff,y\n1,0\n", &target("y"), &["line 1", "UTF-8"]);
    check("t.csv", table(5, b"1,2,\xff"), &target("y"), &["row 5 (line 6)", "column \"y\"", "UTF-8"]);
}

#[test]
fn too_many_columns_are_refused_at_once() {
    let mut wide: String = (0..100_000).map(|i| format!("c{i},")).collect();
    wide.push_str("y\n");
    wide.push_str(&"0,".repeat(100_000));
    wide.push_str("1\n");
    check("t.csv", wide, &target("y"), &["100000 columns", "65535"]);
    check("t.npy", npy("<f4", false, "(2, 100000)", &[]), &target("0"), &["columns", "65535"]);
    check("t.idx", idx(8, &[1 << 31, 1 << 31, 1 << 31], &[]), &target("0"), &["columns", "65535"]);
    check("t.svm", "1 1:1\n2 4000000000:1\n", &ReadOptions::default(), &["columns", "65535"]);
    check("t.svm", "2 99999999999 2 1\n1 1:1\n", &ReadOptions::default(), &["columns", "65535"]);
}

#[test]
fn columns_of_one_name() {
    check("t.csv", "a,b,a,y\n1,2,3,0\n", &target("y"), &["column \"a\"", "columns 0 and 2"]);
    let options = ReadOptions { ignore: vec!["2".parse().unwrap()], ..target("y") };
    let files = Files::new();
    let path = files.write("t.csv", "a,b,a,y\n1,2,3,0\n4,5,6,1\n");
    assert_eq!(read_dataset(&path, &options, None).unwrap().schema.n_features(), 2);
}

#[test]
fn headers_that_promise_more_than_the_file_holds() {
    check(
        "t.npy",
        npy("<f8", false, "(1000000000000, 8)", &[0; 640]),
        &target("0"),
        &["row 11", "1000000000000 rows"],
    );
    check("t.npy", npy("<f8", true, "(1000000000000, 8)", &[0; 64]), &target("0"), &["Fortran"]);
    check("t.npy", npy("<f8", false, "(99999999999999999999, 8)", &[0; 64]), &target("0"), &["'shape'"]);
    check("t.idx", idx(8, &[u32::MAX, 4], &[1; 10]), &target("0"), &["row 3", "4294967295 rows"]);
    check("t.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", &target("0"), &["header of at most"]);
    check("t.npy", npy("|O", false, "(2, 2)", &[]), &target("0"), &["pickle"]);
    check("t.npy", npy("<c8", false, "(2, 2)", &[]), &target("0"), &["c8"]);
}

#[test]
fn labels_beside_that_do_not_match() {
    let files = Files::new();
    files.write("a-labels-idx1-ubyte", idx(8, &[3], &[1, 2, 3]));
    let path = files.write("a-images-idx3-ubyte", idx(8, &[2, 1, 1], &[1, 2]));
    let text = message(&path, &ReadOptions::default());
    assert!(text.contains("2 rows but 3 labels"), "{text}");
    let labels = Some(files.write("y.npy", npy("|u1", false, "(3,)", &[1, 2, 3])));
    let options = ReadOptions { labels, ..ReadOptions::default() };
    let text = message(&files.write("t.csv", "a\nx\ny\n"), &options);
    assert!(text.contains("2 rows but 3 labels"), "{text}");
    let text = message(&files.write("t.csv", "a\nx\ny\nz\nz\n"), &options);
    assert!(text.contains("4 rows but 3 labels"), "{text}");
    let text =
        message(&files.write("u.csv", "a\nx\n"), &ReadOptions { target: target("a").target, ..options });
    assert!(text.contains("labels"), "{text}");
}

#[test]
fn libsvm_mistakes() {
    let none = ReadOptions::default();
    check("t.svm", "1 1:1\n0 3:1 2:1\n", &none, &["row 2 (line 2)", "rising"]);
    check("t.svm", "1 1:1\n0 x:1\n", &none, &["row 2 (line 2)", "index:value"]);
    check("t.svm", "1 1:1\n0 2\n", &none, &["row 2 (line 2)", "index:value"]);
    check("t.svm", "1 qid:3 1:1\n", &none, &["row 1 (line 1)", "qid"]);
    check("t.svm", "1 1:1\n0 2:x\n", &none, &["row 2 (line 2)", "column \"2\"", "\"x\""]);
    check("t.svm", "1 1:1\n2:1\n", &none, &["row 2 (line 2)", "label is missing"]);
}

#[test]
fn weights_that_are_no_weights() {
    for weight in ["-1", "", "x", "inf"] {
        let text = format!("a,w,y\n1,1,0\n2,{weight},1\n");
        let options = ReadOptions { weight: Some("w".parse().unwrap()), ..target("y") };
        check("t.csv", text, &options, &["row 2 (line 3)", "column \"w\"", "weight"]);
    }
}

#[test]
fn too_many_categories_and_too_much_memory() {
    let mut text = "name,y\n".to_string();
    (0..70_000).for_each(|i| text.push_str(&format!("n{i},{}\n", i % 2)));
    check("t.csv", &text, &target("y"), &["row 65536", "column \"name\"", "--ignore"]);
    let files = Files::new();
    let path = files.write("t.csv", table(0, b""));
    let error = read_dataset(&path, &target("y"), Some(100)).unwrap_err().to_string();
    assert!(error.contains("t.csv") && error.contains("100 bytes"), "{error}");
    assert!(read_dataset(&path, &target("y"), Some(40 * 2 * 4)).is_ok());
}

#[test]
fn files_that_cannot_be_opened() {
    let files = Files::new();
    assert!(message(&files.path("nowhere.csv"), &target("y")).contains("nowhere.csv"));
    std::fs::create_dir(files.path("folder.csv")).unwrap();
    assert!(message(&files.path("folder.csv"), &target("y")).contains("folder.csv"));
    assert!(message(&files.write("t.xyz", "1"), &target("y")).contains("--format"));
    let blanks = ReadOptions { delimiter: Some(Delimiter::SPACE), ..target("0") };
    check("t.txt", "1,2,3\n4,5,6\n", &blanks, &["--delimiter comma"]);
    check("t.npz", "not a zip", &target("0"), &["npz"]);
}

//! Each format gives the rows, labels and schema that its file holds, compressed or not.

use crate::files::{Files, f32_bytes, gzip, idx, label_names, npy, read_both, row, target, zip};
use hedgerow_core::{ColumnKind, Features};
use hedgerow_io::{ColumnRef, Format, ReadOptions, read_dataset};

#[test]
fn csv_with_every_kind_of_column() {
    let text = "\u{feff}size,\"the color\",ok,kind\r\n1.5,red,yes,a\r\n\r\n?,\"blue, dark\",No,b\r\n-2e1,NA,YES,a\r\n";
    let data = read_both("t.csv", text.as_bytes(), &target("kind"));
    assert!(data.schema.named);
    assert_eq!(data.schema.target.as_deref(), Some("kind"));
    assert_eq!(data.schema.columns[0].name, "size");
    assert_eq!(data.schema.columns[0].kind, ColumnKind::Numeric);
    let categories = vec!["red".to_string(), "blue, dark".to_string()];
    assert_eq!(data.schema.columns[1].kind, ColumnKind::Categorical { categories });
    assert_eq!(data.schema.columns[2].kind, ColumnKind::Boolean { no: "No".into(), yes: "yes".into() });
    assert_eq!(row(&data, 0), [1.5, 0.0, 1.0]);
    assert!(row(&data, 1)[0].is_nan());
    assert_eq!(row(&data, 1)[1..], [1.0, 0.0]);
    assert_eq!(row(&data, 2)[0], -20.0);
    assert!(row(&data, 2)[1].is_nan());
    assert_eq!(label_names(&data), ["a", "b", "a"]);
}

#[test]
fn csv_target_weight_ignored_and_forced_columns() {
    let text = "id,code,w,y\n7,1,0.5,0\n8,2.0,2,1\n9,2,1,0\n";
    let options = ReadOptions {
        target: Some(ColumnRef::Index(3)),
        weight: Some("w".parse().unwrap()),
        ignore: vec!["0".parse().unwrap()],
        categorical: vec!["code".parse().unwrap()],
        ..ReadOptions::default()
    };
    let data = read_both("t.csv", text.as_bytes(), &options);
    assert_eq!(data.schema.n_features(), 1);
    let categories = vec!["1".to_string(), "2".to_string()];
    assert_eq!(data.schema.columns[0].kind, ColumnKind::Categorical { categories });
    assert_eq!(data.weights, Some(vec![0.5, 2.0, 1.0]));
    assert_eq!(row(&data, 2), [1.0]);
}

#[test]
fn csv_without_a_header() {
    let by_guess = read_both("t.csv", b"1,2,0\n3,4,1\n", &target("2"));
    assert!(!by_guess.schema.named);
    assert_eq!(by_guess.n_rows(), 2);
    assert_eq!(by_guess.schema.columns[1].name, "1");
    let options = ReadOptions { header: Some(false), ..target("1") };
    let by_order = read_both("t.csv", b"1,a\n3,b\n", &options);
    assert_eq!(label_names(&by_order), ["a", "b"]);
    let options = ReadOptions { header: Some(true), ..target("9") };
    let numbers_as_names = read_both("t.csv", b"8,9\n3,0\n4,1\n", &options);
    assert_eq!(numbers_as_names.schema.columns[0].name, "8");
    assert_eq!(numbers_as_names.n_rows(), 2);
}

#[test]
fn none_is_missing_among_numbers_and_a_word_among_words() {
    let data = read_both("t.csv", b"a,b,y\n1,None,0\nNone,some,1\n3,None,0\n", &target("y"));
    assert_eq!(data.schema.columns[0].kind, ColumnKind::Numeric);
    assert!(row(&data, 1)[0].is_nan());
    assert_eq!(data.schema.columns[1].kind.n_categories(), 2);
}

#[test]
fn a_third_word_turns_a_truth_value_into_a_category() {
    let mut text = "a,y\n".to_string();
    for i in 0..1200 {
        text.push_str(if i % 2 == 0 { "t,0\n" } else { "f,1\n" });
    }
    text.push_str("u,1\n");
    let data = read_both("t.csv", text.as_bytes(), &target("y"));
    let categories = ["f", "t", "u"].map(String::from).to_vec();
    assert_eq!(data.schema.columns[0].kind, ColumnKind::Categorical { categories });
    assert_eq!(row(&data, 0), [1.0]);
    assert_eq!(row(&data, 1200), [2.0]);
}

#[test]
fn tsv() {
    let data = read_both("t.tsv", b"a b\t\"c\"\ty\n1\t\"x\ty\"\tp\n2\tz\tq\n", &target("y"));
    assert_eq!(data.schema.columns[0].name, "a b");
    let categories = vec!["x\ty".to_string(), "z".to_string()];
    assert_eq!(data.schema.columns[1].kind, ColumnKind::Categorical { categories });
}

#[test]
fn whitespace_tables() {
    let bare = read_both("t.txt", b"6.0000 -1 0.5 \n5.0000  -0.25\t1 \r\n\n", &target("0"));
    assert!(!bare.schema.named);
    assert_eq!(bare.schema.labels.names(), ["5", "6"]);
    assert_eq!(row(&bare, 1), [-0.25, 1.0]);
    let with_header = read_both("t.data", b"y a b\n1 2 3\n0 4 5\n", &target("y"));
    assert!(with_header.schema.named);
    assert_eq!(with_header.n_rows(), 2);
    let words = read_both("t.txt", b"x red\ny blue\n", &target("0"));
    assert_eq!(words.n_rows(), 2);
}

#[test]
fn libsvm() {
    let text = b"# made by hand\n+1 1:0.5 3:2 # note\n-1 2:-1e0\n\n";
    let data = read_both("t.libsvm", text, &ReadOptions::default());
    assert_eq!(data.schema.columns[0].name, "1");
    assert_eq!(data.schema.n_features(), 3);
    assert_eq!(row(&data, 0), [0.5, 0.0, 2.0]);
    assert_eq!(row(&data, 1), [0.0, -1.0, 0.0]);
    assert_eq!(label_names(&data), ["1", "-1"]);
    let from_zero = read_both("t.svm", b"a 0:1\nb 2:1\n", &ReadOptions::default());
    assert_eq!(from_zero.schema.n_features(), 3);
    assert_eq!(from_zero.schema.columns[0].name, "0");
}

#[test]
fn libsvm_with_the_sizes_in_its_first_line() {
    let data = read_both("t.svm", b"2 5 3 1\n0 1:1\n2 4:1\n", &ReadOptions::default());
    assert_eq!(data.schema.n_features(), 5);
    let files = Files::new();
    for (text, wanted) in [
        ("3 5 2 1\n0 1:1\n1 4:1\n", "3 rows"),
        ("2 3 2 1\n0 1:1\n1 4:1\n", "row 2 (line 3)"),
        ("2 5 1 1\n0 1:1\n1 4:1\n", "1 classes"),
    ] {
        let message = crate::files::message(&files.write("t.svm", text), &ReadOptions::default());
        assert!(message.contains(wanted) && message.contains("t.svm"), "{message}");
    }
}

#[test]
fn idx_with_labels_beside_it() {
    let images = idx(8, &[3, 2, 2], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255]);
    let labels = idx(8, &[3], &[7, 1, 7]);
    for (image_gz, label_gz) in [(false, false), (true, false), (false, true), (true, true)] {
        let files = Files::new();
        let write = |name: &str, content: &[u8], gz: bool| {
            if gz { files.write(&format!("{name}.gz"), gzip(content)) } else { files.write(name, content) }
        };
        write("train-labels-idx1-ubyte", &labels, label_gz);
        let path = write("train-images-idx3-ubyte", &images, image_gz);
        let data = read_dataset(&path, &ReadOptions::default(), None).unwrap();
        assert!(matches!(data.features, Features::Bytes { .. }));
        assert_eq!(data.schema.image, Some([2, 2]));
        assert_eq!(row(&data, 2), [9.0, 10.0, 11.0, 255.0]);
        assert_eq!(label_names(&data), ["7", "1", "7"]);
        assert!(!data.schema.named);
    }
}

#[test]
fn idx_of_other_element_types() {
    let cases: [(u8, Vec<u8>); 5] = [
        (0x09, vec![0xff, 2]),
        (0x0b, [(-1_i16).to_be_bytes(), 2_i16.to_be_bytes()].concat()),
        (0x0c, [(-1_i32).to_be_bytes(), 2_i32.to_be_bytes()].concat()),
        (0x0d, [(-1_f32).to_be_bytes(), 2_f32.to_be_bytes()].concat()),
        (0x0e, [(-1_f64).to_be_bytes(), 2_f64.to_be_bytes()].concat()),
    ];
    for (code, content) in cases {
        let files = Files::new();
        let path = files.write("t.idx", idx(code, &[2, 1], &content));
        let labels = Some(files.write("l.idx", idx(8, &[2], &[0, 1])));
        let options = ReadOptions { labels, ..ReadOptions::default() };
        let data = read_dataset(&path, &options, None).unwrap();
        assert_eq!((row(&data, 0), row(&data, 1)), (vec![-1.0], vec![2.0]), "{code}");
    }
}

#[test]
fn npy_of_each_element_type() {
    let cases: [(&str, Vec<u8>); 12] = [
        ("<f4", f32_bytes(&[1.0, 2.0])),
        (">f4", [1_f32.to_be_bytes(), 2_f32.to_be_bytes()].concat()),
        ("<f8", [1_f64.to_le_bytes(), 2_f64.to_le_bytes()].concat()),
        ("<f2", vec![0x00, 0x3c, 0x00, 0x40]),
        ("|i1", vec![1, 2]),
        ("<i2", vec![1, 0, 2, 0]),
        (">i4", [1_i32.to_be_bytes(), 2_i32.to_be_bytes()].concat()),
        ("<i8", [1_i64.to_le_bytes(), 2_i64.to_le_bytes()].concat()),
        ("|u1", vec![1, 2]),
        ("<u2", vec![1, 0, 2, 0]),
        ("<u4", [1_u32.to_le_bytes(), 2_u32.to_le_bytes()].concat()),
        ("<u8", [1_u64.to_le_bytes(), 2_u64.to_le_bytes()].concat()),
    ];
    for (descr, content) in cases {
        let files = Files::new();
        let labels = Some(files.write("y.npy", npy("<i8", false, "(2,)", &[[3; 8], [4; 8]].concat())));
        let options = ReadOptions { labels, ..ReadOptions::default() };
        let data = read_both("x.npy", &npy(descr, false, "(2, 1)", &content), &options);
        assert_eq!((row(&data, 0), row(&data, 1)), (vec![1.0], vec![2.0]), "{descr}");
    }
}

#[test]
fn npy_target_column_images_and_fortran_order() {
    let content = f32_bytes(&[0.5, 1.0, 0.0, 1.5, 2.0, 3.0]);
    let by_column = read_both("x.npy", &npy("<f4", false, "(2, 3)", &content), &target("2"));
    assert_eq!(by_column.schema.labels.names(), ["0", "3"]);
    assert_eq!(row(&by_column, 1), [1.5, 2.0]);
    let turned = f32_bytes(&[0.5, 1.5, 1.0, 2.0, 0.0, 3.0]);
    let fortran = read_both("x.npy", &npy("<f4", true, "(2, 3)", &turned), &target("2"));
    crate::files::assert_same(&by_column, &fortran);
    // Two images of 2 by 2, each axis the other way round.
    let files = Files::new();
    let labels = Some(files.write("y.npy", npy("|u1", false, "(2,)", &[0, 1])));
    let options = ReadOptions { labels, ..ReadOptions::default() };
    let images = read_both("x.npy", &npy("|u1", true, "(2, 2, 2)", &[1, 5, 3, 7, 2, 6, 4, 8]), &options);
    assert_eq!(row(&images, 0), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(row(&images, 1), [5.0, 6.0, 7.0, 8.0]);
    assert_eq!(images.schema.image, Some([2, 2]));
}

#[test]
fn npy_labels_of_text() {
    let files = Files::new();
    let utf32: Vec<u8> = ['å', 'b', 'c', '\0'].iter().flat_map(|&c| (c as u32).to_le_bytes()).collect();
    for (descr, content) in [("<U2", utf32), ("|S3", "\u{e5}bc\0\0".as_bytes().to_vec())] {
        let labels = Some(files.write("y.npy", npy(descr, false, "(2,)", &content)));
        let options = ReadOptions { labels, ..ReadOptions::default() };
        let data = read_both("x.npy", &npy("|u1", false, "(2, 1)", &[1, 2]), &options);
        assert_eq!(label_names(&data), ["åb", "c"]);
    }
}

#[test]
fn npz() {
    let x = npy("<f4", false, "(2, 2)", &f32_bytes(&[1.0, 2.0, 3.0, 4.5]));
    let y = npy("<i4", false, "(2,)", &[1, 0, 0, 0, 0, 0, 0, 0]);
    for compressed in [false, true] {
        for (row_name, label_name) in [("X.npy", "y.npy"), ("arr_0.npy", "arr_1.npy")] {
            let archive = zip(&[(label_name, y.clone()), (row_name, x.clone())], compressed);
            let data = read_both("t.npz", &archive, &ReadOptions::default());
            assert_eq!(label_names(&data), ["1", "0"]);
            assert_eq!(row(&data, 1), [3.0, 4.5]);
        }
    }
}

#[test]
fn arff() {
    let text = "% a comment\n@RELATION 'my data'\n\n@attribute 'the size' REAL\n@Attribute color {red, 'dark blue'}\n\
        @attribute note string\n@attribute Class {p,q}\n@DATA\n1.5,'dark blue','it\\'s, well',p\n% more\n\
        ?,red,x,q\n{0 2, 3 q}\n";
    let data = read_both("t.arff", text.as_bytes(), &ReadOptions::default());
    assert_eq!(data.schema.target.as_deref(), Some("Class"));
    assert_eq!(data.schema.columns[0].name, "the size");
    let categories = vec!["red".to_string(), "dark blue".to_string()];
    assert_eq!(data.schema.columns[1].kind, ColumnKind::Categorical { categories });
    assert_eq!(row(&data, 0), [1.5, 1.0, 0.0]);
    assert!(row(&data, 1)[0].is_nan());
    assert_eq!(row(&data, 2)[..2], [2.0, 0.0]);
    assert_eq!(label_names(&data), ["p", "q", "q"]);
    let bad = text.replace("?,red", "?,green");
    let message = crate::files::message(&Files::new().write("t.arff", bad), &ReadOptions::default());
    assert!(
        message.contains("row 2") && message.contains("\"color\"") && message.contains("green"),
        "{message}"
    );
}

#[test]
fn a_format_given_by_hand_wins_over_the_name() {
    let files = Files::new();
    let path = files.write("zip.train.gz", gzip(b"6.0 1 2 \n5.0 3 4 \n"));
    let message = crate::files::message(&path, &target("0"));
    assert!(message.contains("zip.train.gz") && message.contains("csv, tsv, txt"), "{message}");
    let options = ReadOptions { format: Some(Format::Whitespace), ..target("0") };
    assert_eq!(read_dataset(&path, &options, None).unwrap().n_rows(), 2);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_says_that_it_is_not_built_in() {
    let message = crate::files::message(&Files::new().write("t.parquet", "PAR1"), &target("y"));
    assert!(message.contains("feature \"parquet\""), "{message}");
}

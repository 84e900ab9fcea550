//! Parquet and Arrow IPC: typed columns, nulls, dictionaries, damaged files.

use std::sync::Arc;

use crate::files::{Files, drain, gzip, label_names, message, read_both, row, target};
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Int32Type, Int64Type};
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, DictionaryArray, Float16Array, Float32Array, Float64Array,
    Int16Array, Int64Array, LargeStringArray, ListArray, NullArray, RecordBatch, StringArray,
    StringViewArray, TimestampMillisecondArray, UInt8Array, UInt32Array, UInt64Array,
};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use hedgerow_core::{ColumnKind, Dataset};
use hedgerow_io::{Format, ReadOptions, RowReader, read_dataset};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

fn batch() -> RecordBatch {
    let colors: DictionaryArray<Int32Type> =
        vec![Some("red"), None, Some("blue"), Some("red")].into_iter().collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("size", Arc::new(Float32Array::from(vec![Some(0.1), Some(2.5), None, Some(4.0)]))),
        ("count", Arc::new(Int64Array::from(vec![Some(1), None, Some(-3), Some(4)]))),
        ("small", Arc::new(UInt8Array::from(vec![1, 2, 3, 4]))),
        ("ok", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true)]))),
        ("color", Arc::new(colors)),
        ("long", Arc::new(LargeStringArray::from(vec!["a", "b", "a", "b"]))),
        ("view", Arc::new(StringViewArray::from(vec!["p", "q", "q", "q"]))),
        ("kind", Arc::new(StringArray::from(vec!["x", "y", "x", "y"]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, c)| (name, c, true))).unwrap()
}

fn as_parquet(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let properties =
        WriterProperties::builder().set_compression(compression).set_max_row_group_row_count(Some(3)).build();
    let mut out = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    out
}

fn as_file(batch: &RecordBatch, options: IpcWriteOptions) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = FileWriter::try_new_with_options(&mut out, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    out
}

fn as_stream(batch: &RecordBatch) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = StreamWriter::try_new(&mut out, &batch.schema()).unwrap();
    writer.write(&batch.slice(0, 2)).unwrap();
    writer.write(&batch.slice(2, batch.num_rows() - 2)).unwrap();
    writer.finish().unwrap();
    drop(writer);
    out
}

fn check(data: &Dataset) {
    let kinds: Vec<&str> = data.schema.columns.iter().map(|c| c.kind.word()).collect();
    let categorical = "categorical";
    assert_eq!(kinds, ["numeric", "numeric", "numeric", "boolean", categorical, categorical, categorical]);
    assert_eq!(row(data, 0), [0.1, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(row(data, 3), [4.0, 4.0, 4.0, 1.0, 0.0, 1.0, 1.0]);
    assert!(row(data, 1)[1].is_nan() && row(data, 1)[4].is_nan() && row(data, 2)[3].is_nan());
    let categories = vec!["red".to_string(), "blue".to_string()];
    assert_eq!(data.schema.columns[4].kind, ColumnKind::Categorical { categories });
    assert_eq!(label_names(data), ["x", "y", "x", "y"]);
    assert!(data.schema.named);
}

#[test]
fn parquet_with_each_compression() {
    let zstd = Compression::ZSTD(parquet::basic::ZstdLevel::default());
    let gzip = Compression::GZIP(parquet::basic::GzipLevel::default());
    let brotli = Compression::BROTLI(parquet::basic::BrotliLevel::default());
    for compression in
        [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW, zstd, gzip, brotli]
    {
        check(&read_both("t.parquet", &as_parquet(&batch(), compression), &target("kind")));
    }
}

#[test]
fn parquet_with_each_type_of_number() {
    let half = |v: &[f32]| {
        Float16Array::from_iter_values(
            v.iter().map(|&v| <Float16Type as ArrowPrimitiveType>::Native::from_f32(v)),
        )
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("u32", Arc::new(UInt32Array::from(vec![u32::MAX, 0, 7]))),
        ("u64", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some(7)]))),
        ("i16", Arc::new(Int16Array::from(vec![-5, 0, 5]))),
        ("f16", Arc::new(half(&[-0.5, 6.1e-5, 65504.0]))),
        ("small f16", Arc::new(half(&[6.0e-8, -1.0e-6, 0.0]))),
        ("f64", Arc::new(Float64Array::from(vec![0.1, -2.0, 1e30]))),
        ("none", Arc::new(NullArray::new(3))),
        ("y", Arc::new(StringArray::from(vec!["a", "b", "a"]))),
    ];
    let columns = columns.into_iter().map(|(name, c)| {
        let is_nullable = c.logical_null_count() > 0;
        (name, c, is_nullable)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let of_parquet = read_both("t.parquet", &as_parquet(&batch, Compression::SNAPPY), &target("y"));
    let of_arrow = read_both("t.arrow", &as_stream(&batch), &target("y"));
    let bits = |data: &Dataset| (0..3).flat_map(|i| row(data, i)).map(f32::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(&of_parquet), bits(&of_arrow));
    assert_eq!(row(&of_parquet, 0)[..2], [u32::MAX as f32, u64::MAX as f32]);
    assert_eq!(row(&of_parquet, 2)[3], 65504.0);
    assert_eq!(of_parquet.schema, of_arrow.schema);
}

#[test]
fn arrow_files_and_streams() {
    let plain = IpcWriteOptions::default();
    check(&read_both("t.arrow", &as_file(&batch(), plain.clone()), &target("kind")));
    check(&read_both("t.ipc", &as_stream(&batch()), &target("kind")));
    for compression in [arrow_ipc::CompressionType::LZ4_FRAME, arrow_ipc::CompressionType::ZSTD] {
        let options = plain.clone().try_with_compression(Some(compression)).unwrap();
        check(&read_both("t.feather", &as_file(&batch(), options), &target("kind")));
    }
}

#[test]
fn batches_do_not_matter() {
    let files = Files::new();
    let path = files.write("t.parquet", as_parquet(&batch(), Compression::SNAPPY));
    let read = |max_rows| {
        let mut reader = RowReader::open(&path, &target("kind")).unwrap();
        let batches = drain(&mut reader, max_rows);
        batches.iter().flat_map(|b| b.x.iter().map(|v| v.to_bits())).collect::<Vec<_>>()
    };
    assert_eq!(read(1), read(100));
    assert_eq!(read(3), read(100));
}

#[test]
fn numbers_as_labels() {
    let data = read_both("t.parquet", &as_parquet(&batch(), Compression::SNAPPY), &target("small"));
    assert_eq!(label_names(&data), ["1", "2", "3", "4"]);
    let files = Files::new();
    let text = message(&files.write("t.parquet", as_parquet(&batch(), Compression::SNAPPY)), &target("size"));
    assert!(text.contains("row 3") && text.contains("label is missing"), "{text}");
}

#[test]
fn columns_that_cannot_be_read_matter_only_if_used() {
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(vec![Some(vec![Some(1)]), None]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("list", Arc::new(lists)),
        ("time", Arc::new(TimestampMillisecondArray::from(vec![1, 2]))),
        ("a", Arc::new(Int64Array::from(vec![1, 2]))),
        ("y", Arc::new(Int64Array::from(vec![1, 2]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let files = Files::new();
    let path = files.write("t.parquet", as_parquet(&batch, Compression::SNAPPY));
    let text = message(&path, &target("y"));
    assert!(
        text.contains("t.parquet") && text.contains("column \"list\"") && text.contains("--ignore"),
        "{text}"
    );
    let without_list = ReadOptions { ignore: vec!["list".parse().unwrap()], ..target("y") };
    let text = message(&path, &without_list);
    assert!(text.contains("column \"time\"") && text.contains("type timestamp"), "{text}");
    let ignore = vec!["list".parse().unwrap(), "time".parse().unwrap()];
    let data = read_dataset(&path, &ReadOptions { ignore, ..target("y") }, None).unwrap();
    assert_eq!(data.schema.n_features(), 1);
}

#[test]
fn a_model_refuses_columns_of_another_kind() {
    let files = Files::new();
    let none = ReadOptions::default();
    let model =
        |text: &str| read_dataset(&files.write("m.csv", text), &target("y"), None).unwrap().schema.clone();
    let numeric: Vec<(&str, ArrayRef)> = vec![("a", Arc::new(Int64Array::from(vec![1, 2])))];
    let text: Vec<(&str, ArrayRef)> = vec![("a", Arc::new(StringArray::from(vec!["p", "q"])))];
    let numeric = files.write("n.arrow", as_stream(&RecordBatch::try_from_iter(numeric).unwrap()));
    let text = files.write("t.arrow", as_stream(&RecordBatch::try_from_iter(text).unwrap()));
    let of_numbers = model("a,y\n1,0\n2,1\n");
    let of_words = model("a,y\np,0\nq,1\n");
    let error = |path, schema| RowReader::open_with(path, &none, schema).err().unwrap().to_string();
    let message = error(&text, &of_numbers);
    assert!(message.contains("column \"a\"") && message.contains("expected numeric"), "{message}");
    let message = error(&numeric, &of_words);
    assert!(message.contains("column \"a\"") && message.contains("expected categorical"), "{message}");
    let mut reader = RowReader::open_with(&text, &none, &of_words).unwrap();
    assert_eq!(drain(&mut reader, 9)[0].x.iter().copied().collect::<Vec<_>>(), [0.0, 1.0]);
    let mut reader = RowReader::open_with(&numeric, &none, &of_numbers).unwrap();
    assert_eq!(drain(&mut reader, 9)[0].x.iter().copied().collect::<Vec<_>>(), [1.0, 2.0]);
}

#[test]
fn damaged_files() {
    let files = Files::new();
    let parquet = as_parquet(&batch(), Compression::SNAPPY);
    let arrow = as_file(&batch(), IpcWriteOptions::default());
    for (name, content) in [("t.parquet", &parquet), ("t.arrow", &arrow)] {
        let text = message(&files.write(name, &content[..content.len() / 2]), &target("kind"));
        assert!(text.contains(name) && text.contains("not valid"), "{text}");
        let text = message(&files.write(name, ""), &target("kind"));
        assert!(text.contains(name) && text.contains("no rows"), "{text}");
        let name = format!("{name}.gz");
        let packed = gzip(content);
        let text = message(&files.write(&name, &packed[..packed.len() / 2]), &target("kind"));
        assert!(text.contains(&name) && text.contains("damaged or cut off"), "{text}");
    }
    let empty = batch().slice(0, 0);
    let text = message(&files.write("e.parquet", as_parquet(&empty, Compression::SNAPPY)), &target("kind"));
    assert!(text.contains("no rows"), "{text}");
}

proptest! {
    // The same cases every time; `fuzz/` looks for new ones.
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(2000)
    })]

    #[test]
    fn changed_bytes_never_panic(
        which in 0..4_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let (format, mut content) = match which {
            0 => (Format::Parquet, as_parquet(&batch(), Compression::UNCOMPRESSED)),
            1 => (Format::Parquet, as_parquet(&batch(), Compression::SNAPPY)),
            2 => (Format::ArrowIpc, as_file(&batch(), IpcWriteOptions::default())),
            _ => (Format::ArrowIpc, as_stream(&batch())),
        };
        for (at, byte) in changes {
            let at = at.index(content.len());
            content[at] = byte;
        }
        let files = Files::new();
        let path = files.write("t", content);
        let _ = read_dataset(&path, &ReadOptions { format: Some(format), ..target("kind") }, Some(1 << 24));
    }
}

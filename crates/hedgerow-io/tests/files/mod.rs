//! Small files written by hand for the tests.
#![allow(dead_code)]

use std::io::Write as _;
use std::path::{Path, PathBuf};

use hedgerow_core::Dataset;
use hedgerow_io::{ReadOptions, RowReader, read_dataset};
use tempfile::TempDir;

/// A folder with files in it, deleted at the end.
pub(crate) struct Files {
    folder: TempDir,
}

impl Files {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn target(name: &str) -> ReadOptions {
    ReadOptions { target: Some(name.parse().unwrap()), ..ReadOptions::default() }
}

/// Reads the content as a file of that name and again compressed; both must give the same.
pub(crate) fn read_both(name: &str, content: &[u8], options: &ReadOptions) -> Dataset {
    let files = Files::new();
    let plain = read_dataset(&files.write(name, content), options, None).unwrap();
    let packed = read_dataset(&files.write(&format!("{name}.gz"), gzip(content)), options, None).unwrap();
    assert_same(&plain, &packed);
    // Compression shows in the content, whatever the name.
    let hidden = read_dataset(&files.write(name, gzip(content)), options, None).unwrap();
    assert_same(&plain, &hidden);
    plain
}

/// Equality where `NaN` equals itself.
pub(crate) fn assert_same(a: &Dataset, b: &Dataset) {
    assert_eq!(a.schema, b.schema);
    assert_eq!(a.labels(), b.labels());
    assert_eq!(a.weights, b.weights);
    assert_eq!(bits(a), bits(b));
}

pub(crate) fn bits(data: &Dataset) -> Vec<u32> {
    data.features.to_array(0..data.n_rows()).iter().map(|v| v.to_bits()).collect()
}

pub(crate) fn row(data: &Dataset, row: usize) -> Vec<f32> {
    data.features.to_array(row..row + 1).iter().copied().collect()
}

pub(crate) fn label_names(data: &Dataset) -> Vec<&str> {
    data.labels().iter().map(|&c| data.schema.labels.name(c)).collect()
}

/// The message of what must be an error.
pub(crate) fn message(path: &Path, options: &ReadOptions) -> String {
    read_dataset(path, options, None).unwrap_err().to_string()
}

/// Reads everything that is left, in batches.
pub(crate) fn drain(reader: &mut RowReader, max_rows: usize) -> Vec<hedgerow_io::Batch> {
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_batch(max_rows).unwrap() {
        batches.push(batch);
    }
    batches
}

/// An NPY file of the first version.
pub(crate) fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

/// An IDX file.
pub(crate) fn idx(code: u8, sizes: &[u32], data: &[u8]) -> Vec<u8> {
    let mut out = vec![0, 0, code, sizes.len() as u8];
    out.extend(sizes.iter().flat_map(|n| n.to_be_bytes()));
    out.extend(data);
    out
}

pub(crate) fn zip(members: &[(&str, Vec<u8>)], compressed: bool) -> Vec<u8> {
    let method = if compressed { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub(crate) fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

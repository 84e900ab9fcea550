//! No input makes a reader panic.

use std::path::Path;

use crate::files::{Files, f32_bytes, gzip, idx, npy, zip};
use hedgerow_io::{Format, ReadOptions, RowReader, read_dataset, summarize};
use proptest::prelude::*;

/// Reads a file in every way there is; only a panic is a failure.
fn read_all(path: &Path, options: &ReadOptions) {
    let _ = summarize(path, options);
    if let Ok(data) = read_dataset(path, options, Some(1 << 24))
        && let Ok(mut reader) = RowReader::open_with(path, options, &data.schema)
    {
        while let Ok(Some(_)) = reader.next_batch(3) {}
    }
}

fn formats() -> impl Strategy<Value = Format> {
    prop::sample::select(Format::ALL.to_vec())
}

/// A sound file of each format.
fn sound(format: Format) -> Vec<u8> {
    match format {
        Format::Csv => b"a,b,y\n1,x,0\n2,\"z w\",1\n".to_vec(),
        Format::Tsv => b"a\tb\ty\n1\tx\t0\n2\tz\t1\n".to_vec(),
        Format::Whitespace => b"1 2 0\n3 4 1\n".to_vec(),
        Format::Libsvm => b"2 3 2 1\n0 1:1 3:2\n1 2:5\n".to_vec(),
        Format::Idx => idx(8, &[2, 2, 1], &[1, 2, 3, 4]),
        Format::Npy => npy("<f4", true, "(2, 2)", &f32_bytes(&[1.0, 2.0, 0.0, 1.0])),
        Format::Npz => zip(
            &[
                ("X.npy", npy("<f4", false, "(2, 1)", &f32_bytes(&[1.0, 2.0]))),
                ("y.npy", npy("<U1", false, "(2,)", &[65, 0, 0, 0, 66, 0, 0, 0])),
            ],
            true,
        ),
        Format::Arff => {
            b"@relation r\n@attribute a real\n@attribute class {p,q}\n@data\n1,p\n{0 2, 1 q}\n".to_vec()
        }
        Format::Parquet | Format::ArrowIpc => Vec::new(),
    }
}

proptest! {
    // The same cases every time; `fuzz/` looks for new ones.
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(3000)
    })]

    #[test]
    fn random_bytes(format in formats(), content in prop::collection::vec(any::<u8>(), 0..300), target in 0..4_usize) {
        let files = Files::new();
        let path = files.write("t", content);
        let target = (target < 3).then(|| target.to_string().parse().unwrap());
        read_all(&path, &ReadOptions { format: Some(format), target, ..ReadOptions::default() });
    }

    #[test]
    fn random_text(format in formats(), content in "[0-9a-c,;:.{}'\"@#%?\\\\\t\n -]{0,200}") {
        let files = Files::new();
        let prefix = if format == Format::Arff { "@attribute a real\n@attribute class {a,b}\n@data\n" } else { "" };
        let path = files.write("t", format!("{prefix}{content}"));
        read_all(&path, &ReadOptions { format: Some(format), target: Some("0".parse().unwrap()), ..ReadOptions::default() });
    }

    #[test]
    fn sound_files_with_bytes_changed(
        format in formats(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<Option<prop::sample::Index>>(),
        packed in any::<bool>(),
    ) {
        let mut content = sound(format);
        if packed {
            content = gzip(&content);
        }
        if !content.is_empty() {
            for (at, byte) in changes {
                let at = at.index(content.len());
                content[at] = byte;
            }
            if let Some(cut) = cut {
                content.truncate(cut.index(content.len()));
            }
        }
        let files = Files::new();
        let path = files.write("t", content);
        read_all(&path, &ReadOptions { format: Some(format), ..ReadOptions::default() });
        read_all(&path, &ReadOptions { format: Some(format), target: Some("0".parse().unwrap()), ..ReadOptions::default() });
    }
}

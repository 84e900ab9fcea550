//! Model files through the program: damage is told apart, old files survive.

use crate::program::{Program, holds, refused};
use hedgerow::core::rng::{Purpose, Rng};

/// Every verb that opens a model.
const LINES: [&str; 4] = [
    "predict bad.hedgerow {data}/titanic.csv.gz",
    "evaluate bad.hedgerow {data}/titanic.csv.gz",
    "info bad.hedgerow",
    "merge m.hedgerow bad.hedgerow --out both.hedgerow",
];

#[test]
fn a_hundred_cut_off_files_are_refused_with_help() {
    let program = Program::with_titanic();
    let sound = program.read("m.hedgerow");
    let mut rng = Rng::new(1, Purpose::Data, 0);
    for round in 0..100 {
        program.write("bad.hedgerow", &sound[..rng.index(sound.len())]);
        let message = program.refused(LINES[round % LINES.len()]);
        holds(&message, &["bad.hedgerow"]);
        let helpful =
            ["cut off", "damaged", "not a hedgerow model file"].iter().any(|part| message.contains(part));
        assert!(helpful, "{message}");
    }
    assert!(!program.path("both.hedgerow").exists());
}

#[test]
fn a_hundred_flipped_bits_are_refused_with_help() {
    let program = Program::with_titanic();
    let sound = program.read("m.hedgerow");
    let mut rng = Rng::new(2, Purpose::Data, 0);
    for round in 0..100 {
        let mut bytes = sound.clone();
        bytes[rng.index(sound.len())] ^= 1 << rng.below(8);
        program.write("bad.hedgerow", &bytes);
        let message = program.refused(LINES[round % LINES.len()]);
        holds(&message, &["bad.hedgerow"]);
        let helpful =
            ["cut off", "damaged", "not a hedgerow model file"].iter().any(|part| message.contains(part));
        assert!(helpful, "{message}");
    }
}

#[test]
fn other_files_are_told_from_models() {
    let program = Program::with_titanic();
    program.write("bad.hedgerow", "Dear diary, this is not a forest.\n".repeat(20));
    for line in LINES {
        holds(&program.refused(line), &["bad.hedgerow", "not a hedgerow model file"]);
    }
}

#[test]
fn a_model_is_replaced_whole() {
    let program = Program::with_titanic();
    let old = program.read("m.hedgerow");
    program.ok("fit {data}/titanic.csv.gz --target Survived --set n_trees=9 --out m.hedgerow");
    assert!(program.read("m.hedgerow") != old);
    assert_eq!(program.json("info m.hedgerow")["trees"], 9);
    assert_eq!(program.names(), ["m.hedgerow"]);
}

/// The system's limit on file sizes stands in for a full disk.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_the_old_model_and_no_leftovers() {
    let program = Program::with_titanic();
    let old = program.read("m.hedgerow");
    let script = r#"trap '' XFSZ; ulimit -f 8; exec "$0" "$@""#;
    let inner =
        program.std_command("fit {data}/digits.csv.gz --target digit --set n_trees=20 --out m.hedgerow");
    let output = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(inner.get_current_dir().unwrap())
        .output()
        .unwrap();
    holds(&refused("full disk", &output), &["m.hedgerow"]);
    assert!(program.read("m.hedgerow") == old, "the old model was touched");
    assert_eq!(program.names(), ["m.hedgerow"]);
}

#[test]
fn places_that_cannot_be_written_are_found_before_the_training() {
    let program = Program::new();
    let start = std::time::Instant::now();
    let fit = "fit {data}/digits.csv.gz --target digit --set n_trees=100000";
    holds(&program.refused(&format!("{fit} --out missing/m.hedgerow")), &["missing"]);
    std::fs::create_dir(program.path("folder")).unwrap();
    holds(&program.refused(&format!("{fit} --out folder")), &["folder"]);
    holds(&program.refused(&format!("{fit} --oob missing/oob.csv")), &["missing"]);
    program.write("file", "");
    holds(&program.refused(&format!("{fit} --out file/m.hedgerow")), &["file"]);
    assert!(start.elapsed().as_secs() < 5, "training came first");
    assert_eq!(program.names(), ["file", "folder"]);
}

//! `hedgerow stream --store` and `hedgerow store`: nothing acknowledged is lost, whatever ends the program.
#![allow(clippy::unwrap_used)]

mod program;

use std::fs;
use std::path::Path;
use std::time::Duration;

use program::killed::{Moments, table};
use program::{Program, holds};
use serde_json::Value;

const LINE: &str = "stream t.csv --target kind --set n_trees=5 --window 100 --checkpoint-every 300";

/// What must not depend on how often the program was stopped.
fn figures(result: &Value) -> Value {
    let mut batches = result["batches"].clone();
    for batch in batches.as_array_mut().unwrap() {
        for time in ["seconds", "rows_per_second"] {
            batch.as_object_mut().unwrap().remove(time);
        }
    }
    let keys = ["rows", "classes", "prequential", "drifts", "rows_learnt", "new_classes", "left_out"];
    let mut kept: Vec<Value> = keys.iter().map(|&key| result[key].clone()).collect();
    kept.push(batches);
    kept.into()
}

/// The rows that a program that was killed had told of.
fn run_and_kill(program: &Program, line: &str, wait: Duration) -> u64 {
    // Lines about windows have a percentage, those of the summary have none or do not begin with a number.
    let lines = program.killed(line, wait);
    let told = lines
        .iter()
        .filter(|line| line.contains('%'))
        .filter_map(|line| line.split_whitespace().next().and_then(|n| n.replace(',', "").parse().ok()))
        .max();
    told.unwrap_or(0)
}

#[test]
fn killed_at_any_moment_it_ends_with_the_same_model() {
    let program = Program::new();
    program.write("t.csv", table(2_500));
    let whole = program.json(&format!("{LINE} --store whole --out whole.hedgerow"));
    let model = program.read("whole.hedgerow");
    let mut moments = Moments(7);
    let (mut kills, mut in_time) = (0, 0);
    for round in 0_u64.. {
        let store = format!("store-{round}");
        // From moments in which hardly anything has begun to such in which all is done.
        let longest = [8, 30, 60, 120][round as usize % 4];
        for _ in 0..7 {
            let wait = Duration::from_micros(moments.below(longest * 1_000));
            let told = run_and_kill(&program, &format!("{LINE} --store {store}"), wait);
            kills += 1;
            if Path::new(&program.path(&format!("{store}/store.db"))).exists() {
                let info = program.json(&format!("store info {store} --check"));
                assert!(info["rows"].as_u64().unwrap() >= told, "told of {told} rows: {info}");
                in_time += u64::from(info["inputs"][0]["done"] != true);
            }
        }
        let result = program.json(&format!("{LINE} --store {store} --out m.hedgerow"));
        assert!(program.read("m.hedgerow") == model, "round {round}: another model");
        assert_eq!(figures(&result), figures(&whole), "round {round}");
        fs::remove_dir_all(program.path(&store)).unwrap();
        if kills >= 56 {
            break;
        }
    }
    assert!(in_time >= 10, "only {in_time} of {kills} kills came before the end");
}

#[test]
fn with_numbers_a_store_changes_nothing_and_other_models_resume_too() {
    let program = Program::new();
    program.ok("generate sea --rows 700 --seed 2 --out t.csv");
    let settings = [
        ("forest", "--set n_trees=6"),
        ("ivm", "--set n_active=20"),
        ("forest-ivm", "--set n_trees=5 --set n_active=15"),
        ("leaf-gp", "--set n_trees=2"),
        ("rvm", ""),
    ];
    for (kind, set) in settings {
        let line = format!("stream t.csv --target class --model {kind} {set}");
        program.ok(&format!("{line} --out plain.hedgerow"));
        let store = format!("--store {kind} --checkpoint-every 200");
        run_and_kill(&program, &format!("{line} {store}"), Duration::from_millis(60));
        program.ok(&format!("{line} {store} --out kept.hedgerow"));
        assert!(program.read("plain.hedgerow") == program.read("kept.hedgerow"), "{kind}");
        // A second learner on the same store learns the same rows.
        program
            .ok(&format!("stream --store {kind} --learner second --model {kind} {set} --out again.hedgerow"));
        assert!(program.read("plain.hedgerow") == program.read("again.hedgerow"), "{kind}, second learner");
    }
}

#[test]
fn late_labels_and_corrections_are_learnt_and_kept() {
    let program = Program::new();
    program.write("t.csv", table(600));
    program.ok(&format!("{LINE} --store s"));
    let before = program.json("store info s");
    assert_eq!((&before["rows"], &before["labelled"]), (&600.into(), &588.into()));
    program.write("labels.csv", "row,label\n8,low\n58,fresh\n1,high\n1,low\n2,low\n");
    let told = program.json("store label s labels.csv");
    assert_eq!((&told["added"], &told["new_classes"]), (&2.into(), &serde_json::json!(["fresh"])));
    let corrected = told["corrected"].as_u64().unwrap();
    assert!(corrected >= 2, "{told}");
    assert_eq!(program.json("store label s labels.csv")["added"], 0);
    let after = program.json("stream --store s --out a.hedgerow");
    assert_eq!(after["rows"], 590);
    assert!(after["rows_corrected"].as_u64().unwrap() >= corrected);
    // Learnt from the beginning, without any checkpoint, it is the same.
    fs::remove_dir_all(program.path("s/checkpoints")).unwrap();
    let output = program.output("stream --store s --out b.hedgerow");
    holds(
        &String::from_utf8_lossy(&output.stderr),
        &["warning", "checkpoint", "learnt again from the store"],
    );
    assert!(program.read("a.hedgerow") == program.read("b.hedgerow"));

    let text = program.ok("store info s");
    holds(
        &text,
        &[
            "600 rows of 3 features, 590 labelled",
            "\"fresh\"",
            "600 rows from t.csv, all of it",
            "learner \"stream\" (forest)",
        ],
    );
    let csv = program.ok("store export s");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!((lines.len(), lines[0]), (601, "row,a,b,word,kind"));
    assert_eq!((lines[8], lines[1]), ("8,57,0.5,blue,low", "1,0,0.5,red,low"));
    assert_eq!(program.ok("store export s --labelled").lines().count(), 591);
    program.write("bad.csv", "row,label\n3,low\nfour,low\n");
    holds(&program.refused("store label s bad.csv"), &["line 3", "expected the number of a row", "four"]);
    program.write("bad.csv", "601,low\n");
    holds(&program.refused("store label s bad.csv"), &["no row 601", "1 to 600"]);
}

#[test]
fn a_store_waits_for_the_rest_of_its_own_data() {
    let program = Program::new();
    let all = table(1_400);
    let lines: Vec<&str> = all.split_inclusive('\n').collect();
    program.write("all.csv", &all);
    program.ok(&LINE.replace("t.csv", "all.csv --store whole --out all.hedgerow"));
    // A bad row ends it; once it is mended, the same command goes on.
    program.write("t.csv", lines[..1_201].concat() + "x,1,red,low\n");
    holds(&program.refused(&format!("{LINE} --store s --json")), &["row 1201", "1,176 rows before"]);
    program.write("other.csv", lines[0].to_string() + &lines[5..].concat());
    holds(&program.refused("stream other.csv --store s"), &["t.csv", "began differently", "--store"]);
    holds(
        &program.refused(&format!("{LINE} --set n_trees=6 --store s")),
        &["n_trees was 5, now it is 6", "--learner"],
    );
    program.write("t.csv", &all);
    program.ok(&format!("{LINE} --store s --out m.hedgerow"));
    assert!(program.read("m.hedgerow") == program.read("all.hedgerow"));
    // Another file may follow one that was read to its end; the same one with fewer rows may not.
    program.write("t.csv", lines[..301].concat());
    holds(&program.refused(&format!("{LINE} --store s --json")), &["1,400 rows of t.csv", "only 300"]);
    let next = program.json("stream other.csv --store s");
    assert_eq!(next["store"]["rows"], 1_400 + 1_396);
    holds(&program.refused("store info nowhere"), &["not a hedgerow store"]);
    holds(&program.refused("stream --store nowhere"), &["no store yet"]);
}

#[test]
fn damage_falls_back_and_a_second_writer_is_told() {
    let program = Program::new();
    program.write("t.csv", table(1_000));
    program.ok(&format!("{LINE} --store s --out m.hedgerow"));
    let model = program.read("m.hedgerow");
    let checkpoints = || {
        let entries = fs::read_dir(program.path("s/checkpoints")).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
        paths
    };
    for damaged in 1..=2 {
        for path in checkpoints().iter().rev().take(damaged) {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }
        let output = program.output("stream --store s --out again.hedgerow");
        assert!(output.status.success());
        holds(&String::from_utf8_lossy(&output.stderr), &["warning", "cannot be used"]);
        assert!(program.read("again.hedgerow") == model, "{damaged} damaged");
    }
    let holder = fs::File::options().write(true).open(program.path("s/lock")).unwrap();
    holder.lock().unwrap();
    holds(&program.refused("stream --store s"), &["in use by another process"]);
    program.ok("store info s");
    drop(holder);
    let database = program.path("s/store.db");
    let bytes = fs::read(&database).unwrap();
    fs::write(&database, &bytes[..bytes.len() * 2 / 3]).unwrap();
    holds(&program.refused("stream --store s"), &["damaged", "backup"]);
}

/// A limit on the size of files stands for a disk that is full.
#[cfg(unix)]
#[test]
fn a_full_disk_loses_nothing_that_was_told() {
    let program = Program::new();
    program.write("t.csv", table(2_000));
    program.ok(&format!("{LINE} --store whole --out whole.hedgerow"));
    for blocks in [150, 250, 400] {
        let store = format!("s{blocks}");
        let line = format!("{LINE} --store {store}");
        let mut shell = std::process::Command::new("sh");
        let script =
            format!("trap '' XFSZ; ulimit -f {blocks}; exec {} {line}", env!("CARGO_BIN_EXE_hedgerow"));
        let output = shell.args(["-c", &script]).current_dir(program.path(".")).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(!message.contains("panicked"), "{message}");
        let told = String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains('%')).count();
        if program.path(&format!("{store}/store.db")).exists() {
            let info = program.json(&format!("store info {store} --check"));
            assert!(info["rows"].as_u64().unwrap() >= 100 * told as u64, "{info}");
        }
        program.ok(&format!("{line} --out m.hedgerow"));
        assert!(program.read("m.hedgerow") == program.read("whole.hedgerow"), "{blocks}: {message}");
    }
}

//! `hedgerow train --store`, killed at random moments: every row that was kept stays, models are whole, and what was learnt is gone on from.
#![allow(clippy::unwrap_used)]

mod program;

use std::time::Duration;

use program::Program;
use program::killed::{Moments, table};
use serde_json::Value;

fn accuracy(result: &Value) -> f64 {
    result["metrics"]["accuracy"].as_f64().unwrap()
}

/// What a program that was killed has left, looked at closely. Returns how many rows there are.
fn check_left(program: &Program, rows: &[&str], before: u64) -> u64 {
    if !program.path("kept/store.db").exists() {
        assert_eq!(before, 0, "the store is gone");
        return 0;
    }
    let info = program.json("store info kept --check");
    let n_rows = info["rows"].as_u64().unwrap();
    assert!(n_rows >= before, "there were {before} rows: {info}");
    let exported = program.ok("store export kept");
    for (i, line) in exported.lines().skip(1).enumerate() {
        assert_eq!(line.split_once(',').unwrap().1, rows[i + 1], "row {}", i + 1);
    }
    assert_eq!(exported.lines().count() as u64, n_rows + 1);
    n_rows
}

#[test]
fn killed_at_any_moment_it_goes_on_from_what_was_learnt() {
    let program = Program::new();
    let text = table(12_000);
    program.write("t.csv", &text);
    let rows: Vec<&str> = text.lines().collect();
    let line = "train t.csv --target kind --set n_trees=40 --save-every 0 --test t.csv";
    let whole = program.json(&format!("{line} --store whole"));
    let mut moments = Moments(11);
    let (mut n_rows, mut n_models, mut n_resumed) = (0, 0, 0);
    for kill in 0..16 {
        // From moments in which hardly anything has begun to such in which a good part is done.
        let longest = [30, 150, 400, 800][kill % 4];
        let wait = Duration::from_micros(moments.below(longest * 1_000));
        program.killed(&format!("{line} --store kept --out m.hedgerow"), wait);
        n_rows = check_left(&program, &rows, n_rows);
        if program.path("m.hedgerow").exists() {
            // It is whole, and knows something.
            let evaluated = program.json("evaluate m.hedgerow t.csv");
            assert!(accuracy(&evaluated) > 0.8, "{evaluated}");
            n_models += 1;
        } else {
            assert_eq!(n_models, 0, "the model is gone");
        }
        if n_rows > 0 {
            let info = program.json("store info kept");
            let cursor = info["learners"][0]["cursor"].as_u64();
            assert!(cursor.is_some() || n_resumed == 0, "the model in the store is gone: {info}");
            n_resumed += u64::from(cursor.is_some());
        }
    }
    assert!(n_models >= 4 && n_resumed >= 4, "{n_models} models were left, {n_resumed} in the store");
    let output = program.output(&format!("{line} --store kept --out m.hedgerow --json"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !errors.contains("warning"), "{errors}");
    let last: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(last["store"]["resumed_at"].as_u64().unwrap() > 0, "{}", last["store"]);
    assert_eq!((&last["rows"], &last["store"]["rows"]), (&whole["rows"], &whole["store"]["rows"]));
    let (last, whole) = (accuracy(&last), accuracy(&whole));
    assert!(last > whole - 0.01, "{last} instead of {whole}");
    assert!((accuracy(&program.json("evaluate m.hedgerow t.csv")) - last).abs() < 1e-12);
}

#[test]
fn with_rounds_a_run_that_was_killed_ends_with_the_same_file() {
    let program = Program::new();
    program.write("t.csv", table(3_000));
    let kinds = ["forest --set n_trees=40", "forest-ivm --set n_trees=20 --set n_active=15"];
    for (number, kind) in kinds.into_iter().enumerate() {
        let line = format!("train t.csv --target kind --model {kind} --rounds 60 --save-every 0");
        program.ok(&format!("{line} --store whole{number} --out whole.hedgerow"));
        let mut moments = Moments(5);
        for _ in 0..4 {
            let wait = Duration::from_micros(moments.below(700_000));
            program.killed(&format!("{line} --store kept{number} --out m.hedgerow"), wait);
        }
        program.ok(&format!("{line} --store kept{number} --out m.hedgerow"));
        assert!(program.read("m.hedgerow") == program.read("whole.hedgerow"), "{kind}");
    }
}

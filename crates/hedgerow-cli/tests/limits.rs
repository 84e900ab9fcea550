//! Time, memory and Ctrl-C.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod program;

use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hedgerow::io::{ReadOptions, read_dataset};
use program::{Program, holds, large_data};
use serde_json::Value;

/// Tests that measure time run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accuracy(result: &Value) -> f64 {
    result["metrics"]["accuracy"].as_f64().unwrap()
}

/// Whether the tests on MNIST can run; says so if not.
fn has_mnist() -> bool {
    let found = large_data().is_some_and(|folder| folder.join("mnist/train-images-idx3-ubyte.gz").exists());
    if !found {
        println!("skipped: HEDGEROW_DATA does not name a folder with mnist in it");
    }
    found
}

#[test]
fn time_is_kept_and_the_model_is_usable() {
    let _turn = alone();
    let program = Program::new();
    let start = Instant::now();
    let fitted = program
        .json("fit {data}/digits.csv.gz --target digit --set n_trees=0 --max-seconds 1 --out m.hedgerow");
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds <= 1.5, "{seconds} s");
    assert_eq!(fitted["stop"], "time");
    assert!(fitted["trees"].as_u64().unwrap() > 10);
    assert!(accuracy(&program.json("evaluate m.hedgerow {data}/digits.csv.gz")) > 0.95);
}

#[test]
fn a_moment_is_enough_for_some_model() {
    let _turn = alone();
    let program = Program::new();
    program.ok("fit {data}/digits.csv.gz --target digit --max-seconds 0.05 --out m.hedgerow");
    assert!(program.json("info m.hedgerow")["trees"].as_u64().unwrap() >= 1);
}

#[test]
fn memory_is_kept_and_the_model_is_usable() {
    let program = Program::new();
    let fit = "fit {data}/digits.csv.gz --target digit --set n_trees=0 --out m.hedgerow";
    for (limit, bytes) in [("40MB", 40_000_000), ("30MB", 30_000_000)] {
        let fitted = program.json(&format!("{fit} --max-memory {limit}"));
        assert_eq!(fitted["stop"], "memory");
        if let Some(peak) = fitted["peak_memory_bytes"].as_u64() {
            assert!(peak <= bytes, "{peak} bytes, {limit} were allowed");
        }
        assert!(accuracy(&program.json("evaluate m.hedgerow {data}/digits.csv.gz")) > 0.95);
    }
}

#[test]
fn memory_is_kept_while_a_number_of_trees_is_grown_and_tested() {
    let program = Program::new();
    let fitted = program.json(
        "fit {data}/digits.csv.gz --target digit --set n_trees=5000 --max-memory 28MB --test {data}/digits.csv.gz",
    );
    if let Some(peak) = fitted["peak_memory_bytes"].as_u64() {
        assert!(peak <= 28_000_000, "{peak} bytes");
    }
    assert_eq!(fitted["metrics_from"], "test");
}

/// Columns that never change need no codes while trees are grown, but their values are held all the same.
#[test]
fn memory_of_training_is_kept_with_constant_columns() {
    let program = Program::new();
    let digits = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/digits.csv.gz");
    let options = ReadOptions { target: Some("digit".parse().unwrap()), ..ReadOptions::default() };
    let digits = read_dataset(&digits, &options, None).unwrap();
    let names: Vec<String> = (0..128).map(|column| format!("c{column}")).collect();
    let mut text = names.join(",") + ",digit\n";
    for (row, label) in digits.labels().iter().enumerate() {
        let own = (0..64).map(|column| digits.features.value(row, column));
        let constant = (0..64_u8).map(f32::from);
        own.chain(constant).for_each(|value| text += &format!("{value},"));
        text += &format!("{}\n", digits.schema.labels.name(*label));
    }
    program.write("wide.csv", text);
    let line = "train wide.csv --target digit --set n_trees=0 --max-seconds 3 --out m.hedgerow";
    let trained = program.json(&format!("{line} --max-memory 40MB"));
    if let Some(peak) = trained["peak_memory_bytes"].as_u64() {
        assert!(peak <= 40_000_000, "{peak} bytes");
    }
    assert!(accuracy(&program.json("evaluate m.hedgerow wide.csv")) > 0.95);
}

#[test]
fn too_little_memory_is_an_error_that_names_the_limit() {
    let program = Program::new();
    for limit in ["2MB", "7MB"] {
        let message = program.refused(&format!(
            "fit {{data}}/digits.csv.gz --target digit --max-memory {limit} --out m.hedgerow"
        ));
        // Whatever part of it was too small: the user knows the limit as it was given.
        let given = limit.replace("MB", ".0 MB");
        assert!(message.contains(&given) || message.contains("--max-memory"), "{message}");
        assert!(!message.contains("more than 1 bytes"), "a limit that was not set: {message}");
    }
    assert!(program.names().is_empty());
}

#[test]
fn endless_training_needs_a_limit() {
    let program = Program::new();
    let message = program.refused("fit {data}/ripley_train.csv.gz --target yc --set n_trees=0");
    holds(&message, &["n_trees", "0"]);
}

/// Interrupts a long training after a while.
#[cfg(unix)]
fn interrupted(program: &Program, line: &str) -> std::process::Output {
    let child = program.std_command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(800));
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    child.wait_with_output().unwrap()
}

#[test]
#[cfg(unix)]
fn ctrl_c_saves_the_model_so_far() {
    let _turn = alone();
    let program = Program::new();
    let start = Instant::now();
    let fit = "fit {data}/digits.csv.gz --target digit --set n_trees=1000000";
    let output = interrupted(&program, &format!("{fit} --json --out m.hedgerow"));
    assert!(start.elapsed().as_secs() < 5, "it went on for {:?}", start.elapsed());
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{message}");
    holds(&message, &["stopping"]);
    let fitted: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(fitted["stop"], "interrupted");
    assert_eq!(program.names(), ["m.hedgerow"]);
    assert!(accuracy(&program.json("evaluate m.hedgerow {data}/digits.csv.gz")) > 0.9);
}

#[test]
fn mnist_keeps_to_memory() {
    if !has_mnist() {
        return;
    }
    let program = Program::new();
    let fit = "fit {large}/mnist/train-images-idx3-ubyte.gz --test {large}/mnist/t10k-images-idx3-ubyte.gz";
    let fitted = program.json(&format!("{fit} --set n_trees=15 --max-memory 200MB --out m.hedgerow"));
    if let Some(peak) = fitted["peak_memory_bytes"].as_u64() {
        assert!(peak <= 200_000_000, "{peak} bytes");
    }
    assert!(accuracy(&fitted) > 0.9, "{}", fitted["metrics"]["accuracy"]);
}

#[test]
fn mnist_keeps_to_time() {
    if !has_mnist() {
        return;
    }
    let _turn = alone();
    let program = Program::new();
    let start = Instant::now();
    program
        .ok("fit {large}/mnist/train-images-idx3-ubyte.gz --set n_trees=0 --max-seconds 5 --out m.hedgerow");
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds <= 5.5, "{seconds} s");
    let evaluated =
        program.json("evaluate m.hedgerow {large}/mnist/t10k-images-idx3-ubyte.gz --at-least 0.9");
    assert_eq!(evaluated["rows"], 10_000);
}

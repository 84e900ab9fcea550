//! Runs the program in a folder of its own.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

pub(crate) mod killed;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder in which the program runs.
pub(crate) struct Program(TempDir);

impl Program {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with `m.hedgerow`, a small forest fitted to Ripley's two-dimensional data.
    pub(crate) fn with_ripley() -> Self {
        let program = Self::new();
        program.ok("fit {data}/ripley_train.csv.gz --target yc --set n_trees=20 --out m.hedgerow");
        program
    }

    /// The same for the titanic's passengers, whose columns are categories.
    pub(crate) fn with_titanic() -> Self {
        let program = Self::new();
        program.ok("fit {data}/titanic.csv.gz --target Survived --set n_trees=20 --out m.hedgerow");
        program
    }

    /// The first line of what the program prints, after which its output is closed: it must end well, and without a word.
    #[track_caller]
    pub(crate) fn first_line(&self, line: &str) -> String {
        let mut child = self.std_command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), message.as_str()), (Some(0), ""));
        first
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The names of all files, hidden ones too.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The command for a line of arguments, parted at blanks; `{data}` is the folder of the data that ship with the
    /// project and `{large}` that of `HEDGEROW_DATA`.
    pub(crate) fn command(&self, line: &str) -> Command {
        Command::from_std(self.std_command(line))
    }

    pub(crate) fn std_command(&self, line: &str) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hedgerow"));
        command.args(arguments(line)).current_dir(self.0.path());
        command
    }

    pub(crate) fn output(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// What a command that must succeed prints.
    #[track_caller]
    pub(crate) fn ok(&self, line: &str) -> String {
        let output = self.output(line);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {}: {errors}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same as JSON.
    #[track_caller]
    pub(crate) fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.ok(&format!("{line} --json"))).unwrap()
    }

    /// The message of a command that must fail with exit code 2, print nothing else, and not panic.
    #[track_caller]
    pub(crate) fn refused(&self, line: &str) -> String {
        refused(line, &self.output(line))
    }
}

/// The message of a run that must have failed cleanly.
#[track_caller]
pub(crate) fn refused(what: &str, output: &Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{what}: {message}");
    assert!(!message.contains("panicked"), "{what}: {message}");
    assert!(message.contains("error: "), "{what}: {message}");
    assert!(output.stdout.is_empty(), "{what}: results of a failed run");
    message
}

/// Fails unless a text holds all parts.
#[track_caller]
pub(crate) fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{text:?} lacks {part:?}");
    }
}

/// A data file that ships with the project.
pub(crate) fn data_file(name: &str) -> PathBuf {
    data_folder().join(name)
}

/// The folder of larger data sets; where it is not given, the caller's test says that it is skipped.
pub(crate) fn large_data() -> Option<PathBuf> {
    std::env::var_os("HEDGEROW_DATA").map(PathBuf::from)
}

fn data_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data")
}

fn arguments(line: &str) -> Vec<String> {
    let data = data_folder().display().to_string();
    let large = large_data().map_or(String::new(), |folder| folder.display().to_string());
    line.split_whitespace().map(|word| word.replace("{data}", &data).replace("{large}", &large)).collect()
}

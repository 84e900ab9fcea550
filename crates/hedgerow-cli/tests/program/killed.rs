//! Programs that are killed at random moments, and rows for them.
#![allow(clippy::format_collect)]

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use super::Program;

/// Random moments that are the same every time.
pub(crate) struct Moments(pub(crate) u64);

impl Moments {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A table of numbers and words, in which a word and a class come late and some labels are missing.
pub(crate) fn table(n_rows: usize) -> String {
    let row = |i: usize| {
        let (a, word) = (i * 37 % 101, ["red", "blue", if i > 900 { "late" } else { "red" }][i % 3]);
        let class = match i {
            _ if i % 50 == 7 => "",
            _ if i > 1_200 && i.is_multiple_of(9) => "rare",
            _ if a < 50 => "low",
            _ => "high",
        };
        format!("{a},{}.5,{word},{class}\n", i % 7)
    };
    "a,b,word,kind\n".to_string() + &(0..n_rows).map(row).collect::<String>()
}

impl Program {
    /// Starts the program, kills it (`SIGKILL`) after a while, and returns the lines that it had printed.
    pub(crate) fn killed(&self, line: &str, wait: Duration) -> Vec<String> {
        let mut command = self.std_command(line);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(wait);
        child.kill().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
        child.wait().unwrap();
        lines
    }
}

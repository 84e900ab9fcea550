//! Every command, as a user runs it. One binary links once; tests that watch the clock or kill the program have their own.
#![allow(clippy::format_collect, clippy::unwrap_used)]

#[path = "../program/mod.rs"]
mod program;

mod bad_input;
mod evaluate;
mod fit;
mod generate;
mod gp;
mod help;
mod hybrid;
mod info;
mod ivm;
mod merge;
mod model_file;
mod outliers;
mod predict;
mod query;
mod report;
mod rvm;
mod simulate;
mod stream;
mod tables;
mod update;

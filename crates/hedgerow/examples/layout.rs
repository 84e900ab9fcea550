//! What the order of splits in memory is worth: bytes a node, and cache lines that a walk touches.
//!
//! `cargo run --release --example layout -- TRAIN TEST [TARGET]`, by default on the digits that ship with the project.

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};

use hedgerow::core::{Budget, Features, Par, Params as _, Result, Silent, Training};
use hedgerow::forest::tree::{Link, Tree};
use hedgerow::forest::{Forest, ForestParams};
use hedgerow::io::{ColumnRef, ReadOptions, read_dataset};

const LINE: usize = 64;
const SPLIT: usize = 16;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/digits.csv.gz");
    let train = args.first().map_or(shipped, PathBuf::from);
    let test = args.get(1).map_or_else(|| train.clone(), PathBuf::from);
    let target = match (args.len(), args.get(2)) {
        (0, _) => Some("digit"),
        (_, target) => target.map(String::as_str),
    };
    let options = ReadOptions { target: target.map(|t| ColumnRef::Name(t.into())), ..ReadOptions::default() };
    let data = read_dataset(&train, &options, None)?;
    let rows = read_dataset(&test, &options, None)?.features.clone();
    let params = ForestParams { n_trees: 20, ..ForestParams::default() }.check()?;
    let training = Training { par: &Par::new(0)?, budget: &Budget::open(), observer: &Silent };
    let forest = Forest::fit(&data, &params, &training)?.forest;

    println!("{:.2} bytes a node in memory", forest.bytes() as f64 / forest.n_nodes() as f64);
    println!("a walk touches on average, of lines of {LINE} bytes:");
    for (name, order) in [
        ("larger child next", Order::AsStored),
        ("left child next", Order::Left),
        ("level by level", Order::Levels),
    ] {
        let (lines, steps) = lines_a_walk(&forest, &rows, order);
        println!("  {name:18} {lines:5.2} lines in {steps:5.2} steps");
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Order {
    AsStored,
    Left,
    Levels,
}

/// Where each split would stand in an order.
fn places(tree: &Tree, order: Order) -> Vec<usize> {
    let n = tree.splits().len();
    if matches!(order, Order::AsStored) {
        return (0..n).collect();
    }
    let mut place = vec![0; n];
    let mut waiting: std::collections::VecDeque<usize> = tree.root().as_split().into_iter().collect();
    let mut next = 0;
    while let Some(split) =
        if matches!(order, Order::Levels) { waiting.pop_front() } else { waiting.pop_back() }
    {
        place[split] = next;
        next += 1;
        let mut children: Vec<usize> =
            tree.splits()[split].links().into_iter().filter_map(Link::as_split).collect();
        if matches!(order, Order::Left) {
            children.reverse();
        }
        waiting.extend(children);
    }
    place
}

fn lines_a_walk(forest: &Forest, rows: &Features, order: Order) -> (f64, f64) {
    let n_rows = rows.n_rows().min(1000);
    let x = rows.to_array(0..n_rows);
    let (mut lines, mut steps) = (0_usize, 0_usize);
    for tree in forest.trees() {
        let places = places(tree, order);
        for row in x.rows() {
            let mut at = tree.root();
            let mut seen = Vec::new();
            while let Some(split) = at.as_split() {
                steps += 1;
                let line = places[split] * SPLIT / LINE;
                if !seen.contains(&line) {
                    seen.push(line);
                }
                let node = &tree.splits()[split];
                let left = row[usize::from(node.feature())] < node.threshold();
                at = node.links()[usize::from(!left)];
            }
            lines += seen.len();
        }
    }
    let walks = (n_rows * forest.trees().len()) as f64;
    (lines as f64 / walks, steps as f64 / walks)
}

//! How much each memory of a forest counts on a stream with switches, and what the mixture loses against each of them: a picture.
//!
//! Rows are points of a square, cut by a line through its middle; one label of twenty is wrong. The line stands still, turns round once in 300
//! rows, stands still, turns once in 3,000 rows, and stands still: 3,000 rows each.
//!
//! ```text
//! cargo run --release --example memory_weights                 # into docs/pictures
//! cargo run --release --example memory_weights -- FOLDER
//! ```

#![allow(clippy::print_stdout)]

use std::fmt::Write as _;
use std::path::PathBuf;

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::{Budget, ClassId, LabelTable, Par, Rows, Schema, Silent, Training};
use hedgerow::{Kind, Model, ModelParams};
use ndarray::Array2;

const MEMORIES: [&str; 5] = ["all rows", "newest 20", "newest 100", "newest 300", "newest 1,000"];
const COLORS: [&str; 5] = ["#8a94a3", "#c2453c", "#dd9233", "#4f9a54", "#3f77b5"];
/// Rows of a phase, and how many phases and points of a curve there are.
const PHASE: usize = 3_000;
const N_PHASES: usize = 5;
const STEP: usize = 100;
/// The frame of the two plots.
const LEFT: f64 = 60.0;
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 150.0;

/// What came of the rows between two points of a curve.
#[derive(Clone, Default)]
struct Point {
    /// The mean weight of each memory.
    weights: [f64; 5],
    /// The log-loss of each memory less that of the mixture, summed over all rows so far.
    excess: [f64; 5],
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("docs/pictures"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let points = run()?;
    let path = folder.join("memory-weights.svg");
    std::fs::write(&path, to_svg(&points)?)?;
    let last = points.last().ok_or("there are no points")?;
    println!("{}", path.display());
    for (memory, excess) in MEMORIES.iter().zip(last.excess) {
        println!("{memory}: {:.4} a row above the mixture", excess / (N_PHASES * PHASE) as f64);
    }
    Ok(())
}

/// Predicts and learns the stream row by row.
fn run() -> hedgerow::core::Result<Vec<Point>> {
    let labels = LabelTable::from(["below", "above"].map(String::from).to_vec());
    let schema = Schema { labels, ..Schema::unnamed(2) };
    let mut model = Model::new(schema.clone(), &ModelParams::new(Kind::Forest))?;
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let (mut rng, mut angle, mut points) = (Rng::new(1, Purpose::Data, 0), 0.0_f64, Vec::new());
    let mut point = Point::default();
    for t in 0..N_PHASES * PHASE {
        angle += std::f64::consts::TAU * [0.0, 1.0 / 300.0, 0.0, 1.0 / 3_000.0, 0.0][t / PHASE];
        let at = [rng.unit() - 0.5, rng.unit() - 0.5];
        let is_above = at[0] * angle.sin() + at[1] * angle.cos() > 0.0;
        let class = ClassId(u32::from(is_above != (rng.below(20) == 0)));
        let x = Array2::from_shape_fn((1, 2), |(_, column)| at[column] as f32);
        // Until both classes are known there is nothing to compare.
        if let Some((proba, mixed)) = model.predict_early(x.view(), &par)?.pop()
            && proba.len() == 2
        {
            let loss = |p: &[f64]| -p[class.index()].max(1e-4).ln();
            for (memory, excess) in point.excess.iter_mut().enumerate() {
                // A memory that rests predicts as the forest does.
                let own = mixed.member(if memory < mixed.n_members() { memory } else { 0 });
                *excess += loss(own) - loss(&proba);
            }
        }
        model.learn_rows(&schema, Rows::new(x.view(), &[class][..], None), &training)?;
        let weights = model.memory_weights();
        point.weights.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight / STEP as f64);
        if (t + 1) % STEP == 0 {
            points.push(point.clone());
            point.weights = [0.0; 5];
        }
    }
    Ok(points)
}

fn to_svg(points: &[Point]) -> Result<String, std::fmt::Error> {
    let x = |i: usize| LEFT + WIDTH * i as f64 / points.len() as f64;
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 420\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"800\" height=\"420\" fill=\"#fff\"/>\n",
    );
    frame(&mut svg, 30.0, "Weight of each memory")?;
    let mut below = vec![0.0; points.len()];
    for (memory, color) in COLORS.iter().enumerate() {
        let above: Vec<f64> =
            points.iter().zip(&below).map(|(point, sum)| sum + point.weights[memory]).collect();
        let y = |share: &f64| 30.0 + HEIGHT * (1.0 - share);
        let forth = above.iter().enumerate().map(|(i, share)| (x(i + 1), y(share)));
        let back = below.iter().enumerate().rev().map(|(i, share)| (x(i + 1), y(share)));
        writeln!(svg, "<polygon fill=\"{color}\" points=\"{}\"/>", path(forth.chain(back)))?;
        below = above;
    }
    frame(&mut svg, 230.0, "Log-loss of each memory so far, less that of the mixture")?;
    let all = points.iter().flat_map(|point| point.excess);
    let (least, most) =
        all.fold((0.0_f64, 1.0_f64), |(least, most), excess| (least.min(excess), most.max(excess)));
    let y = |excess: f64| 230.0 + HEIGHT * (most - excess) / (most - least);
    for (memory, color) in COLORS.iter().enumerate() {
        let curve = points.iter().enumerate().map(|(i, point)| (x(i + 1), y(point.excess[memory])));
        writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"2\" points=\"{}\"/>",
            path(curve)
        )?;
    }
    // The regret: the loss of the mixture less that of the best memory in hindsight.
    let regret = |point: &Point| -point.excess.into_iter().fold(f64::INFINITY, f64::min);
    let curve = points.iter().enumerate().map(|(i, point)| (x(i + 1), y(-regret(point))));
    let dashes = "stroke=\"#000\" stroke-dasharray=\"4 3\"";
    writeln!(svg, "<polyline fill=\"none\" {dashes} points=\"{}\"/>", path(curve))?;
    for excess in [0.0, most] {
        let at = y(excess);
        writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#999\"/>",
            LEFT + WIDTH
        )?;
        writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{excess:.0}</text>",
            LEFT - 6.0,
            at + 4.0
        )?;
    }
    let names = MEMORIES.iter().zip(COLORS).enumerate();
    for (i, (name, color)) in names {
        let at = 44.0 + 20.0 * i as f64;
        writeln!(
            svg,
            "<rect x=\"676\" y=\"{:.0}\" width=\"12\" height=\"12\" fill=\"{color}\"/>",
            at - 10.0
        )?;
        writeln!(svg, "<text x=\"694\" y=\"{at:.0}\">{name}</text>")?;
    }
    writeln!(
        svg,
        "<line x1=\"676\" x2=\"688\" y1=\"240\" y2=\"240\" {dashes}/><text x=\"694\" y=\"244\">the least of them</text>"
    )?;
    Ok(svg + "</svg>\n")
}

/// A frame with the phases of the stream in it.
fn frame(svg: &mut String, top: f64, title: &str) -> std::fmt::Result {
    writeln!(svg, "<text x=\"{LEFT}\" y=\"{}\" font-size=\"13\">{title}</text>", top - 8.0)?;
    let phases = ["still", "fast turn", "still", "slow turn", "still"];
    for (i, phase) in phases.iter().enumerate() {
        let (left, width) = (LEFT + WIDTH * i as f64 / N_PHASES as f64, WIDTH / N_PHASES as f64);
        writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#ccc\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{phase}</text>",
            left + width / 2.0,
            top + HEIGHT + 16.0,
        )?;
    }
    for i in 0..=N_PHASES {
        let (at, row) = (LEFT + WIDTH * i as f64 / N_PHASES as f64, i * PHASE);
        writeln!(svg, "<text x=\"{at}\" y=\"{}\" text-anchor=\"middle\">{row}</text>", top + HEIGHT + 16.0)?;
    }
    Ok(())
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

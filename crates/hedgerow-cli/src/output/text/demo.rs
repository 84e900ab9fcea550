//! The demonstration, as text: a learning curve, and pictures of what was hard.

use std::io::{self, Write};

use hedgerow::report::{Look, UncertainRow};

use super::super::{Show, count, seconds, size};
use crate::commands::demo::DemoResult;
use crate::commands::learning::Window;

/// Characters from the least accuracy that is drawn to 100 %.
const BAR: f64 = 40.0;
const LEAST: f64 = 0.5;
/// Eighths of a block.
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/// From white to black.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
/// Characters between two pictures.
const GAP: usize = 3;

impl Show for DemoResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let learnt = &self.learnt;
        let (rows, tested) = (count(learnt.made.rows as u64), count(learnt.metrics_rows));
        write!(out, "{rows} handwritten digits, learnt in {} batches; ", learnt.batches.len())?;
        writeln!(out, "after each, the accuracy on {tested} test rows:\n")?;
        writeln!(out, "  learnt  accuracy, from {:.0} to 100 %", 100.0 * LEAST)?;
        for window in &learnt.batches {
            write_bar(window, out)?;
        }
        let figures = learnt.metrics.report().map(|report| (report.log_loss, report.ece));
        let (log_loss, ece) = figures.unwrap_or_default();
        let (speed, took) = (count(learnt.rows_per_second as u64), seconds(self.seconds_in_all));
        writeln!(out, "\nlog-loss {log_loss:.3}, ECE {ece:.3}; {speed} rows/s learnt, all done in {took}")?;
        writeln!(out, "Most uncertain predictions:\n")?;
        write_uncertain(&self.least_sure, out)?;
        let model = learnt.made.out.as_ref().map_or_else(String::new, |out| out.display().to_string());
        let (data, report, bytes) =
            (self.data.display(), self.report.display(), size(learnt.made.about.bytes));
        write!(out, "\nThe report is {report}: open it in a browser. ")?;
        writeln!(out, "The model is {model} ({bytes}). Next:")?;
        writeln!(out, "  hedgerow info {model}")?;
        writeln!(out, "  hedgerow predict {model} {data} --proba")?;
        let report = self.report.with_file_name("stream.html");
        write!(out, "  hedgerow stream {data} --target digit --image 8x8 --batches 10 ")?;
        writeln!(out, "--report {}", report.display())?;
        writeln!(out, "  hedgerow fit YOUR.csv --target COLUMN --out m.hedgerow --report r.html")
    }
}

fn write_bar(window: &Window, out: &mut dyn Write) -> io::Result<()> {
    let accuracy = window.test_accuracy.unwrap_or(0.0);
    let eighths = ((accuracy - LEAST).max(0.0) / (1.0 - LEAST) * BAR * 8.0).round() as usize;
    let bar = "█".repeat(eighths / 8) + PARTS[eighths % 8];
    let rest = " ".repeat((BAR as usize).saturating_sub(bar.chars().count()));
    writeln!(out, "  {:>6}  {bar}{rest} {:5.1} %", count(window.rows_seen), 100.0 * accuracy)
}

/// Pictures side by side, with the label and the prediction below.
fn write_uncertain(digits: &[UncertainRow], out: &mut dyn Write) -> io::Result<()> {
    let pictures: Vec<Vec<String>> = digits.iter().map(|digit| draw(&digit.look)).collect();
    let gap = " ".repeat(GAP);
    let width = pictures.iter().flatten().map(|line| line.chars().count()).max().unwrap_or(0);
    let height = pictures.iter().map(Vec::len).max().unwrap_or(0);
    let line = |cells: Vec<String>| {
        let cells: Vec<String> = cells.into_iter().map(|cell| format!("{cell:width$}")).collect();
        format!("  {}", cells.join(&gap)).trim_end().to_string()
    };
    for i in 0..height {
        writeln!(out, "{}", line(pictures.iter().map(|p| p.get(i).cloned().unwrap_or_default()).collect()))?;
    }
    let truth = |digit: &UncertainRow| {
        format!("row {}: a {}", count(digit.row), digit.truth.as_deref().unwrap_or_default())
    };
    writeln!(out, "{}", line(digits.iter().map(truth).collect()))?;
    let prediction = |digit: &UncertainRow| {
        let classes = digit.prediction.iter().take(2).map(|(name, p)| format!("{name} {:.0} %", 100.0 * p));
        classes.collect::<Vec<_>>().join(", ")
    };
    writeln!(out, "{}", line(digits.iter().map(prediction).collect()))
}

/// A picture in characters, two for each pixel so that it is about as high as wide; no lines for a row that is none.
fn draw(look: &Look) -> Vec<String> {
    let Look::Picture(picture) = look else { return Vec::new() };
    let [low, high] = picture.range;
    let shade = |&value: &f32| {
        let share = ((value - low) / (high - low).max(1e-12)).clamp(0.0, 1.0);
        SHADES[(share * (SHADES.len() - 1) as f32).round() as usize]
    };
    let line = |row: &[f32]| row.iter().map(shade).flat_map(|c| [c, c]).collect();
    picture.values.chunks(picture.size[1].max(1)).map(line).collect()
}

//! What does a forest say about a digit it has never seen?
//!
//! Fits a forest to handwritten digits without the fives and asks it about the fives (after table 7.2 of Denninger 2017, who
//! found most of them taken for 3 and 8). Then it learns a few fives online and is asked again. Writes a page with pictures.
//!
//! ```text
//! cargo run --release --example left_out_digit                       # the digits that ship with the project
//! cargo run --release --example left_out_digit -- TRAIN TEST         # IDX images, such as MNIST's
//! ```

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};

use hedgerow::Model;
use hedgerow::core::{Budget, ClassId, Dataset, Par, Rows, Silent, Training};
use hedgerow::forest::ForestParams;
use hedgerow::io::{ColumnRef, ReadOptions, read_dataset};
use hedgerow::report::{ClassBars, Example, Page, Picture};

const LEFT_OUT: &str = "5";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let (train, test) = match &paths[..] {
        [train, test] => (read(train)?, read(test)?),
        _ => shipped()?,
    };
    let five = train.schema.labels.get(LEFT_OUT).ok_or("the data have no five")?;
    let rows_of = |data: &Dataset, is_five: bool| -> Vec<usize> {
        (0..data.n_rows()).filter(|&row| (data.labels()[row] == five) == is_five).collect()
    };
    let known = train.select(&rows_of(&train, false));
    let fives = test.select(&rows_of(&test, true));

    let par = Par::new(0)?;
    let budget = Budget::open();
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let params = ForestParams::default().into();
    let mut model = Model::fit(&known, &params, &training)?.model;
    let mut page = Page {
        title: "A digit the forest has never seen".into(),
        subtitle: format!(
            "{} rows without a five; {} fives asked about",
            rows_of(&train, false).len(),
            fives.n_rows()
        ),
        ..Page::default()
    };
    let learnt = train.select(&rows_of(&train, true));
    let steps = [0, 20, 100, learnt.n_rows()];
    for pair in steps.windows(2) {
        ask(&model, &fives, five, pair[0], &par, &mut page)?;
        let more = learnt.select(&(pair[0]..pair[1]).collect::<Vec<_>>());
        let x = more.features.to_array(0..more.n_rows());
        model.learn_rows(&train.schema, Rows::new(x.view(), more.labels(), None), &training)?;
    }
    ask(&model, &fives, five, learnt.n_rows(), &par, &mut page)?;

    std::fs::create_dir_all("out")?;
    let path = Path::new("out/left-out-digit.html");
    page.write(&mut std::fs::File::create(path)?)?;
    println!("the page is in {}", path.display());
    Ok(())
}

/// What the model takes the fives for, and how sure it is, in text and on the page.
fn ask(
    model: &Model,
    fives: &Dataset,
    five: ClassId,
    n_learnt: usize,
    par: &Par,
    page: &mut Page,
) -> Result<(), Box<dyn std::error::Error>> {
    let proba = model.predict_proba_par(fives.features.to_array(0..fives.n_rows()).view(), par)?;
    let names = fives.schema.labels.names();
    let mut counts = vec![0_u64; names.len()];
    let mut sureness = Vec::new();
    for row in proba.rows() {
        let best = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
        counts[best] += 1;
        sureness.push((row[best], best));
    }
    let mean = sureness.iter().map(|s| s.0).sum::<f64>() / sureness.len().max(1) as f64;
    let right = counts[five.index()] as f64 / fives.n_rows().max(1) as f64;
    println!(
        "after {n_learnt} fives: taken for {counts:?}, mean probability of the prediction {mean:.2}, recall {right:.3}"
    );
    let mut order: Vec<usize> = (0..sureness.len()).collect();
    order.sort_by(|&a, &b| sureness[b].0.total_cmp(&sureness[a].0));
    let shown: Vec<usize> = order.iter().take(6).chain(order.iter().rev().take(6)).copied().collect();
    let pictures = Picture::of_rows(&fives.schema, &fives.features, &shown).unwrap_or_default();
    let examples = pictures.into_iter().zip(&shown).map(|(picture, &row)| {
        let (p, class) = sureness[row];
        Example { picture, caption: format!("{} {:.0} %", names[class], 100.0 * p) }
    });
    page.class_bars.push(ClassBars {
        title: format!("After {n_learnt} fives"),
        text: format!("What {} fives are taken for; the prediction has {mean:.2} of the probability on average. Below, the six it is surest of and the six it is least sure of.", fives.n_rows()),
        bars: names.iter().cloned().zip(counts).collect(),
        examples: examples.collect(),
    });
    Ok(())
}

fn read(path: &Path) -> Result<Dataset, Box<dyn std::error::Error>> {
    Ok(read_dataset(path, &ReadOptions::default(), None)?)
}

/// The digits that ship with the project: every third row is kept for asking.
fn shipped() -> Result<(Dataset, Dataset), Box<dyn std::error::Error>> {
    let options = ReadOptions { target: Some(ColumnRef::Name("digit".into())), ..ReadOptions::default() };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/digits.csv.gz");
    let mut data = read_dataset(&path, &options, None)?;
    data.edit(|data| data.schema.image = Some([8, 8]))?;
    let part =
        |of: fn(usize) -> bool| data.select(&(0..data.n_rows()).filter(|&row| of(row)).collect::<Vec<_>>());
    Ok((part(|row| row % 3 != 0), part(|row| row % 3 == 0)))
}

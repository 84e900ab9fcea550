//! A report page about a forest on the digits that ship with the project, with every section there is.
//!
//! `cargo run --release --example report -- [FILE.html]`, by default `out/report.html`.

#![allow(clippy::print_stdout)]

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Instant;

use hedgerow::Model;
use hedgerow::core::metrics::Report;
use hedgerow::core::{Budget, ClassId, Dataset, Error, Par, Result, Silent, Training};
use hedgerow::forest::ForestParams;
use hedgerow::io::{ColumnRef, ReadOptions, read_dataset};
use hedgerow::report::{
    ClassBars, CurvePoint, Example, Importances, LearningCurve, Mark, MarkKind, Page, Picture, Predictions,
};

const TREES: usize = 100;
/// The digit that comes late in the stream, and the one that is left out of the last experiment.
const LATE: ClassId = ClassId(9);
/// Rows between two points of the learning curve.
const BATCH: usize = 40;
/// Batches over which the learning curve is smoothed.
const WINDOW: usize = 5;

fn main() -> Result<()> {
    let out = std::env::args().nth(1).map_or_else(|| PathBuf::from("out/report.html"), PathBuf::from);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/digits.csv.gz");
    let options = ReadOptions { target: Some(ColumnRef::Name("digit".into())), ..ReadOptions::default() };
    let mut data = read_dataset(&file, &options, None)?;
    data.edit(|data| data.schema.image = Some([8, 8]))?;
    let (held_out, learnt): (Vec<usize>, Vec<usize>) = (0..data.n_rows()).partition(|row| row % 5 == 0);
    let (train, test) = (data.select(&learnt), data.select(&held_out));

    let start = Instant::now();
    let model = fit(&train, TREES)?;
    let seconds = start.elapsed().as_secs_f64();
    let proba = model.predict_proba_par(test.features.to_array(0..test.n_rows()).view(), &Par::new(0)?)?;

    let mut page = Page {
        title: "Handwritten digits".into(),
        subtitle: "A random forest on digits.csv.gz: pictures of 8 × 8 pixels, ten classes".into(),
        facts: facts(&model, &train, seconds)?,
        ..Page::default()
    };
    let row_numbers: Vec<u64> = held_out.iter().map(|&row| row as u64 + 1).collect();
    page.evaluate(&Predictions {
        row_numbers: Some(&row_numbers),
        features: Some(&test.features),
        measured_on: format!("{} rows held out: every fifth of the file", test.n_rows()),
        ..Predictions::new(proba.view(), test.labels(), &test.schema)
    })?;
    page.curve = Some(curve(&train, &test)?);
    if let Some(forest) = model.as_forest() {
        let meaning = "The share of all impurity removed that each pixel's splits removed.";
        page.importances = Some(Importances::new(meaning, &data.schema, &forest.impurity_importances()));
    }
    page.class_bars.push(left_out(&train, &test)?);
    page.notes.push(
        "Log-loss, Brier score and ECE evaluate probabilities; accuracy only evaluates the predicted class."
            .into(),
    );

    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
    }
    let html = page.to_html();
    std::fs::write(&out, &html).map_err(|source| Error::io(&out, source))?;
    println!("{} ({:.0} kB)", out.display(), html.len() as f64 / 1e3);
    Ok(())
}

fn fit(data: &Dataset, n_trees: usize) -> Result<Model> {
    let params = ForestParams { n_trees, ..ForestParams::default() }.into();
    let training = Training { par: &Par::new(0)?, budget: &Budget::open(), observer: &Silent };
    Ok(Model::fit(data, &params, &training)?.model)
}

fn facts(model: &Model, train: &Dataset, seconds: f64) -> Result<Vec<(String, String)>> {
    let nodes = model.as_forest().map_or(0, hedgerow::forest::Forest::n_nodes);
    let facts = [
        ("Trees", TREES.to_string()),
        ("Nodes", format!("{},{:03}", nodes / 1000, nodes % 1000)),
        ("Rows learnt", train.n_rows().to_string()),
        ("Features", train.schema.n_features().to_string()),
        ("Classes", train.schema.n_classes().to_string()),
        ("Fitted in", format!("{:.0} ms", 1e3 * seconds)),
        ("Model file", format!("{:.0} kB", model.file_len()? as f64 / 1e3)),
        ("Seed", "0".into()),
    ];
    Ok(facts.map(|(name, value)| (name.to_string(), value)).to_vec())
}

/// Forests of growing parts of the rows, one digit of which comes only in the second half.
fn curve(train: &Dataset, test: &Dataset) -> Result<LearningCurve> {
    let half = train.n_rows() / 2;
    let order: Vec<usize> =
        (0..train.n_rows()).filter(|&row| row >= half || train.labels()[row] != LATE).collect();
    let new_at = order.iter().position(|&row| train.labels()[row] == LATE).unwrap_or(0);
    let stream = train.select(&order);
    let mut curve = LearningCurve {
        text: format!(
            "A forest fitted anew every {BATCH} rows predictions the next {BATCH} before it learns them; prequential \
             figures are means of the last {} rows. The digit 9 comes only in the second half.",
            WINDOW * BATCH
        ),
        marks: vec![Mark { rows_seen: new_at as u64, kind: MarkKind::NewClass, text: "the digit 9".into() }],
        ..LearningCurve::default()
    };
    let mut window: VecDeque<[f64; 2]> = VecDeque::new();
    let x_test = test.features.to_array(0..test.n_rows());
    for end in (BATCH..stream.n_rows() - BATCH).step_by(BATCH) {
        let start = Instant::now();
        let model = fit(&stream.select(&(0..end).collect::<Vec<_>>()), TREES)?;
        let seconds = start.elapsed().as_secs_f64();
        let next = end..end + BATCH;
        let proba =
            model.predict_proba_par(stream.features.to_array(next.clone()).view(), &Par::sequential())?;
        let truth = &stream.labels()[next];
        let report = Report::new(proba.view(), truth, None)?;
        window.push_back([report.accuracy, report.log_loss]);
        if window.len() > WINDOW {
            window.pop_front();
        }
        let on_test = model.predict_proba_par(x_test.view(), &Par::sequential())?;
        let mean = |figure: usize| window.iter().map(|w| w[figure]).sum::<f64>() / window.len() as f64;
        curve.points.push(CurvePoint {
            rows_seen: end as u64,
            accuracy: mean(0),
            log_loss: Some(mean(1)),
            test_accuracy: Some(Report::new(on_test.view(), test.labels(), None)?.accuracy),
            rows_per_second: Some(end as f64 / seconds),
            ..CurvePoint::default()
        });
    }
    Ok(curve)
}

/// What a forest that has never seen a digit takes it for.
fn left_out(train: &Dataset, test: &Dataset) -> Result<ClassBars> {
    let others: Vec<usize> = (0..train.n_rows()).filter(|&row| train.labels()[row] != LATE).collect();
    let unknown: Vec<usize> = (0..test.n_rows()).filter(|&row| test.labels()[row] == LATE).collect();
    let model = fit(&train.select(&others), TREES)?;
    let rows = test.features.select(&unknown).to_array(0..unknown.len());
    let predictions = model.predict_classes(rows.view(), &Par::sequential())?;
    let names = test.schema.labels.names();
    let times = |class: usize| predictions.iter().filter(|a| a.index() == class).count() as u64;
    let mut bars: Vec<(String, u64)> =
        names.iter().enumerate().map(|(class, name)| (name.clone(), times(class))).collect();
    bars.retain(|bar| bar.1 > 0);
    bars.sort_by_key(|bar| std::cmp::Reverse(bar.1));
    let shown = &unknown[..unknown.len().min(24)];
    let pictures = Picture::of_rows(&test.schema, &test.features, shown).unwrap_or_default();
    let example = |(picture, prediction): (Picture, &ClassId)| Example {
        picture,
        caption: format!("predicted as {}", names[prediction.index()]),
    };
    Ok(ClassBars {
        title: "A digit it has never seen".into(),
        text: "What a forest that learnt all digits but 9 predictions when it is shown a 9.".into(),
        bars,
        examples: pictures.into_iter().zip(&predictions).map(example).collect(),
    })
}

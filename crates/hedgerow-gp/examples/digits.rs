//! Trains a Gaussian process on digits and reports its accuracy: `digits TRAIN [TEST] [name=value ...]`.
//!
//! Files have a row a line: the digit, then its pixels, blanks between (the format of the USPS files, unpacked). Without a test file,
//! every fifth training row is held out. Settings are those of `GpParams`, for example `method=laplace`.

use std::time::Instant;

use hedgerow_core::{
    Budget, ClassId, Classifier as _, Dataset, Error, Features, LabelTable, Par, Params as _, Result, Schema,
    Silent, Training,
};
use hedgerow_gp::{GpClassifier, GpParams};

#[allow(clippy::print_stdout)]
fn main() -> Result<()> {
    let (settings, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.contains('='));
    let Some(train) = files.first() else { return Err(Error::param("TRAIN", "a file", "none")) };
    let all = read(train)?;
    let (train, test) = if let Some(test) = files.get(1) {
        (all, read(test)?)
    } else {
        let (out, rest): (Vec<usize>, Vec<usize>) = (0..all.n_rows()).partition(|r| r % 5 == 4);
        (all.select(&rest), all.select(&out))
    };
    let params =
        GpParams::default().with_settings(settings.iter().filter_map(|s| s.split_once('=')))?.check()?;
    let par = Par::new(0)?;
    let start = Instant::now();
    let budget = Budget::open();
    let fitted =
        GpClassifier::fit(&train, &params, &Training { par: &par, budget: &budget, observer: &Silent })?;
    let trained = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let p = fitted.model.predict_proba(test.features.to_array(0..test.n_rows()).view(), &par)?;
    let asked = start.elapsed().as_secs_f64();
    let (mut right, mut loss) = (0, 0.0);
    for ((row, predicted), class) in
        p.rows().into_iter().zip(hedgerow_core::traits::most_probable(p.view())).zip(test.labels())
    {
        right += usize::from(predicted == *class);
        loss -= row[class.index()].ln();
    }
    let n = test.n_rows() as f64;
    println!("{} rows in {trained:.1} s, {} predictions in {asked:.1} s", train.n_rows(), test.n_rows());
    println!("accuracy {:.2} %, log-loss {:.4}", 100.0 * f64::from(right as u32) / n, loss / n);
    let kernel = fitted.model.kernel();
    let names = kernel.parameter_names().into_iter().zip(kernel.parameters());
    println!("{:?}", names.map(|(name, value)| (name, value.exp())).take(5).collect::<Vec<_>>());
    Ok(())
}

fn read(file: &str) -> Result<Dataset> {
    let text = std::fs::read_to_string(file).map_err(|e| Error::io(file, e))?;
    let rows: Vec<Vec<f32>> = text
        .lines()
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .collect();
    let width = rows.first().map_or(0, |row| row.len().saturating_sub(1));
    let mut features = Features::new(width);
    rows.iter().filter(|row| row.len() == width + 1).for_each(|row| features.push(&row[1..]));
    let labels: Vec<_> =
        rows.iter().filter(|row| row.len() == width + 1).map(|row| ClassId(row[0] as u32)).collect();
    let names = LabelTable::from((0..10).map(|digit| digit.to_string()).collect::<Vec<_>>());
    Dataset::new(Schema { labels: names, ..Schema::unnamed(width) }, features, labels, None)
}

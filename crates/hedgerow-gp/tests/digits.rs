//! The posteriors of an IVM classifier on real data: handwritten digits (UCI, Optical Recognition of Handwritten Digits).

#![allow(clippy::unwrap_used)]

use std::io::Read as _;

use flate2::read::GzDecoder;
use hedgerow_core::{
    Budget, ClassId, ClassQuality, Classifier as _, Dataset, Features, LabelTable, Par, Params as _, Schema,
    Silent, Source, Training,
};
use hedgerow_gp::IvmParams;

fn digits() -> Dataset {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/digits.csv.gz");
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let (mut features, mut labels) = (Features::new(64), Vec::new());
    for line in text.lines().skip(1) {
        let numbers: Vec<f32> = line.split(',').map(|word| word.parse().unwrap()).collect();
        features.push(&numbers[..64]);
        labels.push(ClassId(numbers[64] as u32));
    }
    let names = LabelTable::from((0..10).map(|digit| digit.to_string()).collect::<Vec<_>>());
    Dataset::new(Schema { labels: names, ..Schema::unnamed(64) }, features, labels, None).unwrap()
}

/// Scores of rows that posteriors were trained on would make the curves too steep.
#[test]
fn posteriors_are_calibrated_out_of_fold() {
    let all = digits();
    let (test, train): (Vec<usize>, Vec<usize>) = (0..all.n_rows()).partition(|row| row % 3 == 2);
    let (train, test) = (all.select(&train), all.select(&test));
    let par = Par::new(2).unwrap();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    let params = IvmParams {
        n_active: 20,
        length_scale: 1.2,
        signal_variance: 100.0,
        refit: false,
        ..IvmParams::default()
    };
    let fitted = hedgerow_core::fit(&train, &params.check().unwrap(), &training).unwrap();
    let validation = fitted.validation.unwrap();
    assert_eq!((validation.source, validation.len()), (Source::OutOfFold, train.n_rows()));
    let estimated = validation.quality();
    let x = test.features.to_array(0..test.n_rows());
    let measured = ClassQuality::new(&fitted.model.predict_proba(x.view(), &par).unwrap(), test.labels());
    assert!(measured.accuracy > 0.97 && measured.log_loss < 0.08, "{measured:?}");
    assert!((measured.log_loss - estimated.log_loss()).abs() < 0.03, "{measured:?} {estimated:?}");
}

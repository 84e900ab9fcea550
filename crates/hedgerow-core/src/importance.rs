//! Which columns matter to a classifier (permutation importance: Breiman, 2001, *Random forests*).

use ndarray::Array2;

use crate::data::Dataset;
use crate::error::Result;
use crate::par::Par;
use crate::rng::{Purpose, Rng};
use crate::traits::{Classifier, most_probable};

/// For each column the accuracy lost when its values are shuffled among the rows, as the mean of `repeats` shuffles.
///
/// The rows should be ones the model has not seen.
pub fn permutation(
    model: &dyn Classifier,
    data: &Dataset,
    repeats: usize,
    seed: u64,
    par: &Par,
) -> Result<Vec<f64>> {
    let right = |x: &Array2<f32>| -> Result<usize> {
        let predictions = most_probable(model.predict_proba(x.view(), &Par::sequential())?.view());
        Ok(predictions.iter().zip(data.labels()).filter(|(a, b)| a == b).count())
    };
    let x = data.features.to_array(0..data.n_rows());
    let intact = right(&x)? as f64;
    let n_features = data.schema.n_features();
    let losses = par.map(n_features, |column| -> Result<f64> {
        let mut shuffled = x.clone();
        let mut rng = Rng::new(seed, Purpose::Permutation, column as u64);
        let mut values = x.column(column).to_vec();
        let mut lost = 0.0;
        for _ in 0..repeats.max(1) {
            rng.shuffle(&mut values);
            shuffled.column_mut(column).iter_mut().zip(&values).for_each(|(to, &from)| *to = from);
            lost += intact - right(&shuffled)? as f64;
        }
        Ok(lost / (repeats.max(1) * data.n_rows().max(1)) as f64)
    });
    losses.into_iter().collect()
}

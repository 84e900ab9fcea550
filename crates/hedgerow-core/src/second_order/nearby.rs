//! Evidence of any classifier: its probabilities, and how many training rows lie near a row.
//!
//! How many labels support a prediction must not depend on what these labels are, or noise would be taken for a lack of rows. So rows are counted,
//! and the classifier says how the count is shared among classes. A training row counts as much as it is probable that no background row is nearer,
//! where background rows are spread evenly: exp(−ρ V(r)) for their density ρ and the volume V of a ball. This is the first weight of probabilistic
//! confidence nearest neighbors (Röder, 2013, Active learning: new approaches, and industrial applications, section 3.4.2) without its bound on the
//! number of neighbors, so that evidence goes on growing with the density of rows, and is gone a few reaches away from all of them.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis};

use super::even::labels_like;
use super::reach::Reach;
use super::{About, RelativeEvidence, SecondOrder};
use crate::data::Dataset;
use crate::error::Result;
use crate::par::Par;
use crate::prepare::Preparation;
use crate::rng::{Purpose, Rng};
use crate::traits::Classifier;

/// Values that are kept, and bounds on the rows that they are.
const MOST_VALUES: usize = 1 << 16;
const ROWS: [usize; 2] = [1000, 4000];
/// Tables with more columns are projected on so many.
const MOST_COLUMNS: usize = 64;
/// Rows done together.
const BLOCK: usize = 64;
/// Values farther from 0 count as this: their squares must have a sum.
const MOST: f32 = 1e15;

/// Training rows that evidence is counted from: all, or some drawn at random that stand for all.
#[derive(Debug, Clone)]
pub struct NearbyRows {
    preparation: Preparation,
    /// From prepared columns to fewer; none where there are few.
    projection: Option<Array2<f32>>,
    /// A column each, prepared and projected.
    columns: Array2<f32>,
    /// Half the square of each row's length.
    halves: Array1<f32>,
    /// How many training rows each stands for.
    counts: Vec<f64>,
    reach: Reach,
}

impl NearbyRows {
    /// Looks at training rows. A row of weight 2 counts like two rows.
    pub fn new(data: &Dataset, par: &Par) -> Self {
        let preparation = Preparation::of(&data.schema, &data.features);
        let weighty: Vec<usize> =
            (0..data.n_rows()).filter(|&row| data.weights.as_ref().is_none_or(|w| w[row] > 0.0)).collect();
        let drawn: Vec<usize> =
            draw(weighty.len(), preparation.width()).iter().map(|&at| weighty[at]).collect();
        let prepared = preparation.map_all_narrow(&data.features.select(&drawn), par);
        let weight = |row: &usize| data.weights.as_ref().map_or(1.0, |weights| f64::from(weights[*row]));
        let weights: Vec<f64> = drawn.iter().map(weight).collect();
        let total: f64 = weighty.iter().map(weight).sum();
        Self::of_drawn(preparation, prepared, weights, total, par)
    }

    /// The same where rows have been prepared already.
    pub fn of_prepared<T: Copy + Into<f64>>(
        preparation: Preparation,
        rows: ArrayView2<'_, T>,
        par: &Par,
    ) -> Self {
        let drawn = draw(rows.nrows(), rows.ncols());
        let prepared = rows.select(Axis(0), &drawn).mapv(|value| value.into() as f32);
        let weights = vec![1.0; drawn.len()];
        Self::of_drawn(preparation, prepared, weights, rows.nrows() as f64, par)
    }

    /// Of rows with weights that stand for others, which weigh so much in total.
    fn of_drawn(
        preparation: Preparation,
        mut rows: Array2<f32>,
        weights: Vec<f64>,
        total: f64,
        par: &Par,
    ) -> Self {
        rows.mapv_inplace(|value| value.clamp(-MOST, MOST));
        let projection = (rows.ncols() > MOST_COLUMNS).then(|| projection(rows.ncols()));
        let rows = projection.as_ref().map_or(rows.clone(), |projection| rows.dot(projection));
        let times = total / weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let counts = weights.iter().map(|weight| weight * times).collect();
        let halves = half_squares(rows.view());
        let columns = rows.t().as_standard_layout().into_owned();
        let mut made = Self { preparation, projection, columns, halves, counts, reach: Reach::NONE };
        made.reach = Reach::choose(rows.view(), &made.counts, |x| made.squares(x), par);
        made
    }

    /// How many training rows lie near each row of a table.
    pub fn count(&self, x: ArrayView2<'_, f32>, par: &Par) -> Vec<f64> {
        let parts: Vec<_> = x.axis_chunks_iter(Axis(0), BLOCK).collect();
        let of_part = |part: usize| {
            let mut prepared = self.preparation.map_narrow(parts[part]);
            prepared.mapv_inplace(|value| value.clamp(-MOST, MOST));
            let prepared = self.projection.as_ref().map_or(prepared.clone(), |onto| prepared.dot(onto));
            let squares = self.squares(prepared.view());
            squares.rows().into_iter().map(|row| self.reach.count(row, &self.counts)).collect::<Vec<_>>()
        };
        par.map(parts.len(), of_part).into_iter().flatten().collect()
    }

    /// The squares of the distances of prepared rows to all that were kept: a row each, and a column.
    fn squares(&self, x: ArrayView2<'_, f32>) -> Array2<f32> {
        let own = half_squares(x);
        let mut squares = x.dot(&self.columns);
        for (mut row, own) in squares.rows_mut().into_iter().zip(own) {
            row.iter_mut().zip(&self.halves).for_each(|(value, half)| *value = 2.0 * (own + half - *value));
        }
        squares
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(self.columns.as_slice().unwrap_or_default()) + 12 * self.counts.len()
    }
}

/// From so many columns to few, in which distances are nearly what they were (Johnson and Lindenstrauss, 1984): normal numbers.
fn projection(width: usize) -> Array2<f32> {
    let mut rng = Rng::new(0, Purpose::SecondOrder, u64::MAX - 1);
    let scale = 1.0 / libm::sqrt(MOST_COLUMNS as f64);
    Array2::from_shape_fn((width, MOST_COLUMNS), |_| (scale * rng.normal()) as f32)
}

/// Which of so many rows are kept; all or some, in order.
fn draw(n: usize, width: usize) -> Vec<usize> {
    let most = (MOST_VALUES / width.max(1)).clamp(ROWS[0], ROWS[1]);
    Rng::new(0, Purpose::SecondOrder, u64::MAX).sample(n, most).unwrap_or_else(|| (0..n).collect())
}

fn half_squares(x: ArrayView2<'_, f32>) -> Array1<f32> {
    x.map_axis(Axis(1), |row| 0.5 * row.iter().map(|v| v * v).sum::<f32>())
}

/// A classifier with the training rows near the rows it predicts.
///
/// The concentration of a class is the prior and its probability's share of a number of labels: evidence for what the classifier predicts. Where there
/// are no rows, what it predicts does not matter. The number is that of labels which leave as much to know about the probabilities as the rows nearby would
/// if all classes were as probable; it is a little less than that of the rows where one class is nearly certain. So the epistemic part of the
/// uncertainty, by entropy, depends on the number of rows nearby alone, not on the noise of their labels.
pub struct Supported<'a> {
    classifier: &'a dyn Classifier,
    nearby: Arc<NearbyRows>,
}

impl<'a> Supported<'a> {
    /// Of a classifier and the rows it was trained on. Fails unless they have the same columns.
    pub fn new(classifier: &'a dyn Classifier, nearby: Arc<NearbyRows>) -> Result<Self> {
        let (expected, got) = (classifier.n_features(), nearby.preparation.n_features());
        crate::error::check_shapes([("feature columns", expected, got)])?;
        Ok(Self { classifier, nearby })
    }
}

impl Classifier for Supported<'_> {
    fn n_features(&self) -> usize {
        self.classifier.n_features()
    }

    fn n_classes(&self) -> usize {
        self.classifier.n_classes()
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, out: ArrayViewMut2<'_, f64>) {
        self.classifier.predict_proba_impl(x, par, out);
    }
}

impl RelativeEvidence for Supported<'_> {
    fn predict_evidence_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<SecondOrder> {
        let prior = 1.0 / self.n_classes().max(1) as f64;
        let mut concentrations = self.classifier.predict_proba(x, par)?;
        let counts = self.nearby.count(x, par);
        let labels = par.map(counts.len(), |row| {
            labels_like(counts[row], concentrations.row(row).iter().copied(), prior)
        });
        for (mut row, labels) in concentrations.rows_mut().into_iter().zip(labels) {
            row.mapv_inplace(|p| prior + labels * p);
        }
        SecondOrder::dirichlet(About::RelativeEvidence, concentrations, prior)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};

    use super::*;
    use crate::data::{ClassId, Features, Schema};
    use crate::testing::blobs;

    fn of(x: &Array2<f32>, weights: Option<Vec<f32>>) -> NearbyRows {
        let labels = vec![ClassId(0); x.nrows()];
        let schema = Schema { labels: vec!["a".to_string()].into(), ..Schema::unnamed(x.ncols()) };
        let data = Dataset::new(schema, Features::from_view(x.view()), labels, weights).unwrap();
        NearbyRows::new(&data, &Par::sequential())
    }

    fn normal(n: usize, width: usize) -> Array2<f32> {
        let mut rng = Rng::new(3, Purpose::Data, 0);
        Array2::from_shape_fn((n, width), |_| rng.normal() as f32)
    }

    #[test]
    fn counts_like_the_plain_formula() {
        let x = normal(300, 3);
        let nearby = of(&x, None);
        let queries = normal(20, 3);
        let prepared = [nearby.preparation.map(x.view()), nearby.preparation.map(queries.view())];
        let counts = nearby.count(queries.view(), &Par::sequential());
        let alone = nearby.count(queries.slice(s![7..8, ..]), &Par::sequential());
        assert_eq!(alone[0], counts[7], "whatever the batch");
        for (query, count) in prepared[1].rows().into_iter().zip(counts) {
            let naive: f64 = prepared[0]
                .rows()
                .into_iter()
                .map(|row| {
                    let square: f64 = row.iter().zip(query).map(|(a, b)| (a - b) * (a - b)).sum();
                    nearby.reach.naive(square)
                })
                .sum();
            assert!((count - naive).abs() < 1e-3 * (1.0 + naive), "{count} {naive}");
        }
    }

    #[test]
    fn typical_rows_have_the_root_of_all_near_them_and_far_ones_none() {
        for (n, width) in [(100, 1), (2000, 2), (2000, 5), (6000, 2), (1000, 20)] {
            let x = normal(n, width);
            let nearby = of(&x, None);
            let mut counts = nearby.count(normal(n + 300, width).slice(s![n.., ..]), &Par::shared());
            counts.sort_by(f64::total_cmp);
            let wanted = (n as f64).sqrt();
            assert!(
                (0.6 * wanted..1.7 * wanted).contains(&counts[150]),
                "{n} {width}: {} {wanted}",
                counts[150]
            );
            let far = nearby.count(Array2::from_elem((1, width), 6.0).view(), &Par::sequential())[0];
            assert!(far < 0.1, "{n} {width}: {far}");
            let huge = nearby.count(array![[1e30_f32]].broadcast((1, width)).unwrap(), &Par::sequential());
            assert_eq!(huge, [0.0]);
        }
    }

    #[test]
    fn wide_tables_are_projected() {
        let x = normal(600, 300);
        let nearby = of(&x, None);
        assert_eq!(nearby.columns.dim(), (MOST_COLUMNS, 600));
        let mut rows = Array2::from_shape_fn((3, 300), |(row, column)| x[(row, column)]);
        rows.row_mut(2).fill(3.0);
        let counts = nearby.count(rows.view(), &Par::sequential());
        assert!(counts[0] > 1.0 && counts[1] > 1.0 && counts[2] < 1e-3, "{counts:?}");
        let projected = nearby.preparation.map_narrow(rows.view()).dot(nearby.projection.as_ref().unwrap());
        let original = nearby.preparation.map_narrow(rows.view());
        let square = |x: &Array2<f32>| (&x.row(0) - &x.row(1)).mapv(|d| d * d).sum();
        assert!((square(&projected) / square(&original) - 1.0).abs() < 0.6);
    }

    #[test]
    fn weights_count_rows_and_odd_tables_have_counts() {
        let x = normal(400, 2);
        let plain = of(&x, None).count(x.view(), &Par::sequential());
        let mut weights = vec![3.0; 400];
        weights[0] = 0.0;
        let weighted = of(&x, Some(weights)).count(x.view(), &Par::sequential());
        let ratio = weighted.iter().sum::<f64>() / plain.iter().sum::<f64>();
        assert!((1.4..2.2).contains(&ratio), "about the root of three: {ratio}");
        for x in [Array2::zeros((0, 2)), Array2::zeros((1, 2)), Array2::zeros((30, 2))] {
            let nearby = of(&x, None);
            let counts = nearby.count(array![[0.0, 0.0], [5.0, 0.0]].view(), &Par::sequential());
            assert!((counts[0] - x.nrows() as f64).abs() < 1e-6 && counts[1] < 1e-6, "{counts:?}");
        }
    }

    #[test]
    fn evidence_is_shared_by_probabilities() {
        struct Fixed;
        impl Classifier for Fixed {
            fn n_features(&self) -> usize {
                2
            }
            fn n_classes(&self) -> usize {
                2
            }
            fn predict_proba_impl(
                &self,
                _x: ArrayView2<'_, f32>,
                _par: &Par,
                mut out: ArrayViewMut2<'_, f64>,
            ) {
                out.column_mut(0).fill(0.02);
                out.column_mut(1).fill(0.98);
            }
        }
        let data = blobs(200, 2, 2, 1);
        let nearby = Arc::new(NearbyRows::new(&data, &Par::sequential()));
        let x = data.features.to_array(0..5);
        let counts = nearby.count(x.view(), &Par::sequential());
        let evidence = Supported::new(&Fixed, nearby).unwrap();
        let evidence = evidence.predict_evidence(x.view(), &Par::sequential()).unwrap();
        let parts = evidence.entropies();
        let found = evidence.concentrations().unwrap();
        for (row, (alpha, count)) in found.rows().into_iter().zip(counts).enumerate() {
            let labels = alpha.sum() - 1.0;
            assert!((0.6 * count..0.98 * count).contains(&labels), "{labels} {count}");
            assert!((alpha[0] - 0.5 - 0.02 * labels).abs() < 1e-9);
            let even = Array2::from_elem((1, 2), 0.5 + 0.5 * count);
            let even = SecondOrder::dirichlet(About::RelativeEvidence, even, 0.5).unwrap().entropies();
            assert!(
                (parts.epistemic[row] / even.epistemic[0] - 1.0).abs() < 1e-9,
                "by the number of rows alone"
            );
        }
        let wide = Arc::new(NearbyRows::new(&blobs(200, 3, 2, 1), &Par::sequential()));
        assert!(Supported::new(&Fixed, wide).is_err());
    }
}

//! The mean distance to the nearest rows (Ramaswamy, Rastogi and Shim, 2000; Angiulli and Pizzuti, 2002).

use hedgerow_core::rng::Purpose;
use hedgerow_core::{Budget, Features, Observer, Par, Progress, saved};
use serde::{Deserialize, Serialize};

use crate::columns::Columns;
use crate::ensemble::Source;
use crate::trees::draw;

/// Rows scored together.
const BLOCK: usize = 64;
/// Rows compared with between two looks at the clock.
const ROUND: usize = 1_000;

/// Rows in which neighbors are looked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Neighbors {
    wanted: usize,
    width: usize,
    #[serde(with = "saved::array")]
    made_from: Vec<u32>,
    #[serde(with = "saved::array")]
    rows: Vec<f32>,
}

impl Neighbors {
    /// Keeps all rows, or so many at random, and scores the training rows without themselves. When the budget is spent, rows that
    /// have not been compared with yet are dropped.
    pub(crate) fn fit(
        features: &Features,
        columns: &Columns,
        (n_neighbors, most_rows, seed): (usize, usize, u64),
        (par, budget, observer): (&Par, &Budget, &dyn Observer),
    ) -> (Self, Vec<f64>) {
        let made_from = draw(features.n_rows(), most_rows, seed, Purpose::Sample, 0);
        let rows = columns.gather(features, &made_from);
        let mut neighbors = Self { wanted: n_neighbors, width: columns.width(), made_from, rows };
        let source = Source::Training(features);
        let mut nearest = neighbors.none(source.n_rows());
        let mut first = 0;
        while first < neighbors.made_from.len() {
            let compared = first..(first + ROUND).min(neighbors.made_from.len());
            let progress = Progress { done: first, total: Some(neighbors.made_from.len()), accuracy: None };
            observer.progress(progress);
            first = compared.end;
            neighbors.compare(compared, source, columns, par, &mut nearest);
            if budget.spent().is_some() {
                neighbors.made_from.truncate(first);
                neighbors.rows.truncate(first * neighbors.width);
            }
        }
        let means = neighbors.means(&nearest);
        (neighbors, means)
    }

    /// Whether all rows are of this width.
    pub(crate) fn fits(&self, width: usize) -> bool {
        self.wanted > 0 && self.width == width && self.rows.len() == self.made_from.len() * width
    }

    /// Rows that others are compared with.
    pub(crate) fn n_rows(&self) -> usize {
        self.made_from.len()
    }

    /// The mean distance to the nearest rows.
    pub(crate) fn score(&self, source: Source<'_>, columns: &Columns, par: &Par) -> Vec<f64> {
        let mut nearest = self.none(source.n_rows());
        self.compare(0..self.made_from.len(), source, columns, par, &mut nearest);
        self.means(&nearest)
    }

    /// No neighbors yet.
    fn none(&self, n_rows: usize) -> Vec<f32> {
        vec![f32::INFINITY; n_rows * self.wanted]
    }

    /// Takes more rows into the squared distances to the nearest ones, which rise for each row.
    fn compare(
        &self,
        compared: std::ops::Range<usize>,
        source: Source<'_>,
        columns: &Columns,
        par: &Par,
        nearest: &mut [f32],
    ) {
        let k = self.wanted;
        let n_rows = source.n_rows();
        par.for_chunks(nearest, BLOCK * k, |block, nearest| {
            let first = block * BLOCK;
            let rows = source.prepared(columns, first..(first + BLOCK).min(n_rows));
            for (i, (row, nearest)) in rows.chunks(self.width).zip(nearest.chunks_mut(k)).enumerate() {
                let own = matches!(source, Source::Training(_)).then_some((first + i) as u32);
                let others = self.rows.chunks(self.width).zip(&self.made_from);
                for (other, number) in others.skip(compared.start).take(compared.len()) {
                    if own != Some(*number) {
                        insert(nearest, distance(row, other));
                    }
                }
            }
        });
    }

    fn means(&self, nearest: &[f32]) -> Vec<f64> {
        let mean = |nearest: &[f32]| {
            let found = nearest.iter().filter(|square| square.is_finite());
            let (n, sum) =
                found.fold((0, 0.0), |(n, sum), square| (n + 1, sum + libm::sqrt(f64::from(*square))));
            sum / f64::from(n.max(1))
        };
        nearest.chunks(self.wanted).map(mean).collect()
    }
}

/// Puts a value into a rising list if it is among its smallest.
fn insert(nearest: &mut [f32], value: f32) {
    let Some(last) = nearest.last_mut().filter(|last| value < **last) else { return };
    *last = value;
    let mut at = nearest.len() - 1;
    while at > 0 && nearest[at] < nearest[at - 1] {
        nearest.swap(at, at - 1);
        at -= 1;
    }
}

/// The squared distance.
fn distance(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 8;
    let mut sums = [0.0_f32; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a.remainder().iter().zip(b.remainder()).map(|(a, b)| (a - b) * (a - b));
    let rest: f32 = rest.sum();
    for (a, b) in a.zip(b) {
        for lane in 0..LANES {
            sums[lane] += (a[lane] - b[lane]) * (a[lane] - b[lane]);
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use hedgerow_core::Silent;
    use hedgerow_core::testing::blobs;

    use super::*;

    #[test]
    fn distances_are_those_of_a_plain_search() {
        let data = blobs(150, 11, 3, 1);
        let columns = Columns::new(&data.schema, &data.features);
        let par = Par::sequential();
        let with = (&par, &Budget::open(), &Silent as &dyn Observer);
        let (neighbors, scores) = Neighbors::fit(&data.features, &columns, (4, 1000, 0), with);
        let rows = columns.gather(&data.features, &(0..150).collect::<Vec<u32>>());
        let plain = |row: usize, without: Option<usize>| {
            let one = &rows[row * 11..][..11];
            let mut all: Vec<f64> = (0..150)
                .filter(|other| Some(*other) != without)
                .map(|other| {
                    let pairs = one.iter().zip(&rows[other * 11..]);
                    pairs.map(|(a, b)| f64::from(a - b) * f64::from(a - b)).sum::<f64>().sqrt()
                })
                .collect();
            all.sort_by(f64::total_cmp);
            all[..4].iter().sum::<f64>() / 4.0
        };
        let x = data.features.to_array(0..150);
        let as_new = neighbors.score(Source::New(x.view()), &columns, &par);
        for row in 0..150 {
            assert!((scores[row] - plain(row, Some(row))).abs() < 1e-4);
            assert!((as_new[row] - plain(row, None)).abs() < 1e-4);
        }
    }

    #[test]
    fn fewer_rows_than_neighbors_do() {
        let data = blobs(3, 2, 2, 1);
        let columns = Columns::new(&data.schema, &data.features);
        let with = (&Par::sequential(), &Budget::open(), &Silent as &dyn Observer);
        let (_, scores) = Neighbors::fit(&data.features, &columns, (10, 1000, 0), with);
        assert!(scores.iter().all(|score| *score > 0.0 && score.is_finite()));
    }
}

//! Densities and counts of labels at the rows of a pool.

use hedgerow_core::Par;
use hedgerow_core::prepare::Preparation;
use ndarray::{Array2, ArrayView1, ArrayView2};

use super::counts::{DensityKernel, LabelCounts, square};
use crate::pool::Pool;
use crate::situation::Situation;

/// Rows of a pool up to which counts are kept for all of them. Of larger pools those of the candidates are counted at each query.
const MOST_KEPT: usize = 20_000;
/// Numbers that are kept of these rows at most.
const MOST_NUMBERS: usize = 1 << 26;

/// What is known of a pool beside its labels, and the labels counted.
#[derive(Debug)]
pub(super) struct Field {
    columns: Columns,
    kernel: DensityKernel,
    n_rows: usize,
    /// The targets, prepared: they stand for the density of the pool.
    targets: Array2<f32>,
    kept: Option<Kept>,
}

/// How the columns of a table become numbers that distances can be taken of.
#[derive(Debug)]
enum Columns {
    Prepared(Preparation),
    /// They are such numbers: so many.
    AsTheyAre(usize),
}

impl Columns {
    fn n_features(&self) -> usize {
        match self {
            Self::Prepared(preparation) => preparation.n_features(),
            Self::AsTheyAre(n) => *n,
        }
    }

    fn width(&self) -> usize {
        match self {
            Self::Prepared(preparation) => preparation.width(),
            Self::AsTheyAre(n) => *n,
        }
    }

    fn map(&self, x: Array2<f32>) -> Array2<f32> {
        match self {
            Self::Prepared(preparation) => preparation.map_narrow(x.view()),
            Self::AsTheyAre(_) => x.mapv_into(|v| if v.is_nan() { 0.0 } else { v }),
        }
    }
}

/// Of small pools.
#[derive(Debug)]
struct Kept {
    x: Array2<f32>,
    /// The density at each row, where it was asked for.
    densities: Vec<f64>,
    counts: LabelCounts,
}

impl Field {
    pub(super) fn new(situation: &Situation<'_>, is_scaled: bool) -> Self {
        let pool = situation.pool();
        let (n_rows, features) = (pool.n_rows(), pool.features());
        let columns = if is_scaled {
            Columns::AsTheyAre(features.n_features())
        } else {
            Columns::Prepared(Preparation::of(pool.schema(), features))
        };
        let targets = columns.map(pool.rows(situation.targets()));
        let kernel = normal_reference(targets.view(), n_rows);
        let is_small = n_rows <= MOST_KEPT && n_rows * columns.width() <= MOST_NUMBERS;
        let kept = is_small.then(|| Kept {
            x: columns.map(features.to_array(0..n_rows)),
            densities: vec![f64::NAN; n_rows],
            counts: LabelCounts::new(n_rows, pool.schema().n_classes()),
        });
        Self { columns, kernel, n_rows, targets, kept }
    }

    /// Whether it may be of this pool.
    pub(super) fn fits(&self, pool: &Pool) -> bool {
        self.n_rows == pool.n_rows() && self.columns.n_features() == pool.space().n_features()
    }

    /// The density at each candidate, and the concentrations of its classes: at least two, as a class may come that is not known yet.
    pub(super) fn at(&mut self, situation: &Situation<'_>) -> (Vec<f64>, Array2<f64>) {
        let (pool, par, kernel) = (situation.pool(), situation.par(), self.kernel);
        let candidates = situation.candidates();
        let n_known = pool.schema().n_classes();
        let n_classes = n_known.max(2);
        let prior = 1.0 / n_classes as f64;
        let mut concentrations = Array2::from_elem((candidates.len(), n_classes), prior);
        let mut add = |place: usize, counts: ArrayView1<'_, f64>| {
            let mut own = concentrations.row_mut(place);
            own.iter_mut().zip(counts).for_each(|(own, count)| *own += count);
        };
        if let Some(kept) = &mut self.kept {
            if n_known > 0 {
                kept.counts.update(pool, kept.x.view(), kernel, par);
                candidates.iter().enumerate().for_each(|(place, &row)| add(place, kept.counts.row(row)));
            }
            let new: Vec<usize> =
                candidates.iter().copied().filter(|row| kept.densities[*row].is_nan()).collect();
            let found = densities(&new, |row| kept.x.row(row), self.targets.view(), kernel, par);
            new.iter().zip(found).for_each(|(&row, density)| kept.densities[row] = density);
            return (candidates.iter().map(|&row| kept.densities[row]).collect(), concentrations);
        }
        let x = self.columns.map(situation.x().to_owned());
        if n_known > 0 {
            let mut counts = LabelCounts::new(x.nrows(), n_known);
            let labelled = self.columns.map(pool.rows(pool.labelled()));
            for (labelled, &row) in labelled.rows().into_iter().zip(pool.labelled()) {
                if let Some(class) = pool.label(row) {
                    counts.learn(x.view(), labelled, class, kernel, par);
                }
            }
            (0..x.nrows()).for_each(|place| add(place, counts.row(place)));
        }
        let places: Vec<usize> = (0..x.nrows()).collect();
        (densities(&places, |place| x.row(place), self.targets.view(), kernel, par), concentrations)
    }
}

/// The density of the targets at some rows, up to a factor.
fn densities<'a>(
    rows: &[usize],
    x: impl Fn(usize) -> ArrayView1<'a, f32> + Send + Sync,
    targets: ArrayView2<'_, f32>,
    kernel: DensityKernel,
    par: &Par,
) -> Vec<f64> {
    let plain = DensityKernel { dimensions: 0, ..kernel };
    let n = targets.nrows().max(1) as f64;
    par.map(rows.len(), |i| {
        let own = x(rows[i]);
        targets.rows().into_iter().map(|target| plain.at(square(own, target))).sum::<f64>() / n
    })
}

/// σ (4/((d + 2) n))^(1/(d + 4)), the bandwidth that is best for a normal density (Scott, 1992, Multivariate density estimation, section 6.3), with the mean variance σ² of
/// the columns that vary.
fn normal_reference(x: ArrayView2<'_, f32>, n_rows: usize) -> DensityKernel {
    let variance = |column: ArrayView1<'_, f32>| {
        let n = column.len().max(1) as f64;
        let mean = column.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
        column.iter().map(|v| (f64::from(*v) - mean) * (f64::from(*v) - mean)).sum::<f64>() / n
    };
    let variances: Vec<f64> = x.columns().into_iter().map(variance).filter(|v| *v > 1e-12).collect();
    let dimensions = variances.len().max(1);
    let d = dimensions as f64;
    let deviation = libm::sqrt(variances.iter().sum::<f64>() / d);
    let rule = libm::pow(4.0 / ((d + 2.0) * n_rows.max(1) as f64), 1.0 / (d + 4.0));
    let bandwidth = if variances.is_empty() { 1.0 } else { deviation * rule };
    DensityKernel { bandwidth, dimensions }
}

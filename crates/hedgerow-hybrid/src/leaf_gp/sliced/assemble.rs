//! A classifier of stems.

use std::sync::Arc;

use hedgerow_core::{ClassId, Classifier as _, Dataset, Par};
use hedgerow_gp::calibration::Calibration;
use ndarray::{Array2, Axis};

use super::super::kernel::LeafKernel;
use super::super::online::Course;
use super::super::stems::{Bed, End, Stems};
use super::super::{Leaf, LeafGp};
use super::{Plot, Stem};

/// A classifier, and what it says about the rows that judge.
pub struct Assembled {
    /// The classifier. It only answers, until [`LeafGp::remembering`].
    pub model: LeafGp,
    /// A row a judge.
    pub proba: Array2<f64>,
}

/// A classifier of the stems that know all rows of the plot, in the order of their numbers, calibrated by the rows that judge; none if there is no such stem. Without a kernel
/// leaves answer with the shares of their classes.
pub fn assemble<'a>(
    plot: &Plot,
    stems: impl IntoIterator<Item = &'a Stem>,
    kernel: Option<LeafKernel>,
) -> Option<Assembled> {
    let mut own: Vec<&Stem> = stems.into_iter().filter(|stem| stem.knows(plot)).collect();
    own.sort_by_key(|stem| stem.number());
    if own.is_empty() {
        return None;
    }
    let (mut all, mut leaves) = (Stems::default(), Vec::new());
    for stem in &own {
        let (first_bed, first_leaf) = (all.beds.len() as u32, leaves.len() as u32);
        let moved = |end: &End| match *end {
            End::Leaf(leaf) => End::Leaf(first_leaf + leaf),
            End::Bed(bed) => End::Bed(first_bed + bed),
        };
        all.roots.extend(stem.stems.roots.iter().map(|root| first_bed + root));
        all.beds.extend(stem.stems.beds.iter().map(|bed| Bed {
            tree: bed.tree.clone(),
            ends: bed.ends.iter().map(|(place, end)| (*place, moved(end))).collect(),
        }));
        leaves.extend(stem.leaves.iter().cloned());
    }
    let mut proba = scores(plot, &own);
    let labels = plot.judge_labels();
    let is_mixed = labels.iter().any(|label| *label != labels[0]);
    let mut model = LeafGp {
        params: plot.params.clone(),
        n_classes: plot.n_classes(),
        preparation: plot.preparation.clone(),
        kernel: Some(kernel.unwrap_or(LeafKernel::START)),
        features: Arc::clone(&plot.features),
        labels: Vec::new(),
        x: plot.x.clone(),
        stems: all,
        leaves,
        calibration: None,
        course: None,
    };
    if is_mixed {
        model.calibration = Some(Calibration::fit(&proba, &labels, &Par::sequential()));
    }
    for mut row in proba.rows_mut() {
        let mut own = row.to_vec();
        model.read(&mut own);
        row.assign(&ndarray::ArrayView1::from(&own));
    }
    Some(Assembled { model, proba })
}

/// Scores of the rows that judge: means over stems.
fn scores(plot: &Plot, stems: &[&Stem]) -> Array2<f64> {
    let mut sums = Array2::<f64>::zeros((plot.judges.len(), plot.n_classes()));
    for (judge, mut sum) in sums.rows_mut().into_iter().enumerate() {
        let mut n = 0_u32;
        for stem in stems.iter().filter(|stem| stem.answers(judge)) {
            sum.zip_mut_with(&stem.scores.row(judge), |sum, score| *sum += f64::from(*score));
            n += 1;
        }
        if n == 0 { sum.fill(-1.0) } else { sum /= f64::from(n) }
    }
    sums
}

impl LeafGp {
    /// An assembled classifier with all rows, so that it can go on learning: `data` begins with the rows of its plot, and `n_seen` counts rows that were forgotten too. Rows
    /// that no leaf has (those that judged, and those that have come since) wait to be learnt.
    #[must_use]
    pub fn remembering(mut self, data: &Dataset, n_seen: u64) -> Self {
        let n = data.n_rows();
        let mut is_placed = vec![false; n];
        self.leaves.iter().flat_map(|leaf: &Leaf| &leaf.rows).for_each(|&row| is_placed[row as usize] = true);
        let (placed, rest): (Vec<usize>, Vec<usize>) = (0..n).partition(|row| is_placed[*row]);
        let mut new_of_old = vec![0; n];
        placed.iter().enumerate().for_each(|(new, &old)| new_of_old[old] = new as u32);
        for leaf in &mut self.leaves {
            leaf.rows.iter_mut().for_each(|row| *row = new_of_old[*row as usize]);
            if let Some(process) = &mut leaf.process {
                Arc::make_mut(process).rows.iter_mut().for_each(|row| *row = new_of_old[*row as usize]);
            }
        }
        self.x = self.x.select(Axis(0), &placed).into_shared();
        let n_placed = placed.len();
        let order: Vec<usize> = placed.into_iter().chain(rest).collect();
        self.features = Arc::new(data.features.select(&order));
        self.labels = order.iter().map(|&row| data.labels[row]).collect::<Vec<ClassId>>();
        let mut course = Course::of_fitted(usize::try_from(n_seen).unwrap_or(usize::MAX).max(n));
        (course.n_placed, course.n_known) = (n_placed, n);
        self.course = Some(course);
        debug_assert_eq!(self.n_features(), data.schema.n_features());
        self
    }
}

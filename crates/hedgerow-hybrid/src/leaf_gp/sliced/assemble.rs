//! A classifier of stems.

use std::sync::Arc;

use hedgerow_core::{ClassId, Classifier as _, Dataset, Par};
use ndarray::{Array2, ArrayView1, Axis};

use super::super::judges::Judges;
use super::super::kernel::LeafKernel;
use super::super::online::Course;
use super::super::shares::mean;
use super::super::stems::{Bed, End, Stems};
use super::super::{Leaf, LeafGp};
use super::{Plot, Stem};
use crate::account::Account;

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
    let judges = judges(plot, &own);
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
        blend: None,
        account: Account::default(),
        course: None,
    };
    if judges.is_mixed() {
        model.judge(&judges, &Par::sequential());
    }
    model.note(&judges);
    let mut proba = judges.scores;
    for (mut row, shares) in proba.rows_mut().into_iter().zip(judges.shares.rows()) {
        let mut own = row.to_vec();
        model.combine(&mut own, &shares.to_vec());
        row.assign(&ArrayView1::from(&own));
    }
    Some(Assembled { model, proba })
}

/// What stems say about the rows that judge: means over those that have an answer.
fn judges(plot: &Plot, stems: &[&Stem]) -> Judges {
    let n_classes = plot.n_classes();
    let mut scores = Array2::<f64>::zeros((plot.judges.len(), n_classes));
    let mut shares = scores.clone();
    let mut is_heard = vec![false; plot.judges.len()];
    let mut of_leaves = vec![0.0; n_classes];
    for (judge, mut sum) in scores.rows_mut().into_iter().enumerate() {
        of_leaves.fill(0.0);
        let mut n = 0_u32;
        for (stem, leaf) in stems.iter().filter_map(|stem| Some((stem, stem.seat(judge)?))) {
            sum.zip_mut_with(&stem.scores.row(judge), |sum, score| *sum += f64::from(*score));
            leaf.add_shares(&mut of_leaves);
            is_heard[judge] |= leaf.process.is_some();
            n += 1;
        }
        if n == 0 {
            sum.fill(-1.0);
        } else {
            sum /= f64::from(n);
        }
        mean(&mut of_leaves, n);
        shares.row_mut(judge).assign(&ArrayView1::from(&of_leaves));
    }
    Judges { scores, shares, classes: plot.judge_labels(), is_heard }
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

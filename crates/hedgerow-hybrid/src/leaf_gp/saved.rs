//! A classifier as facts, trees, rows and tables, and back.

use std::sync::Arc;

use hedgerow_core::{ClassId, Error, Features, ModelProblem, Params as _, Result};
use hedgerow_forest::tree::Tree;
use hedgerow_gp::calibration::Calibration;
use hedgerow_gp::prepare::Preparation;
use ndarray::{Array1, Array2, CowArray, Ix2};
use serde::{Deserialize, Serialize};

use super::LeafGp;
use super::kernel::LeafKernel;
use super::leaf::{Gp, Leaf};
use super::online::{OnlineState, table};
use super::params::LeafGpParams;
use super::trees::{End, Subtree, Trees};
use crate::blend::Blend;
use hedgerow_core::BlendReport;

/// What a model file has of a [`LeafGp`] beside trees, rows and tables.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LeafGpFacts {
    params: LeafGpParams,
    n_classes: usize,
    preparation: Preparation,
    kernel: Option<LeafKernel>,
    roots: Vec<u32>,
    ends: Vec<Vec<(u32, End)>>,
    calibration: Option<Calibration>,
    #[serde(default)]
    blend: Option<Blend>,
    #[serde(default, rename = "account")]
    report: BlendReport,
    /// Named as in the first files.
    #[serde(rename = "course")]
    online: Option<OnlineFacts>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OnlineFacts {
    n_seen: u64,
    #[serde(rename = "look_at")]
    next_at: u64,
    tuned_at: u64,
    n_placed: usize,
    n_known: usize,
    /// Whether there is a table of the newest rows' class frequencies; old files have none.
    #[serde(default, rename = "has_shares")]
    has_frequencies: bool,
}

/// What is kept apart from facts and tables.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The subtrees.
    pub trees: Vec<Tree>,
    /// The rows as they came.
    pub features: Features,
    /// Their classes; none where they were left out.
    pub labels: Vec<ClassId>,
}

impl LeafGp {
    /// What is not a table.
    pub fn facts(&self) -> LeafGpFacts {
        LeafGpFacts {
            params: self.params.clone(),
            n_classes: self.n_classes,
            preparation: self.preparation.clone(),
            kernel: self.kernel,
            roots: self.trees.roots.clone(),
            ends: self.trees.subtrees.iter().map(|subtree| subtree.ends.clone()).collect(),
            calibration: self.calibration.clone(),
            blend: self.blend,
            report: self.report.clone(),
            online: self.online.as_ref().map(|online| OnlineFacts {
                n_seen: online.n_seen,
                next_at: online.next_at,
                tuned_at: online.tuned_at,
                n_placed: online.n_placed,
                n_known: online.n_known,
                has_frequencies: true,
            }),
        }
    }

    /// Trees and rows.
    pub fn stored(&self) -> Stored {
        Stored {
            trees: self.trees.subtrees.iter().map(|subtree| subtree.tree.clone()).collect(),
            features: self.features.clone(),
            labels: self.labels.clone(),
        }
    }

    /// The tables, each with its name: lists of all leaves one after the other, and where that of each leaf ends.
    pub fn tables(&self) -> Vec<(String, CowArray<'static, f64, Ix2>)> {
        let mut lists = Lists::default();
        for leaf in &self.leaves {
            lists.add(leaf);
        }
        let mut tables: Vec<(String, CowArray<'static, f64, Ix2>)> =
            NAMES.iter().zip(lists.0).map(|(name, values)| ((*name).to_string(), list(values))).collect();
        if let Some(online) = &self.online {
            let newest =
                [("newest_scores", &online.scores, -1.0), ("newest_shares", &online.frequencies, 0.0)];
            for (name, rows, late) in newest {
                tables.push((name.into(), CowArray::from(table(rows, self.n_classes, late))));
            }
            tables.push((
                "newest_classes".into(),
                list(online.classes.iter().map(|c| f64::from(c.0)).collect()),
            ));
        }
        tables
    }

    /// The classifier again. `table` finds a table by its name. Nothing is trusted: what does not fit together is an error.
    pub fn restore(
        facts: LeafGpFacts,
        stored: Stored,
        table: &mut dyn FnMut(&str) -> Result<Array2<f64>>,
    ) -> Result<Self> {
        let LeafGpFacts {
            params,
            n_classes,
            preparation,
            kernel,
            roots,
            ends,
            calibration,
            blend,
            report,
            online,
        } = facts;
        let Stored { trees, features, labels } = stored;
        params.rules().map_err(|error| wrong(error.to_string()))?;
        preparation.check().map_err(wrong)?;
        if kernel.is_some_and(|kernel| !kernel.is_valid()) {
            return Err(wrong("a kernel of impossible numbers".into()));
        }
        let n = features.n_rows();
        let has_labels = online.is_some();
        if features.n_features() != preparation.n_features() || labels.len() != if has_labels { n } else { 0 }
        {
            return Err(wrong(format!(
                "{n} rows of {} columns and {} labels",
                features.n_features(),
                labels.len()
            )));
        }
        if labels.iter().any(|label| label.index() >= n_classes) || n_classes > 1 << 16 {
            return Err(wrong("a label of no class".into()));
        }
        if calibration.as_ref().is_some_and(|c| !c.is_valid() || c.curves.len() > n_classes) {
            return Err(wrong("impossible curves".into()));
        }
        let has_report = report != BlendReport::default();
        if blend.is_some_and(|blend| !blend.is_valid()) || has_report && !report.fits(n_classes) {
            return Err(wrong("the report of leaf GPs does not fit".into()));
        }
        let leaves = Lists::read(table)?.leaves(n, n_classes, !labels.is_empty())?;
        let trees = read_trees(trees, ends, roots, leaves.len())?;
        let online = online.map(|facts| read_online(facts, n, n_classes, table)).transpose()?;
        // Rows that wait are prepared when they are learnt.
        let n_prepared = online.as_ref().map_or(n, |online| online.n_placed);
        let x = preparation.map_narrow(features.to_array(0..n_prepared).view()).into_shared();
        let is_placed = |row: &u32| (*row as usize) < n_prepared;
        for leaf in &leaves {
            let of_gp = leaf.gp.as_ref().map_or(&[][..], |gp| &gp.rows);
            if !leaf.rows.iter().chain(of_gp).all(is_placed) {
                return Err(wrong("a leaf has a row that only waits".into()));
            }
        }
        Ok(Self {
            params,
            n_classes,
            preparation,
            kernel,
            features,
            labels,
            x,
            trees,
            leaves,
            calibration,
            blend,
            report,
            online,
        })
    }
}

fn read_trees(
    trees: Vec<Tree>,
    ends: Vec<Vec<(u32, End)>>,
    roots: Vec<u32>,
    n_leaves: usize,
) -> Result<Trees> {
    let n = trees.len();
    if ends.len() != n || roots.iter().any(|root| *root as usize >= n) {
        return Err(wrong(format!("{n} subtrees with {} lists of ends", ends.len())));
    }
    for (number, ends) in ends.iter().enumerate() {
        let leads_on = |end: &End| match end {
            End::Leaf(leaf) => (*leaf as usize) < n_leaves,
            End::Subtree(next) => (*next as usize) < n && *next as usize > number,
        };
        if !ends.iter().all(|(_, end)| leads_on(end)) || !ends.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return Err(wrong(format!("the ends of subtree {number} lead nowhere")));
        }
    }
    let subtrees = trees.into_iter().zip(ends).map(|(tree, ends)| Subtree { tree, ends }).collect();
    Ok(Trees { subtrees, roots })
}

fn read_online(
    facts: OnlineFacts,
    n: usize,
    n_classes: usize,
    table: &mut dyn FnMut(&str) -> Result<Array2<f64>>,
) -> Result<OnlineState> {
    let OnlineFacts { n_seen, next_at, tuned_at, n_placed, n_known, has_frequencies } = facts;
    let scores = table("newest_scores")?;
    let frequencies =
        if has_frequencies { table("newest_shares")? } else { Array2::zeros((scores.nrows(), 0)) };
    let classes = table("newest_classes")?;
    let classes: Vec<ClassId> = classes.iter().map(|class| ClassId(*class as u32)).collect();
    let fits = scores.nrows() == classes.len()
        && scores.ncols() <= n_classes.max(1)
        && scores.iter().all(|score| score.is_finite())
        && frequencies.nrows() == classes.len()
        && frequencies.ncols() <= n_classes.max(1)
        && frequencies.iter().all(|frequency| (0.0..=1.0).contains(frequency))
        && classes.iter().all(|class| class.index() < n_classes)
        && n_placed <= n
        && n_known <= n
        && n as u64 <= n_seen
        && n_seen <= next_at.saturating_add(1 << 20)
        && next_at <= n_seen.saturating_add(1 << 20)
        && tuned_at <= n_seen;
    if !fits {
        return Err(wrong("the predictions of the newest rows do not fit the rest".into()));
    }
    let [scores, frequencies] =
        [scores, frequencies].map(|table| table.rows().into_iter().map(|row| row.to_vec()).collect());
    Ok(OnlineState { n_seen, next_at, tuned_at, n_placed, n_known, scores, frequencies, classes })
}

/// Names of tables. Model files have had them from the first.
const NAMES: [&str; 12] = [
    "leaf_rows",
    "leaf_row_ends",
    "leaf_classes",
    "leaf_counts",
    "leaf_class_ends",
    "process_rows",
    "process_row_ends",
    "process_classes",
    "process_class_ends",
    "process_weights",
    "process_offsets",
    "process_lengths",
];

/// Lists of all leaves one after the other, in the order of names.
#[derive(Default)]
struct Lists([Vec<f64>; 12]);

impl Lists {
    fn add(&mut self, leaf: &Leaf) {
        let [
            rows,
            row_ends,
            classes,
            counts,
            class_ends,
            gp_rows,
            gp_row_ends,
            gp_classes,
            gp_class_ends,
            weights,
            offsets,
            lengths,
        ] = &mut self.0;
        rows.extend(leaf.rows.iter().map(|row| f64::from(*row)));
        row_ends.push(rows.len() as f64);
        classes.extend(leaf.counts.iter().map(|(class, _)| f64::from(*class)));
        counts.extend(leaf.counts.iter().map(|(_, n)| f64::from(*n)));
        class_ends.push(classes.len() as f64);
        if let Some(gp) = &leaf.gp {
            gp_rows.extend(gp.rows.iter().map(|row| f64::from(*row)));
            gp_classes.extend(gp.classes.iter().map(|class| f64::from(*class)));
            weights.extend(gp.weights.iter());
            offsets.extend(gp.offsets.iter());
        }
        gp_row_ends.push(gp_rows.len() as f64);
        gp_class_ends.push(gp_classes.len() as f64);
        lengths.push(leaf.gp.as_ref().map_or(0.0, |gp| gp.length_scale));
    }

    fn read(table: &mut dyn FnMut(&str) -> Result<Array2<f64>>) -> Result<Self> {
        let mut lists = Self::default();
        for (list, name) in lists.0.iter_mut().zip(NAMES) {
            *list = table(name)?.iter().copied().collect();
        }
        Ok(lists)
    }

    fn leaves(&self, n_rows: usize, n_classes: usize, has_rows: bool) -> Result<Vec<Leaf>> {
        let [
            rows,
            row_ends,
            classes,
            counts,
            class_ends,
            gp_rows,
            gp_row_ends,
            gp_classes,
            gp_class_ends,
            weights,
            offsets,
            lengths,
        ] = &self.0;
        let n = row_ends.len();
        for (ends, len) in
            [(row_ends, rows), (class_ends, classes), (gp_row_ends, gp_rows), (gp_class_ends, gp_classes)]
        {
            let rises =
                ends.windows(2).all(|pair| pair[0] <= pair[1]) && ends.first().is_none_or(|e| *e >= 0.0);
            if ends.len() != n || !rises || ends.last().copied().unwrap_or(0.0) != len.len() as f64 {
                return Err(wrong("lists of leaves do not end where they should".into()));
            }
        }
        let below =
            |values: &[f64], n: usize| values.iter().all(|v| *v >= 0.0 && v.fract() == 0.0 && *v < n as f64);
        let is_sound = below(rows, n_rows)
            && below(gp_rows, n_rows)
            && below(classes, n_classes)
            && below(gp_classes, n_classes)
            && below(counts, u32::MAX as usize)
            && counts.len() == classes.len()
            && offsets.len() == gp_classes.len()
            && lengths.len() == n
            && weights.iter().chain(offsets).all(|v| v.is_finite());
        if !is_sound {
            return Err(wrong("lists of leaves have impossible numbers".into()));
        }
        let span = |ends: &[f64], i: usize| (if i == 0 { 0 } else { ends[i - 1] as usize })..ends[i] as usize;
        let mut leaves = Vec::with_capacity(n);
        let mut at = 0;
        for i in 0..n {
            let of_classes = span(class_ends, i);
            let pairs = classes[of_classes.clone()].iter().zip(&counts[of_classes]);
            let counts: Vec<(u16, u32)> = pairs.map(|(class, n)| (*class as u16, *n as u32)).collect();
            let (of_rows, of_classes) = (span(gp_row_ends, i), span(gp_class_ends, i));
            let gp = if lengths[i] > 0.0 {
                let shape = (of_rows.len(), of_classes.len());
                let values = weights.get(at..at + shape.0 * shape.1).unwrap_or(&[]).to_vec();
                at += shape.0 * shape.1;
                let weights = Array2::from_shape_vec(shape, values)
                    .map_err(|_| wrong("weights of leaf GPs are missing".into()))?;
                Some(Arc::new(Gp {
                    rows: gp_rows[of_rows].iter().map(|row| *row as u32).collect(),
                    classes: gp_classes[of_classes.clone()].iter().map(|class| *class as u16).collect(),
                    weights,
                    offsets: Array1::from(offsets[of_classes].to_vec()),
                    length_scale: lengths[i],
                }))
            } else {
                None
            };
            let rows: Vec<u32> = rows[span(row_ends, i)].iter().map(|row| *row as u32).collect();
            let total: u64 = counts.iter().map(|(_, n)| u64::from(*n)).sum();
            if has_rows && total != rows.len() as u64
                || gp.as_ref().is_some_and(|gp| !gp.length_scale.is_finite())
            {
                return Err(wrong(format!("leaf {i} counts {total} rows and has {}", rows.len())));
            }
            leaves.push(Leaf { rows, counts, gp });
        }
        if at != weights.len() {
            return Err(wrong("there are more weights than leaf GPs have".into()));
        }
        Ok(leaves)
    }
}

fn list(values: Vec<f64>) -> CowArray<'static, f64, Ix2> {
    let n = values.len();
    CowArray::from(Array2::from_shape_vec((1, n), values).unwrap_or_else(|_| Array2::zeros((1, 0))))
}

fn wrong(detail: String) -> Error {
    Error::model(ModelProblem::Inconsistent { detail })
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, OnlineModel as _, Par, Rows, Silent, Training};

    use super::*;

    fn again(model: &LeafGp, facts: LeafGpFacts) -> Result<LeafGp> {
        let tables = model.tables();
        LeafGp::restore(facts, model.stored(), &mut |name| {
            let found = tables.iter().find(|(own, _)| own == name);
            found.map(|(_, table)| table.to_owned()).ok_or_else(|| wrong(format!("no table {name}")))
        })
    }

    #[test]
    fn blend_and_account_come_back_and_old_files_are_read() {
        let data = blobs(400, 3, 3, 1);
        let (par, budget) = (Par::sequential(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let params = LeafGpParams { n_trees: 2, leaf_rows: 30, ..LeafGpParams::default() }.check().unwrap();
        let first = data.select(&(0..300).collect::<Vec<_>>());
        let mut model = LeafGp::fit(&first, &params, &training).unwrap().model;
        model.blend = Some(Blend { forest: 0.7, gp: 0.4 });
        let x = data.features.to_array(300..400);
        let rows = Rows::new(x.view(), &data.labels()[300..], None);
        model.learn(&data.schema, rows, &training).unwrap();
        assert_eq!(model.report.n_rows(), 400);
        assert!(again(&model, model.facts()).unwrap() == model);
        let wrong_power = Some(Blend { forest: -1.0, gp: 0.4 });
        assert!(again(&model, LeafGpFacts { blend: wrong_power, ..model.facts() }).is_err());
        let mut report = model.report.clone();
        report.blended.pop();
        assert!(again(&model, LeafGpFacts { report, ..model.facts() }).is_err());
        // As files were before frequencies counted.
        let mut old = model.facts();
        (old.blend, old.report) = (None, BlendReport::default());
        old.online.iter_mut().for_each(|online| online.has_frequencies = false);
        let mut read = again(&model, old).unwrap();
        assert!(read.online.as_ref().is_some_and(|online| online.frequencies.iter().all(Vec::is_empty)));
        read.learn(&data.schema, rows, &training).unwrap();
        assert_eq!(read.report.n_rows(), 100);
    }
}

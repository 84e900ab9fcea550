//! What is told of one kind of model and of no other.

use std::collections::BTreeMap;

use hedgerow::{Kind, Model};
use serde::Serialize;

use super::comparison::{Comparison, Exponents};
use crate::output::count;

/// Parameters of a kernel that are shown one by one, at most.
const MOST_SHOWN: usize = 6;

/// What a model is made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Inside {
    /// Of a forest.
    Trees {
        trees: usize,
        /// Splits and leaves.
        nodes: usize,
        /// Greatest number of splits one below the other.
        height: usize,
        calibrated: bool,
    },
    /// Of an IVM or RVM, whose predictions are computed from some of its rows.
    Rows {
        active_rows: usize,
        /// The kernel's parameters by name; nothing for a model that has learnt nothing.
        kernel: BTreeMap<String, f64>,
    },
    /// Of trees with leaf GPs.
    Leaves {
        trees: usize,
        leaves: usize,
        /// Leaves of more than one class, which have a GP.
        leaf_gps: usize,
        /// Rows of the largest leaf GP.
        largest_leaf_gp: usize,
        kernel: BTreeMap<String, f64>,
        /// The exponents of the class frequencies of leaves and of the leaf GPs; nothing if they are not blended.
        #[serde(skip_serializing_if = "Option::is_none")]
        blend: Option<Exponents>,
        /// Out-of-sample predictions of class frequencies alone and blended with the leaf GPs.
        comparison: Comparison,
    },
    /// Of a forest with IVMs.
    Blended {
        trees: usize,
        /// Splits and leaves.
        nodes: usize,
        ivms: usize,
        /// IVMs that are used: those that lowered the out-of-sample log-loss.
        ivms_used: usize,
        active_rows: usize,
        kernel: BTreeMap<String, f64>,
        /// The exponents of forest and IVM, where there is one IVM for all rows.
        #[serde(skip_serializing_if = "Option::is_none")]
        blend: Option<Exponents>,
        /// No IVM is used where the two best classes of the forest are farther apart than this.
        margin: f64,
        /// Out-of-sample predictions of the forest alone and blended with the IVMs.
        comparison: Comparison,
    },
    /// Of a GP whose kernel is a forest.
    ForestKernel {
        trees: usize,
        /// Splits and leaves.
        nodes: usize,
        /// Rows that the scores of leaves come from; 0 if the forest predicts alone.
        active_rows: usize,
        kernel: BTreeMap<String, f64>,
        /// The exponents of forest and GP, where they are blended.
        #[serde(skip_serializing_if = "Option::is_none")]
        blend: Option<Exponents>,
    },
    /// Of an exact GP, which keeps all its rows.
    All { rows_kept: usize, kernel: BTreeMap<String, f64> },
}

impl Inside {
    pub(crate) fn new(model: &Model) -> Self {
        if let Some(forest) = model.as_forest() {
            return Self::Trees {
                trees: forest.trees().len(),
                nodes: forest.n_nodes(),
                height: forest.trees().iter().map(hedgerow::forest::tree::Tree::height).max().unwrap_or(0),
                calibrated: forest.calibration().is_some(),
            };
        }
        let kernel: BTreeMap<String, f64> = model.kernel().into_iter().collect();
        if let Some(hybrid) = model.as_forest_ivm() {
            let forest = hybrid.part().forest();
            let [ivms, ivms_used] = hybrid.n_ivms();
            return Self::Blended {
                trees: forest.trees().len(),
                nodes: forest.n_nodes(),
                ivms,
                ivms_used,
                active_rows: hybrid.n_active(),
                kernel,
                blend: hybrid.blend().map(Into::into),
                margin: hybrid.margin(),
                comparison: Comparison::new(hybrid.blend_report(), model.schema.labels.names()),
            };
        }
        if let Some(kernel_model) = model.as_forest_kernel() {
            let forest = kernel_model.part().forest();
            let (trees, nodes) = (forest.trees().len(), forest.n_nodes());
            let (active_rows, blend) = (kernel_model.n_active(), kernel_model.blend().map(Into::into));
            return Self::ForestKernel { trees, nodes, active_rows, kernel, blend };
        }
        if let Some(leafy) = model.as_leaf_gp() {
            let size = leafy.size();
            let (leaves, leaf_gps) = (size.n_leaves, size.n_gps);
            return Self::Leaves {
                trees: size.n_trees,
                leaves,
                leaf_gps,
                largest_leaf_gp: size.largest,
                kernel,
                blend: leafy.blend().map(Into::into),
                comparison: Comparison::new(leafy.blend_report(), model.schema.labels.names()),
            };
        }
        if let Some(gp) = model.as_gp() {
            return Self::All { rows_kept: gp.n_rows(), kernel };
        }
        let active_rows = match (model.as_ivm(), model.as_rvm()) {
            (Some(ivm), _) => ivm.n_active(),
            (_, Some(rvm)) => rvm.n_relevant(),
            _ => 0,
        };
        Self::Rows { active_rows, kernel }
    }

    /// What it is made of, in two or three words.
    pub(crate) fn parts(&self) -> String {
        match self {
            Self::Trees { trees, .. } => format!("{} trees", count(*trees as u64)),
            Self::Rows { active_rows, .. } => format!("{} active rows", count(*active_rows as u64)),
            Self::Blended { trees, ivms, .. } => {
                let ivms = if *ivms == 1 { "an IVM".into() } else { format!("{ivms} IVMs") };
                format!("{} trees and {ivms}", count(*trees as u64))
            }
            Self::Leaves { trees, leaf_gps, .. } => {
                format!("{} trees with {} leaf GPs", count(*trees as u64), count(*leaf_gps as u64))
            }
            Self::ForestKernel { trees, active_rows, .. } => {
                format!(
                    "{} trees as the kernel of a GP of {} rows",
                    count(*trees as u64),
                    count(*active_rows as u64)
                )
            }
            Self::All { rows_kept, .. } => format!("{} rows", count(*rows_kept as u64)),
        }
    }

    /// How large it is, in a few words.
    pub(crate) fn size(&self) -> String {
        match self {
            Self::Trees { nodes, .. } => format!("{} nodes", count(*nodes as u64)),
            Self::Rows { .. }
            | Self::All { .. }
            | Self::Leaves { .. }
            | Self::Blended { .. }
            | Self::ForestKernel { .. } => self.details(),
        }
    }

    /// The rest, in a few words.
    pub(crate) fn details(&self) -> String {
        match self {
            Self::Trees { nodes, height, calibrated, .. } => {
                let calibrated = if *calibrated { ", probabilities calibrated" } else { "" };
                format!("{} nodes, up to {height} high{calibrated}", count(*nodes as u64))
            }
            Self::Leaves { leaves, largest_leaf_gp, kernel, blend, comparison, .. } => {
                let (leaves, largest) = (count(*leaves as u64), count(*largest_leaf_gp as u64));
                let changed = if comparison.rows > 0 {
                    format!(", {}", comparison.words(["class frequencies", "leaf GPs"]))
                } else {
                    String::new()
                };
                let exponents = blend.map_or_else(String::new, |blend| format!(", {}", blend_words(blend)));
                format!(
                    "{leaves} leaves, leaf GPs of up to {largest} rows{changed}{exponents}; {}",
                    kernel_words(kernel)
                )
            }
            Self::Blended { active_rows, ivms, ivms_used, kernel, comparison, .. } => {
                let (active, used) = (count(*active_rows as u64), count(*ivms_used as u64));
                format!(
                    "{active} active rows, IVMs used: {used}, {}; {}",
                    comparison.words(["forest", if *ivms == 1 { "IVM" } else { "IVMs" }]),
                    kernel_words(kernel)
                )
            }
            Self::ForestKernel { nodes, active_rows, kernel, .. } => {
                let alone = if *active_rows == 0 { "; the forest predicts alone" } else { "" };
                format!("{} nodes; {}{alone}", count(*nodes as u64), kernel_words(kernel))
            }
            Self::Rows { kernel, .. } | Self::All { kernel, .. } => kernel_words(kernel),
        }
    }

    /// Names and values for a page.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Trees { trees, nodes, .. } => {
                vec![("Trees", count(*trees as u64)), ("Nodes", count(*nodes as u64))]
            }
            Self::Blended { trees, ivms, active_rows, comparison, .. } => {
                vec![
                    ("Trees", count(*trees as u64)),
                    ("IVMs", count(*ivms as u64)),
                    ("Active rows", count(*active_rows as u64)),
                    ("Held-out accuracy, forest", format!("{:.2} %", 100.0 * comparison.forest_accuracy)),
                    ("Held-out accuracy, with IVMs", format!("{:.2} %", 100.0 * comparison.blend_accuracy)),
                ]
            }
            Self::ForestKernel { trees, active_rows, kernel, .. } => {
                let mut facts =
                    vec![("Trees", count(*trees as u64)), ("Active rows", count(*active_rows as u64))];
                facts.extend(kernel.get("noise_variance").map(|noise| ("Noise variance", short(*noise))));
                facts
            }
            Self::Leaves { trees, leaves, leaf_gps, kernel, blend, comparison, .. } => {
                let mut facts = vec![
                    ("Trees", count(*trees as u64)),
                    ("Leaves", count(*leaves as u64)),
                    ("Leaf GPs", count(*leaf_gps as u64)),
                ];
                if comparison.rows > 0 {
                    let share = |share: f64| format!("{:.2} %", 100.0 * share);
                    facts.push(("Held-out accuracy, class frequencies", share(comparison.forest_accuracy)));
                    facts.push(("Held-out accuracy, with leaf GPs", share(comparison.blend_accuracy)));
                }
                facts.extend(blend.map(|blend| ("Blend exponents", powers(blend))));
                facts.extend(kernel_facts(kernel));
                facts
            }
            Self::Rows { active_rows: n, kernel } | Self::All { rows_kept: n, kernel } => {
                let name = if matches!(self, Self::All { .. }) { "Rows kept" } else { "Active rows" };
                let mut facts = vec![(name, count(*n as u64))];
                facts.extend(kernel_facts(kernel));
                facts
            }
        }
    }
}

/// The exponents of a blend, in a few words.
fn blend_words(blend: Exponents) -> String {
    format!("blend exponents: class frequencies {}, leaf GPs {}", short(blend.forest), short(blend.gp))
}

fn powers(blend: Exponents) -> String {
    format!("{} and {}", short(blend.forest), short(blend.gp))
}

/// A kernel in a few words.
fn kernel_words(kernel: &BTreeMap<String, f64>) -> String {
    if kernel.len() > MOST_SHOWN {
        return format!("kernel with {} parameters", kernel.len());
    }
    let each: Vec<String> = kernel.iter().map(|(name, v)| format!("{name} {}", short(*v))).collect();
    if each.is_empty() { "no kernel yet".into() } else { format!("kernel: {}", each.join(", ")) }
}

/// Names and values of a kernel for a page.
fn kernel_facts(kernel: &BTreeMap<String, f64>) -> Vec<(&'static str, String)> {
    let shown = [("length_scale", "Length scale"), ("signal_variance", "Signal variance")];
    shown.iter().filter_map(|(key, name)| Some((*name, short(*kernel.get(*key)?)))).collect()
}

/// What came of trying new parts while rows were learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Renewed {
    Trees { trees_tried: usize, trees_replaced: usize },
    Rows { active_rows_tried: usize, active_rows_replaced: usize },
    Leaves { leaf_gps_trained: usize, leaves_split: usize },
}

impl Renewed {
    pub(crate) fn new(kind: Kind, tried: usize, replaced: usize) -> Self {
        match kind {
            Kind::Forest | Kind::ForestKernel => Self::Trees { trees_tried: tried, trees_replaced: replaced },
            Kind::LeafGp => Self::Leaves { leaf_gps_trained: tried, leaves_split: replaced },
            _ => Self::Rows { active_rows_tried: tried, active_rows_replaced: replaced },
        }
    }

    pub(crate) fn words(self) -> String {
        match self {
            Self::Trees { trees_tried, trees_replaced } => {
                let (tried, better) = (count(trees_tried as u64), count(trees_replaced as u64));
                format!("{tried} new trees tried, {better} were better")
            }
            Self::Rows { active_rows_tried, active_rows_replaced } => {
                let (tried, better) = (count(active_rows_tried as u64), count(active_rows_replaced as u64));
                format!("{tried} new active rows tried, {better} replaced another")
            }
            Self::Leaves { leaf_gps_trained, leaves_split } => {
                let (trained, split) = (count(leaf_gps_trained as u64), count(leaves_split as u64));
                format!("{trained} leaf GPs trained, {split} leaves split")
            }
        }
    }

    /// A name and a value for a page.
    pub(crate) fn fact(self) -> (&'static str, String) {
        match self {
            Self::Trees { trees_replaced, .. } => ("Trees replaced", count(trees_replaced as u64)),
            Self::Rows { active_rows_replaced, .. } => {
                ("Active rows replaced", count(active_rows_replaced as u64))
            }
            Self::Leaves { leaves_split, .. } => ("Leaves split", count(leaves_split as u64)),
        }
    }
}

/// A number with three digits that matter.
fn short(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let decimals = (2.0 - value.abs().max(1e-3).log10().floor()).clamp(0.0, 5.0) as usize;
    let text = format!("{value:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_few_digits() {
        let cases = [
            (0.0, "0"),
            (8.0, "8"),
            (0.001, "0.001"),
            (0.45678, "0.457"),
            (1234.5, "1234"),
            (1e-9, "1.00e-9"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn kernels_are_told_by_the_names_that_set_takes() {
        let values = [("length_scale", 0.5), ("signal_variance", 8.0)].map(|(name, v)| (name.to_string(), v));
        let inside = Inside::Rows { active_rows: 1200, kernel: values.into() };
        assert_eq!(inside.parts(), "1,200 active rows");
        assert_eq!(inside.details(), "kernel: length_scale 0.5, signal_variance 8");
    }
}

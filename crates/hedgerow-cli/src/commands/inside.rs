//! What is told of one kind of model and of no other.

use std::collections::BTreeMap;

use hedgerow::{Kind, Model};
use serde::Serialize;

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
    /// Of a machine that answers from some of its rows.
    Rows {
        active_rows: usize,
        /// The kernel's parameters by name; nothing for a model that has learnt nothing.
        kernel: BTreeMap<String, f64>,
    },
    /// Of trees with processes in their leaves.
    Leaves {
        trees: usize,
        leaves: usize,
        /// Leaves of more than one class, which have a process.
        processes: usize,
        /// Rows of the largest process.
        largest_process: usize,
        kernel: BTreeMap<String, f64>,
        /// How far shares of classes in leaves and processes are trusted; nothing if the processes answer alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        blend: Option<hedgerow::hybrid::Blend>,
        /// What processes changed, on rows that nobody had seen when they were answered.
        takeover: Takeover,
    },
    /// Of a forest with machines.
    Helped {
        trees: usize,
        /// Splits and leaves.
        nodes: usize,
        machines: usize,
        /// Machines that are asked: those that helped on rows that nobody had seen.
        machines_asked: usize,
        active_rows: usize,
        kernel: BTreeMap<String, f64>,
        /// How far forest and machine are trusted, where there is one machine for all.
        #[serde(skip_serializing_if = "Option::is_none")]
        blend: Option<hedgerow::hybrid::Blend>,
        /// Two best classes of the forest farther apart than this are no matter for a machine.
        margin: f64,
        /// What machines changed, on rows that nobody had seen when they were answered.
        takeover: Takeover,
    },
    /// Of a process whose kernel is a forest.
    Compared {
        trees: usize,
        /// Splits and leaves.
        nodes: usize,
        /// Rows that the scores of leaves come from; 0 if the forest answers alone.
        active_rows: usize,
        kernel: BTreeMap<String, f64>,
        /// How far forest and process are trusted, where both answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        blend: Option<hedgerow::hybrid::Blend>,
    },
    /// Of a process that answers from all its rows.
    All { rows_kept: usize, kernel: BTreeMap<String, f64> },
}

/// What machines or processes changed, on rows that nobody had seen when they were answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Takeover {
    pub(crate) rows: u64,
    pub(crate) accuracy_before: f64,
    pub(crate) accuracy_after: f64,
    /// Rows by true class and the forest's answer.
    pub(crate) confusion_before: Vec<Vec<u64>>,
    /// Rows by true class and the answer of all together.
    pub(crate) confusion_after: Vec<Vec<u64>>,
    /// By the forest's answer.
    pub(crate) by_answer: BTreeMap<String, hedgerow::hybrid::ClassAccount>,
}

impl Takeover {
    fn new(account: &hedgerow::hybrid::Account, names: &[String]) -> Self {
        let rows = account.n_rows();
        let [before, after] = account.n_right().map(|right| right as f64 / rows.max(1) as f64);
        Self {
            rows,
            accuracy_before: before,
            accuracy_after: after,
            confusion_before: account.before.clone(),
            confusion_after: account.after.clone(),
            by_answer: names.iter().cloned().zip(account.by_answer()).collect(),
        }
    }

    /// What came of it, in a few words.
    fn words(&self) -> String {
        let share = |share: f64| format!("{:.2} %", 100.0 * share);
        let (before, after) = (share(self.accuracy_before), share(self.accuracy_after));
        format!("unseen rows right {before} without and {after} with them")
    }
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
        if let Some(helped) = model.as_forest_ivm() {
            let forest = helped.part().forest();
            let [machines, machines_asked] = helped.n_machines();
            return Self::Helped {
                trees: forest.trees().len(),
                nodes: forest.n_nodes(),
                machines,
                machines_asked,
                active_rows: helped.n_active(),
                kernel,
                blend: helped.blend(),
                margin: helped.margin(),
                takeover: Takeover::new(helped.account(), model.schema.labels.names()),
            };
        }
        if let Some(compared) = model.as_forest_kernel() {
            let forest = compared.part().forest();
            let (trees, nodes) = (forest.trees().len(), forest.n_nodes());
            let (active_rows, blend) = (compared.n_active(), compared.blend());
            return Self::Compared { trees, nodes, active_rows, kernel, blend };
        }
        if let Some(leafy) = model.as_leaf_gp() {
            let size = leafy.size();
            let (leaves, processes) = (size.n_leaves, size.n_processes);
            return Self::Leaves {
                trees: size.n_trees,
                leaves,
                processes,
                largest_process: size.largest,
                kernel,
                blend: leafy.blend(),
                takeover: Takeover::new(leafy.account(), model.schema.labels.names()),
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
            Self::Helped { trees, machines, .. } => {
                let machines =
                    if *machines == 1 { "a machine".into() } else { format!("{machines} machines") };
                format!("{} trees and {machines}", count(*trees as u64))
            }
            Self::Leaves { trees, processes, .. } => {
                format!("{} trees with {} processes", count(*trees as u64), count(*processes as u64))
            }
            Self::Compared { trees, active_rows, .. } => {
                format!("{} trees as the kernel of {} rows", count(*trees as u64), count(*active_rows as u64))
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
            | Self::Helped { .. }
            | Self::Compared { .. } => self.details(),
        }
    }

    /// The rest, in a few words.
    pub(crate) fn details(&self) -> String {
        match self {
            Self::Trees { nodes, height, calibrated, .. } => {
                let calibrated = if *calibrated { ", probabilities calibrated" } else { "" };
                format!("{} nodes, up to {height} high{calibrated}", count(*nodes as u64))
            }
            Self::Leaves { leaves, largest_process, kernel, blend, takeover, .. } => {
                let (leaves, largest) = (count(*leaves as u64), count(*largest_process as u64));
                let changed =
                    if takeover.rows > 0 { format!(", {}", takeover.words()) } else { String::new() };
                let trusted = blend.map_or_else(String::new, |blend| format!(", {}", trust_words(blend)));
                format!(
                    "{leaves} leaves, processes of up to {largest} rows{changed}{trusted}; {}",
                    kernel_words(kernel)
                )
            }
            Self::Helped { active_rows, machines_asked, kernel, takeover, .. } => {
                let (active, asked) = (count(*active_rows as u64), count(*machines_asked as u64));
                format!(
                    "{active} active rows, {asked} of the machines asked, {}; {}",
                    takeover.words(),
                    kernel_words(kernel)
                )
            }
            Self::Compared { nodes, active_rows, kernel, .. } => {
                let alone = if *active_rows == 0 { "; the forest answers alone" } else { "" };
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
            Self::Helped { trees, machines, active_rows, takeover, .. } => {
                vec![
                    ("Trees", count(*trees as u64)),
                    ("Machines", count(*machines as u64)),
                    ("Active rows", count(*active_rows as u64)),
                    ("Unseen rows right, forest alone", format!("{:.2} %", 100.0 * takeover.accuracy_before)),
                    ("Unseen rows right, with machines", format!("{:.2} %", 100.0 * takeover.accuracy_after)),
                ]
            }
            Self::Compared { trees, active_rows, kernel, .. } => {
                let mut facts =
                    vec![("Trees", count(*trees as u64)), ("Rows compared with", count(*active_rows as u64))];
                facts.extend(kernel.get("noise_variance").map(|noise| ("Noise variance", short(*noise))));
                facts
            }
            Self::Leaves { trees, leaves, processes, kernel, blend, takeover, .. } => {
                let mut facts = vec![
                    ("Trees", count(*trees as u64)),
                    ("Leaves", count(*leaves as u64)),
                    ("Processes", count(*processes as u64)),
                ];
                if takeover.rows > 0 {
                    let share = |share: f64| format!("{:.2} %", 100.0 * share);
                    facts.push(("Unseen rows right, shares alone", share(takeover.accuracy_before)));
                    facts.push(("Unseen rows right, with processes", share(takeover.accuracy_after)));
                }
                facts.extend(blend.map(|blend| ("Trust in shares, in processes", powers(blend))));
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

/// How far forest and processes are trusted, in a few words.
fn trust_words(blend: hedgerow::hybrid::Blend) -> String {
    format!("shares of classes and processes to the powers {}", powers(blend))
}

fn powers(blend: hedgerow::hybrid::Blend) -> String {
    format!("{} and {}", short(blend.forest), short(blend.machine))
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
    Leaves { processes_trained: usize, leaves_split: usize },
}

impl Renewed {
    pub(crate) fn new(kind: Kind, tried: usize, replaced: usize) -> Self {
        match kind {
            Kind::Forest | Kind::ForestKernel => Self::Trees { trees_tried: tried, trees_replaced: replaced },
            Kind::LeafGp => Self::Leaves { processes_trained: tried, leaves_split: replaced },
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
                format!("{tried} new active rows tried, {better} took the place of another")
            }
            Self::Leaves { processes_trained, leaves_split } => {
                let (trained, split) = (count(processes_trained as u64), count(leaves_split as u64));
                format!("{trained} processes trained, {split} leaves split")
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

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
    /// Of a process that answers from all its rows.
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
        let kernel = model.kernel().into_iter().collect();
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
            Self::All { rows_kept, .. } => format!("{} rows", count(*rows_kept as u64)),
        }
    }

    /// How large it is, in a few words.
    pub(crate) fn size(&self) -> String {
        match self {
            Self::Trees { nodes, .. } => format!("{} nodes", count(*nodes as u64)),
            Self::Rows { .. } | Self::All { .. } => self.details(),
        }
    }

    /// The rest, in a few words.
    pub(crate) fn details(&self) -> String {
        match self {
            Self::Trees { nodes, height, calibrated, .. } => {
                let calibrated = if *calibrated { ", probabilities calibrated" } else { "" };
                format!("{} nodes, up to {height} high{calibrated}", count(*nodes as u64))
            }
            Self::Rows { kernel, .. } | Self::All { kernel, .. } if kernel.len() > MOST_SHOWN => {
                format!("kernel with {} parameters", kernel.len())
            }
            Self::Rows { kernel, .. } | Self::All { kernel, .. } => {
                let each: Vec<String> =
                    kernel.iter().map(|(name, v)| format!("{name} {}", short(*v))).collect();
                if each.is_empty() { "no kernel yet".into() } else { format!("kernel: {}", each.join(", ")) }
            }
        }
    }

    /// Names and values for a page.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Trees { trees, nodes, .. } => {
                vec![("Trees", count(*trees as u64)), ("Nodes", count(*nodes as u64))]
            }
            Self::Rows { active_rows: n, kernel } | Self::All { rows_kept: n, kernel } => {
                let name = if matches!(self, Self::All { .. }) { "Rows kept" } else { "Active rows" };
                let mut facts = vec![(name, count(*n as u64))];
                let shown = [("length_scale", "Length scale"), ("signal_variance", "Signal variance")];
                let known = shown.iter().filter_map(|(key, name)| Some((*name, short(*kernel.get(*key)?))));
                facts.extend(known);
                facts
            }
        }
    }
}

/// What came of trying new parts while rows were learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Renewed {
    Trees { trees_tried: usize, trees_replaced: usize },
    Rows { active_rows_tried: usize, active_rows_replaced: usize },
}

impl Renewed {
    pub(crate) fn new(kind: Kind, tried: usize, replaced: usize) -> Self {
        match kind {
            Kind::Forest => Self::Trees { trees_tried: tried, trees_replaced: replaced },
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
        }
    }

    /// A name and a value for a page.
    pub(crate) fn fact(self) -> (&'static str, String) {
        match self {
            Self::Trees { trees_replaced, .. } => ("Trees replaced", count(trees_replaced as u64)),
            Self::Rows { active_rows_replaced, .. } => {
                ("Active rows replaced", count(active_rows_replaced as u64))
            }
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

//! Rows that nobody had seen when they were answered, and what is decided by them.

use hedgerow_core::ClassId;
use hedgerow_core::traits::largest;
use serde::{Deserialize, Serialize};

use super::{Combine, ForestIvm};
use crate::blend::{Blend, Pair};

/// Margins that a search tries.
const MARGINS: [f64; 7] = [1.0, 0.9, 0.8, 0.6, 0.4, 0.2, 0.1];
/// Fewest rows that may say of one answer of the forest that a machine does not help there.
const LEAST_ROWS: usize = 30;

/// A row and what was said about it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Heard {
    /// What the forest said.
    pub(super) forest: Vec<f64>,
    /// What the machine said that hears such rows; nothing if there was none.
    pub(super) machine: Vec<f64>,
    pub(super) class: ClassId,
}

/// How far a machine is trusted, and where.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Verdict {
    pub(super) blend: Blend,
    /// For each answer of the forest, whether the machine helps; classes that came later are like most.
    pub(super) helps: Vec<bool>,
    /// Whether it helps at all.
    pub(super) is_useful: bool,
}

impl Verdict {
    pub(super) fn helps(&self, said: usize) -> bool {
        self.is_useful && self.helps.get(said).copied().unwrap_or(true)
    }

    pub(super) fn helps_any(&self) -> bool {
        self.is_useful && self.helps.iter().any(|helps| *helps)
    }

    /// A machine helps where the log-loss of both together is below that of the forest alone.
    fn new(pairs: &[Pair<'_>], n_classes: usize) -> Self {
        let blend = Blend::fit(pairs);
        let lead = |pair: &Pair<'_>| Blend::FOREST.loss(*pair) - blend.loss(*pair);
        let mut leads = vec![(0_usize, 0.0); n_classes];
        for pair in pairs {
            if let Some((n, sum)) = largest(pair.forest).and_then(|said| leads.get_mut(said)) {
                *n += 1;
                *sum += lead(pair);
            }
        }
        let total: f64 = leads.iter().map(|(_, sum)| sum).sum();
        let helps = leads.iter().map(|(n, sum)| *n < LEAST_ROWS || *sum > 0.0).collect();
        Self { blend, helps, is_useful: total > 0.0 && !pairs.is_empty() }
    }

    pub(super) fn is_valid(&self, n_classes: usize) -> bool {
        self.blend.is_valid() && self.helps.len() <= n_classes
    }
}

/// How far the two best classes of an answer are apart.
pub(super) fn margin(answer: &[f64]) -> f64 {
    let (mut first, mut second) = (0.0_f64, 0.0_f64);
    for &p in answer {
        if p > first {
            (first, second) = (p, first);
        } else {
            second = second.max(p);
        }
    }
    first - second
}

impl ForestIvm {
    /// Decides by rows how far machines are trusted, and where.
    pub(super) fn judge(&mut self, heard: &[Heard]) {
        let pair = |heard: &'_ Heard| -> bool { !heard.machine.is_empty() };
        let answered: Vec<Pair<'_>> = heard
            .iter()
            .filter(|heard| pair(heard))
            .map(|heard| Pair { forest: &heard.forest, machine: &heard.machine, class: heard.class })
            .collect();
        let n_classes = self.n_classes;
        match self.params.combine {
            Combine::Pool => {
                if let Some(machine) = self.machines.first_mut() {
                    machine.verdict = Verdict::new(&answered, n_classes);
                }
            }
            Combine::Gate => {
                let given = [self.params.margin];
                let tries = if self.params.margin > 0.0 { &given[..] } else { &MARGINS[..] };
                let mut best: Option<(f64, f64, Verdict)> = None;
                for &tried in tries {
                    let unsure: Vec<Pair<'_>> =
                        answered.iter().copied().filter(|pair| margin(pair.forest) < tried).collect();
                    let verdict = Verdict::new(&unsure, n_classes);
                    let lead: f64 =
                        unsure.iter().map(|pair| Blend::FOREST.loss(*pair) - verdict.blend.loss(*pair)).sum();
                    if best.as_ref().is_none_or(|(most, ..)| lead > *most) {
                        best = Some((lead, tried, verdict));
                    }
                }
                if let (Some(machine), Some((_, margin, verdict))) = (self.machines.first_mut(), best) {
                    (machine.verdict, self.margin) = (verdict, margin);
                }
            }
            Combine::Route => {
                for machine in &mut self.machines {
                    let own: Vec<Pair<'_>> = answered
                        .iter()
                        .copied()
                        .filter(|pair| largest(pair.forest) == machine.class)
                        .collect();
                    machine.verdict = Verdict::new(&own, n_classes);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_by_hand() {
        assert!((margin(&[0.2, 0.5, 0.3]) - 0.2).abs() < 1e-12);
        assert_eq!((margin(&[1.0]), margin(&[0.5, 0.5])), (1.0, 0.0));
    }

    #[test]
    fn a_machine_that_knows_nothing_is_not_asked() {
        let heard: Vec<(Vec<f64>, Vec<f64>, ClassId)> = (0..200)
            .map(|i| {
                let class = ClassId(i % 2);
                let right = if i % 10 == 0 { 0.2 } else { 0.9 };
                let forest = if class.0 == 0 { vec![right, 1.0 - right] } else { vec![1.0 - right, right] };
                (forest, vec![if i % 4 < 2 { 0.9 } else { 0.1 }, if i % 4 < 2 { 0.1 } else { 0.9 }], class)
            })
            .collect();
        let pairs: Vec<Pair<'_>> =
            heard.iter().map(|(forest, machine, class)| Pair { forest, machine, class: *class }).collect();
        let verdict = Verdict::new(&pairs, 2);
        assert!(verdict.blend.machine < 0.1, "{verdict:?}");
        assert!(!Verdict::new(&[], 2).helps(0));
    }
}

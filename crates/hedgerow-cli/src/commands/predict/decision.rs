//! What is predicted for a row by its probabilities: by what mistakes cost, and nothing where the model is too unsure.

use anyhow::{Context as _, bail};
use hedgerow::Model;
use hedgerow::core::rejection::{Decision, Losses, Uncertainty};
use hedgerow::core::traits::largest;
use hedgerow::core::{ClassId, LabelTable};
use ndarray::ArrayView1;

use crate::args::DecisionArgs;

/// How a class is chosen.
pub(super) struct DecisionRule {
    /// What mistakes cost; none where they cost the same.
    losses: Option<Losses>,
    reject_cost: Option<f64>,
    abstain_above: Option<f64>,
}

impl DecisionRule {
    /// Fails for losses of classes that the model does not know.
    pub(super) fn new(args: &DecisionArgs, model: &Model) -> anyhow::Result<Self> {
        let labels = &model.schema().labels;
        let mut losses = args.costs.is_some() || args.reject_cost.is_some();
        losses &= model.n_classes() > 0;
        let mut losses = losses.then(|| Losses::zero_one(model.n_classes()));
        for cost in args.costs.iter().flatten() {
            let (truth, decided, loss) = parse(cost, labels)?;
            losses = losses.map(|losses| losses.with(truth, decided, loss)).transpose()?;
        }
        Ok(Self { losses, reject_cost: args.reject_cost, abstain_above: args.abstain_above })
    }

    /// The class to predict; none where nothing is.
    pub(super) fn decide(&self, proba: ArrayView1<'_, f64>) -> Option<ClassId> {
        if self.abstain_above.is_some_and(|most| Uncertainty::Error.of(proba) > most) {
            return None;
        }
        match &self.losses {
            None => Some(ClassId(largest(proba).unwrap_or(0) as u32)),
            Some(losses) => match losses.decide(&proba.to_vec(), self.reject_cost) {
                Decision::Class(class) => Some(class),
                Decision::Rejected => None,
            },
        }
    }
}

/// Reads `TRUE:PREDICTED=COST`.
fn parse(text: &str, labels: &LabelTable) -> anyhow::Result<(ClassId, ClassId, f64)> {
    let wrong = || format!("--costs: expected TRUE:PREDICTED=COST, such as sick:healthy=10, got {text:?}");
    let (classes, cost) = text.rsplit_once('=').with_context(wrong)?;
    let (truth, decided) = classes.split_once(':').with_context(wrong)?;
    let cost: f64 = cost.trim().parse().ok().with_context(wrong)?;
    let class = |name: &str| {
        let known = || labels.names().iter().take(12).cloned().collect::<Vec<_>>().join(", ");
        let found = labels.get(name.trim());
        found.with_context(|| format!("--costs: no class is called {name:?}; there are: {}", known()))
    };
    let (truth, decided) = (class(truth)?, class(decided)?);
    if truth == decided {
        bail!("--costs: {text:?} is the cost of a right prediction, which is 0");
    }
    Ok((truth, decided, cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_read_by_the_names_of_classes() {
        let labels = LabelTable::from(["a=b", "c"].map(String::from).to_vec());
        assert_eq!(parse("a=b:c=2.5", &labels).unwrap(), (ClassId(0), ClassId(1), 2.5));
        assert_eq!(parse(" c : a=b =0", &labels).unwrap(), (ClassId(1), ClassId(0), 0.0));
        for (text, part) in [
            ("c", "TRUE:PREDICTED=COST"),
            ("c:a=b=much", "TRUE:PREDICTED=COST"),
            ("c:d=1", "no class is called \"d\"; there are: a=b, c"),
            ("c:c=1", "right prediction"),
        ] {
            let message = parse(text, &labels).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}

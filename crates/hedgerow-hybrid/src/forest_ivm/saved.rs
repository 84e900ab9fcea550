//! A forest with IVMs as facts and tables, and back. The forest itself is saved as forests are. Names in files are those of the first version.

use hedgerow_core::{
    BlendReport, ClassId, Classifier as _, Error, ModelProblem, OnlineModel as _, Params as _, Result,
};
use hedgerow_forest::ForestModel;
use hedgerow_gp::ivm::IvmFacts;
use hedgerow_gp::{IvmClassifier, Saved as _};
use ndarray::{Array2, CowArray, Ix2};
use serde::{Deserialize, Serialize};

use super::online::{MOST_ROWS, OnlineState};
use super::params::ForestIvmParams;
use super::validation::{ForestAndIvm, IvmBlend};
use super::{AssignedIvm, ForestIvm};

/// What a model file says of a [`ForestIvm`] beside its forest and tables.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForestIvmFacts {
    params: ForestIvmParams,
    n_classes: usize,
    margin: f64,
    #[serde(rename = "machines")]
    ivms: Vec<AssignedIvmFacts>,
    #[serde(rename = "account")]
    report: BlendReport,
    #[serde(rename = "course")]
    online: Option<OnlineFacts>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct AssignedIvmFacts {
    class: Option<usize>,
    #[serde(rename = "verdict")]
    blend: IvmBlend,
    ivm: IvmFacts,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OnlineFacts {
    n_seen: u64,
    #[serde(rename = "look_at")]
    next_at: u64,
}

impl ForestIvm {
    /// What is not a table.
    pub fn facts(&self) -> ForestIvmFacts {
        let assigned =
            |a: &AssignedIvm| AssignedIvmFacts { class: a.class, blend: a.blend.clone(), ivm: a.ivm.facts() };
        ForestIvmFacts {
            params: self.params.clone(),
            n_classes: self.n_classes,
            margin: self.margin,
            ivms: self.ivms.iter().map(assigned).collect(),
            report: self.report.clone(),
            online: self.online.as_ref().map(|o| OnlineFacts { n_seen: o.n_seen, next_at: o.next_at }),
        }
    }

    /// The tables, each with its name.
    pub fn tables(&self) -> Vec<(String, CowArray<'_, f64, Ix2>)> {
        let mut tables = Vec::new();
        for (number, assigned) in self.ivms.iter().enumerate() {
            tables.extend(
                assigned.ivm.tables().into_iter().map(|(name, table)| (format!("{number}.{name}"), table)),
            );
        }
        if let Some(online) = &self.online {
            let n = online.validation.len();
            let table = |of: &dyn Fn(&ForestAndIvm) -> &[f64]| {
                let value = |(row, class): (usize, usize)| {
                    of(&online.validation[row]).get(class).copied().unwrap_or(0.0)
                };
                CowArray::from(Array2::from_shape_fn((n, self.n_classes), value))
            };
            tables.push(("heard_forest".into(), table(&|row| &row.forest)));
            tables.push(("heard_machine".into(), table(&|row| &row.gp)));
            let facts = Array2::from_shape_fn((n, 2), |(row, which)| {
                let row = &online.validation[row];
                if which == 0 { f64::from(row.class.0) } else { f64::from(u8::from(!row.gp.is_empty())) }
            });
            tables.push(("heard_class".into(), CowArray::from(facts)));
        }
        tables
    }

    /// The model again, with its forest. `table` finds a table by its name. Nothing is trusted: what does not fit together is an error.
    pub fn restore(
        facts: ForestIvmFacts,
        forest: ForestModel,
        table: &mut dyn FnMut(&str) -> Result<Array2<f64>>,
    ) -> Result<Self> {
        let ForestIvmFacts { params, n_classes, margin, ivms, report, online } = facts;
        params.rules().map_err(|error| wrong(error.to_string()))?;
        let is_learning = forest.can_learn();
        if forest.n_classes() != n_classes || is_learning != online.is_some() {
            return Err(wrong(format!(
                "a forest of {} classes, where {n_classes} are wanted",
                forest.n_classes()
            )));
        }
        if !margin.is_finite() || !report.fits(n_classes) {
            return Err(wrong("the blend report does not fit".into()));
        }
        let mut read = Vec::with_capacity(ivms.len().min(1 << 16));
        for (number, AssignedIvmFacts { class, blend, ivm }) in ivms.into_iter().enumerate() {
            let ivm = IvmClassifier::restore(ivm, &mut |name| table(&format!("{number}.{name}")))?;
            let fits = ivm.n_features() == forest.n_features()
                && ivm.n_classes() == n_classes
                && ivm.can_learn() == is_learning
                && blend.is_valid(n_classes)
                && class.is_none_or(|class| class < n_classes);
            if !fits {
                return Err(wrong(format!("IVM {number} does not fit the forest")));
            }
            read.push(AssignedIvm { class, ivm, blend });
        }
        let online = online.map(|facts| read_online(&facts, n_classes, table)).transpose()?;
        Ok(Self { params, n_classes, forest, ivms: read, margin, report, online })
    }
}

fn read_online(
    facts: &OnlineFacts,
    n_classes: usize,
    table: &mut dyn FnMut(&str) -> Result<Array2<f64>>,
) -> Result<OnlineState> {
    let (forest, gp, of_rows) = (table("heard_forest")?, table("heard_machine")?, table("heard_class")?);
    let n = of_rows.nrows();
    let is_share = |p: &f64| (0.0..=1.0 + 1e-6).contains(p);
    let fits = of_rows.ncols() == 2
        && forest.dim() == (n, n_classes)
        && gp.dim() == (n, n_classes)
        && forest.iter().chain(&gp).all(is_share)
        && of_rows.column(0).iter().all(|class| *class >= 0.0 && *class < n_classes as f64)
        && n <= MOST_ROWS + (1 << 11)
        && facts.next_at <= facts.n_seen.saturating_add(1 << 20);
    if !fits {
        return Err(wrong("the predictions of the newest rows do not fit the rest".into()));
    }
    let validation = (0..n).map(|row| ForestAndIvm {
        forest: forest.row(row).to_vec(),
        gp: if of_rows[(row, 1)] > 0.0 { gp.row(row).to_vec() } else { Vec::new() },
        class: ClassId(of_rows[(row, 0)] as u32),
    });
    Ok(OnlineState { n_seen: facts.n_seen, next_at: facts.next_at, validation: validation.collect() })
}

fn wrong(detail: String) -> Error {
    Error::model(ModelProblem::Inconsistent { detail })
}

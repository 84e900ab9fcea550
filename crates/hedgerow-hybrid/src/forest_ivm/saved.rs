//! A forest with its machines as facts and tables, and back. The forest itself is saved as forests are.

use hedgerow_core::{ClassId, Classifier as _, Error, ModelProblem, Params as _, Result};
use hedgerow_gp::ivm::IvmFacts;
use hedgerow_gp::{IvmClassifier, Saved as _};
use ndarray::{Array2, CowArray, Ix2};
use serde::{Deserialize, Serialize};

use super::heard::{Heard, Verdict};
use super::online::{Course, MOST_HEARD};
use super::params::ForestIvmParams;
use super::{ForestIvm, Machine, Part};
use crate::account::Account;

/// What a model file says of a [`ForestIvm`] beside its forest and tables.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForestIvmFacts {
    params: ForestIvmParams,
    n_classes: usize,
    margin: f64,
    machines: Vec<MachineFacts>,
    account: Account,
    course: Option<CourseFacts>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct MachineFacts {
    class: Option<usize>,
    verdict: Verdict,
    ivm: IvmFacts,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct CourseFacts {
    n_seen: u64,
    look_at: u64,
}

impl ForestIvm {
    /// What is not a table.
    pub fn facts(&self) -> ForestIvmFacts {
        let machine =
            |m: &Machine| MachineFacts { class: m.class, verdict: m.verdict.clone(), ivm: m.ivm.facts() };
        ForestIvmFacts {
            params: self.params.clone(),
            n_classes: self.n_classes,
            margin: self.margin,
            machines: self.machines.iter().map(machine).collect(),
            account: self.account.clone(),
            course: self.course.as_ref().map(|c| CourseFacts { n_seen: c.n_seen, look_at: c.look_at }),
        }
    }

    /// The tables, each with its name.
    pub fn tables(&self) -> Vec<(String, CowArray<'_, f64, Ix2>)> {
        let mut tables = Vec::new();
        for (number, machine) in self.machines.iter().enumerate() {
            tables.extend(
                machine.ivm.tables().into_iter().map(|(name, table)| (format!("{number}.{name}"), table)),
            );
        }
        if let Some(course) = &self.course {
            let n = course.heard.len();
            let table = |of: &dyn Fn(&Heard) -> &[f64]| {
                let value =
                    |(row, class): (usize, usize)| of(&course.heard[row]).get(class).copied().unwrap_or(0.0);
                CowArray::from(Array2::from_shape_fn((n, self.n_classes), value))
            };
            tables.push(("heard_forest".into(), table(&|heard| &heard.forest)));
            tables.push(("heard_machine".into(), table(&|heard| &heard.machine)));
            let facts = Array2::from_shape_fn((n, 2), |(row, which)| {
                let heard = &course.heard[row];
                if which == 0 {
                    f64::from(heard.class.0)
                } else {
                    f64::from(u8::from(!heard.machine.is_empty()))
                }
            });
            tables.push(("heard_class".into(), CowArray::from(facts)));
        }
        tables
    }

    /// The model again, with its forest. `table` finds a table by its name. Nothing is trusted: what does not fit together is an error.
    pub fn restore(
        facts: ForestIvmFacts,
        part: Part,
        table: &mut dyn FnMut(&str) -> Result<Array2<f64>>,
    ) -> Result<Self> {
        let ForestIvmFacts { params, n_classes, margin, machines, account, course } = facts;
        params.rules().map_err(|error| wrong(error.to_string()))?;
        let forest = part.forest();
        let is_learning = matches!(part, Part::Learning(_));
        if forest.n_classes() != n_classes || is_learning != course.is_some() {
            return Err(wrong(format!(
                "a forest of {} classes, where {n_classes} are wanted",
                forest.n_classes()
            )));
        }
        if !margin.is_finite() || !account.fits(n_classes) {
            return Err(wrong("the account of machines does not fit".into()));
        }
        let mut read = Vec::with_capacity(machines.len().min(1 << 16));
        for (number, MachineFacts { class, verdict, ivm }) in machines.into_iter().enumerate() {
            let ivm = IvmClassifier::restore(ivm, &mut |name| table(&format!("{number}.{name}")))?;
            let fits = ivm.n_features() == forest.n_features()
                && ivm.n_classes() == n_classes
                && ivm.can_learn() == is_learning
                && verdict.is_valid(n_classes)
                && class.is_none_or(|class| class < n_classes);
            if !fits {
                return Err(wrong(format!("machine {number} does not fit the forest")));
            }
            read.push(Machine { class, ivm, verdict });
        }
        let course = course.map(|facts| read_course(&facts, n_classes, table)).transpose()?;
        Ok(Self { params, n_classes, part, machines: read, margin, account, course })
    }
}

fn read_course(
    facts: &CourseFacts,
    n_classes: usize,
    table: &mut dyn FnMut(&str) -> Result<Array2<f64>>,
) -> Result<Course> {
    let (forest, machine, of_rows) = (table("heard_forest")?, table("heard_machine")?, table("heard_class")?);
    let n = of_rows.nrows();
    let is_share = |p: &f64| (0.0..=1.0 + 1e-6).contains(p);
    let fits = of_rows.ncols() == 2
        && forest.dim() == (n, n_classes)
        && machine.dim() == (n, n_classes)
        && forest.iter().chain(&machine).all(is_share)
        && of_rows.column(0).iter().all(|class| *class >= 0.0 && *class < n_classes as f64)
        && n <= MOST_HEARD + (1 << 11)
        && facts.look_at <= facts.n_seen.saturating_add(1 << 20);
    if !fits {
        return Err(wrong("what was said about the newest rows does not fit the rest".into()));
    }
    let heard = (0..n).map(|row| Heard {
        forest: forest.row(row).to_vec(),
        machine: if of_rows[(row, 1)] > 0.0 { machine.row(row).to_vec() } else { Vec::new() },
        class: ClassId(of_rows[(row, 0)] as u32),
    });
    Ok(Course { n_seen: facts.n_seen, look_at: facts.look_at, heard: heard.collect() })
}

fn wrong(detail: String) -> Error {
    Error::model(ModelProblem::Inconsistent { detail })
}

//! What each column of a file is for: a feature, the target, the weight, or nothing.

use std::collections::HashMap;

use hedgerow_core::data::MAX_FEATURES;
use hedgerow_core::{ColumnKind, DataError, DataProblem, Error, Result, Schema};

use crate::block::{Declared, SourceColumn};
use crate::options::{ColumnRef, ReadOptions, column_names};
use crate::source::Source;

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The feature at this place.
    Feature(usize),
    /// The labels.
    Target,
    /// The weights.
    Weight,
    /// Nothing.
    Ignored,
}

/// Where the labels come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// There are none.
    Absent,
    /// From this column.
    Column(usize),
    /// From beside the columns.
    Beside,
}

/// The use of all columns.
#[derive(Debug)]
pub(crate) struct Plan {
    /// For each column of the file.
    pub roles: Vec<Role>,
    /// How many features there are.
    pub n_features: usize,
    /// Where the labels come from.
    pub target: Target,
    /// The column of the weights.
    pub weight: Option<usize>,
}

impl Plan {
    /// The plan for a file whose schema is to be inferred. `beside` is the name of labels beside the columns.
    pub(crate) fn infer(source: &dyn Source, options: &ReadOptions, beside: Option<&str>) -> Result<Self> {
        let columns = source.columns();
        let mut ignored = vec![false; columns.len()];
        for column in &options.ignore {
            ignored[column.resolve(columns)?] = true;
        }
        let weight = options.weight.as_ref().map(|w| w.resolve(columns)).transpose()?;
        let target = match &options.target {
            Some(wanted) if is_beside(wanted, beside, columns) => Target::Beside,
            Some(wanted) => Target::Column(wanted.resolve(columns)?),
            None if beside.is_some() => Target::Beside,
            None => source.default_target().map_or(Target::Absent, Target::Column),
        };
        let mut plan = Self { roles: vec![Role::Ignored; columns.len()], n_features: 0, target, weight };
        for (i, is_ignored) in ignored.into_iter().enumerate() {
            plan.roles[i] = match plan.special(i) {
                Some(role) => role,
                None if is_ignored => Role::Ignored,
                None => {
                    plan.n_features += 1;
                    Role::Feature(plan.n_features - 1)
                }
            };
        }
        plan.check_counts()?;
        plan.check_names(source)?;
        Ok(plan)
    }

    /// The plan for a file that must fit a model's schema.
    pub(crate) fn enforce(
        source: &dyn Source,
        options: &ReadOptions,
        beside: Option<&str>,
        model: &Schema,
    ) -> Result<Self> {
        let columns = source.columns();
        let mut free = vec![true; columns.len()];
        // A column that is to be left out may well be absent already when a model is used.
        for i in options.ignore.iter().filter_map(|c| c.find(columns)) {
            free[i] = false;
        }
        let weight = options.weight.as_ref().map(|w| w.resolve(columns)).transpose()?;
        if let Some(i) = weight {
            free[i] = false;
        }
        let by_name = model.named && source.is_named();
        let target = match &options.target {
            Some(wanted) if is_beside(wanted, beside, columns) => Target::Beside,
            Some(wanted) => Target::Column(wanted.resolve(columns)?),
            None if beside.is_some() => Target::Beside,
            None => match find_target(source, model, by_name, &free) {
                Some(i) => Target::Column(i),
                None => Target::Absent,
            },
        };
        if let Target::Column(i) = target {
            free[i] = false;
        }
        let mut plan = Self {
            roles: vec![Role::Ignored; columns.len()],
            n_features: model.n_features(),
            target,
            weight,
        };
        for i in 0..columns.len() {
            if let Some(role) = plan.special(i) {
                plan.roles[i] = role;
            }
        }
        if by_name {
            plan.match_names(columns, &free, model)?;
        } else {
            plan.match_places(&free, model)?;
        }
        plan.check_names(source)?;
        plan.check_kinds(columns, model)?;
        Ok(plan)
    }

    /// Whether every column is a feature, in order.
    pub(crate) fn is_identity(&self) -> bool {
        self.n_features == self.roles.len()
            && self.roles.iter().enumerate().all(|(i, role)| *role == Role::Feature(i))
    }

    fn special(&self, i: usize) -> Option<Role> {
        if self.target == Target::Column(i) {
            Some(Role::Target)
        } else if self.weight == Some(i) {
            Some(Role::Weight)
        } else {
            None
        }
    }

    fn match_names(&mut self, columns: &[SourceColumn], free: &[bool], model: &Schema) -> Result<()> {
        let mut place_of: HashMap<&str, usize> = HashMap::new();
        for (i, column) in columns.iter().enumerate().rev().filter(|(i, _)| free[*i]) {
            place_of.insert(&column.name, i);
        }
        for (k, wanted) in model.columns.iter().enumerate() {
            let Some(&i) = place_of.get(wanted.name.as_str()) else {
                let problem = DataProblem::MissingColumn { available: column_names(columns) };
                return Err(DataError::from(problem).in_column(wanted.name.clone()).into());
            };
            self.roles[i] = Role::Feature(k);
        }
        match (0..columns.len()).find(|&i| free[i] && self.roles[i] == Role::Ignored) {
            Some(i) if !columns[..i].iter().any(|c| c.name == columns[i].name) => {
                Err(DataError::from(DataProblem::ExtraColumn).in_column(columns[i].name.clone()).into())
            }
            // A second column of the same name is reported as such.
            Some(i) => Err(duplicate(columns, i)),
            None => Ok(()),
        }
    }

    fn match_places(&mut self, free: &[bool], model: &Schema) -> Result<()> {
        let got = free.iter().filter(|f| **f).count();
        if got != model.n_features() {
            return Err(DataProblem::ColumnCount { expected: model.n_features(), got }.into());
        }
        let places = (0..free.len()).filter(|&i| free[i]);
        for (k, i) in places.enumerate() {
            self.roles[i] = Role::Feature(k);
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<()> {
        if self.n_features > MAX_FEATURES {
            return Err(DataProblem::TooManyColumns { limit: MAX_FEATURES, got: self.n_features }.into());
        }
        if self.n_features == 0 {
            return Err(DataProblem::NoFeatures.into());
        }
        Ok(())
    }

    /// Fails on two used columns of one name, and on a used column that cannot be read.
    fn check_names(&self, source: &dyn Source) -> Result<()> {
        let columns = source.columns();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (i, column) in columns.iter().enumerate().filter(|(i, _)| self.roles[*i] != Role::Ignored) {
            if let Declared::Unsupported(problem) = &column.declared {
                return Err(DataError::from(problem.clone()).in_column(column.name.clone()).into());
            }
            if source.is_named() && seen.insert(&column.name, i).is_some() {
                return Err(duplicate(columns, i));
            }
        }
        Ok(())
    }

    /// Fails where the file declares a kind of column that the model cannot take.
    fn check_kinds(&self, columns: &[SourceColumn], model: &Schema) -> Result<()> {
        for (column, role) in columns.iter().zip(&self.roles) {
            let Role::Feature(k) = role else { continue };
            let wanted = &model.columns[*k].kind;
            let got = match (&column.declared, wanted) {
                (Declared::Text, ColumnKind::Numeric) => "text",
                (Declared::Numeric, ColumnKind::Boolean { .. }) => "numeric",
                (Declared::Numeric, ColumnKind::Categorical { categories })
                    if !categories.iter().any(|c| c.parse::<f64>().is_ok()) =>
                {
                    "numeric"
                }
                _ => continue,
            };
            let problem = DataProblem::ColumnKind { expected: wanted.word().into(), got: got.into() };
            return Err(DataError::from(problem).in_column(column.name.clone()).into());
        }
        Ok(())
    }
}

/// Whether the target that a caller names is the one beside the columns.
fn is_beside(wanted: &ColumnRef, beside: Option<&str>, columns: &[SourceColumn]) -> bool {
    matches!(wanted, ColumnRef::Name(name) if Some(name.as_str()) == beside && wanted.find(columns).is_none())
}

/// The column that holds labels in a file given to a model, where the caller does not name it.
fn find_target(source: &dyn Source, model: &Schema, by_name: bool, free: &[bool]) -> Option<usize> {
    let columns = source.columns();
    let target = model.target.as_ref()?;
    let by_model = if by_name {
        columns.iter().position(|c| c.name == *target)
    } else {
        // Without names a column for the labels shows only in there being one column more than the model has.
        let n_free = free.iter().filter(|f| **f).count();
        let place = ColumnRef::Name(target.clone()).find(columns);
        place.filter(|_| n_free == model.n_features() + 1)
    };
    by_model
        .or_else(|| {
            source.default_target().filter(|&i| !model.columns.iter().any(|c| c.name == columns[i].name))
        })
        .filter(|&i| free[i])
}

fn duplicate(columns: &[SourceColumn], second: usize) -> Error {
    let name = &columns[second].name;
    let first = columns.iter().position(|c| c.name == *name).unwrap_or(second);
    DataError::from(DataProblem::DuplicateColumn { first, second }).in_column(name.clone()).into()
}

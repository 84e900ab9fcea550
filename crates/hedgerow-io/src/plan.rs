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
    /// The plan for a file that must fit a model's schema, or whose schema is to be inferred. `beside` is the name of labels beside the
    /// columns.
    pub(crate) fn new(
        source: &Source,
        options: &ReadOptions,
        beside: Option<&str>,
        model: Option<&Schema>,
    ) -> Result<Self> {
        let columns = &source.columns;
        let mut free = vec![true; columns.len()];
        for column in &options.ignore {
            match column.resolve(columns) {
                Ok(i) => free[i] = false,
                // A column that is to be left out may well be absent already when a model is used.
                Err(_) if model.is_some() => {}
                Err(error) => return Err(error),
            }
        }
        let weight = options.weight.as_ref().map(|w| w.resolve(columns)).transpose()?;
        let mut roles = vec![Role::Ignored; columns.len()];
        if let Some(i) = weight {
            (roles[i], free[i]) = (Role::Weight, false);
        }
        let target = match &options.target {
            Some(wanted) if is_beside(wanted, beside, columns) => Target::Beside,
            Some(wanted) => Target::Column(wanted.resolve(columns)?),
            None if beside.is_some() => Target::Beside,
            None => {
                let place = match model {
                    Some(model) => find_target(source, model, &free),
                    None => source.default_target,
                };
                place.map_or(Target::Absent, Target::Column)
            }
        };
        if let Target::Column(i) = target {
            (roles[i], free[i]) = (Role::Target, false);
        }
        let n_free = free.iter().filter(|is_free| **is_free).count();
        let n_features = model.map_or(n_free, Schema::n_features);
        let mut plan = Self { roles, n_features, target, weight };
        match model {
            Some(model) if model.named && source.is_named => plan.match_names(columns, &free, model)?,
            _ => plan.match_places(&free, n_free)?,
        }
        plan.check_names(source)?;
        if let Some(model) = model {
            plan.check_kinds(columns, model)?;
        }
        Ok(plan)
    }

    /// Whether every column is a feature, in order.
    pub(crate) fn is_identity(&self) -> bool {
        self.n_features == self.roles.len()
            && self.roles.iter().enumerate().all(|(i, role)| *role == Role::Feature(i))
    }

    fn match_names(&mut self, columns: &[SourceColumn], free: &[bool], model: &Schema) -> Result<()> {
        let mut place_of: HashMap<&str, usize> = HashMap::new();
        for (i, column) in columns.iter().enumerate().rev().filter(|(i, _)| free[*i]) {
            place_of.insert(&column.name, i);
        }
        for (k, wanted) in model.columns.iter().enumerate() {
            let Some(&i) = place_of.get(wanted.name.as_str()) else {
                let problem = DataProblem::MissingColumn(column_names(columns));
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

    fn match_places(&mut self, free: &[bool], n_free: usize) -> Result<()> {
        if n_free != self.n_features {
            return Err(DataProblem::ColumnCount { expected: self.n_features, got: n_free }.into());
        }
        if n_free > MAX_FEATURES {
            return Err(DataProblem::TooManyColumns { got: n_free }.into());
        }
        if n_free == 0 {
            return Err(DataProblem::NoFeatures.into());
        }
        for (k, i) in (0..free.len()).filter(|&i| free[i]).enumerate() {
            self.roles[i] = Role::Feature(k);
        }
        Ok(())
    }

    /// Fails on two used columns of one name, and on a used column that cannot be read.
    fn check_names(&self, source: &Source) -> Result<()> {
        let columns = &source.columns;
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (i, column) in columns.iter().enumerate().filter(|(i, _)| self.roles[*i] != Role::Ignored) {
            if let Declared::Unsupported(problem) = &column.declared {
                return Err(DataError::from(problem.clone()).in_column(column.name.clone()).into());
            }
            if source.is_named && seen.insert(&column.name, i).is_some() {
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
fn find_target(source: &Source, model: &Schema, free: &[bool]) -> Option<usize> {
    let columns = &source.columns;
    let target = model.target.as_ref()?;
    let by_model = if model.named && source.is_named {
        columns.iter().position(|c| c.name == *target)
    } else {
        // Without names a column for the labels shows only in there being one column more than the model has.
        let n_free = free.iter().filter(|f| **f).count();
        let place = ColumnRef::Name(target.clone()).find(columns);
        place.filter(|_| n_free == model.n_features() + 1)
    };
    let is_feature = |i: usize| model.columns.iter().any(|c| c.name == columns[i].name);
    by_model.or_else(|| source.default_target.filter(|&i| !is_feature(i))).filter(|&i| free[i])
}

fn duplicate(columns: &[SourceColumn], second: usize) -> Error {
    let name = &columns[second].name;
    let first = columns.iter().position(|c| c.name == *name).unwrap_or(second);
    DataError::from(DataProblem::DuplicateColumn { first, second }).in_column(name.clone()).into()
}

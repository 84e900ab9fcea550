//! What was known when: classes and categories with the event at which each came up.
//!
//! A learner that reads old events must see the schema as it was then, or the model would depend on when it reads. A name counts as
//! known from the first row that uses it, whatever the batches in which rows came.

use std::sync::Arc;

use hedgerow_core::{Column, ColumnKind, Error, Result, Schema, StoreProblem};

use crate::backend::Events;

/// A name that was added to the schema: a class, or a category of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grown {
    /// The column whose category it is; none for a class.
    pub(crate) column: Option<usize>,
    pub(crate) name: String,
    /// Sequence number of the first event that knows it.
    pub(crate) since: u64,
}

/// A schema and how it came to be.
#[derive(Debug, Clone)]
pub(crate) struct History {
    /// The schema of an empty store.
    pub(crate) base: Schema,
    /// Names added since, in order of `since`.
    grown: Vec<Grown>,
    /// The schema as it is now.
    pub(crate) now: Arc<Schema>,
    /// The schema that was asked for last, with the events for which it holds: readers go forward.
    last: Option<(std::ops::Range<u64>, Arc<Schema>)>,
}

impl History {
    pub(crate) fn new(base: Schema, grown: Vec<Grown>) -> Result<Self> {
        let now = Arc::new(with_names(&base, &grown)?);
        Ok(Self { base, grown, now, last: None })
    }

    /// Takes up names that have been written.
    pub(crate) fn extend(&mut self, grown: Vec<Grown>) -> Result<()> {
        if !grown.is_empty() {
            self.now = Arc::new(with_names(&self.now, &grown)?);
            self.grown.extend(grown);
            self.last = None;
        }
        Ok(())
    }

    /// The schema at an event, and the first event after it for which it no longer holds.
    pub(crate) fn at(&mut self, seq: u64) -> Result<(Arc<Schema>, u64)> {
        if let Some((range, schema)) = &self.last
            && range.contains(&seq)
        {
            return Ok((Arc::clone(schema), range.end));
        }
        let known = self.grown.partition_point(|name| name.since <= seq);
        let start = known.checked_sub(1).map_or(0, |last| self.grown[last].since);
        let end = self.grown.get(known).map_or(u64::MAX, |name| name.since);
        let schema = if known == self.grown.len() {
            Arc::clone(&self.now)
        } else {
            Arc::new(with_names(&self.base, &self.grown[..known])?)
        };
        self.last = Some((start..end, Arc::clone(&schema)));
        Ok((schema, end))
    }

    /// What `schema`, which must be ours grown at the ends, adds; each name since the first of these events that uses it. Names that
    /// none uses count from the first event on.
    pub(crate) fn growth(&self, schema: &Schema, first_seq: u64, events: Events<'_>) -> Result<Vec<Grown>> {
        check(&self.now, schema)?;
        let mut lists = vec![(None, self.now.n_classes(), schema.labels.names())];
        for (place, (ours, theirs)) in self.now.columns.iter().zip(&schema.columns).enumerate() {
            if let ColumnKind::Categorical { categories } = &theirs.kind {
                lists.push((Some(place), ours.kind.n_categories(), categories.as_slice()));
            }
        }
        let mut grown = Vec::new();
        for (column, old, names) in lists.into_iter().filter(|(_, old, names)| names.len() > *old) {
            let (mut known, mut since) = (old, first_seq);
            let mut add = |names: &[String], since: u64| {
                grown.extend(names.iter().map(|name| Grown { column, name: name.clone(), since }));
            };
            for event in 0..events.len() {
                let Some(code) = events.code(event, column).filter(|&code| code >= known) else { continue };
                let upto = (code + 1).min(names.len());
                since = first_seq + event as u64;
                add(&names[known..upto], since);
                known = upto;
            }
            add(&names[known..], since);
        }
        grown.sort_by_key(|name| name.since);
        Ok(grown)
    }
}

/// A schema with names added at the ends.
fn with_names(schema: &Schema, grown: &[Grown]) -> Result<Schema> {
    let mut schema = schema.clone();
    for Grown { column, name, .. } in grown {
        match column.map(|column| schema.columns.get_mut(column)) {
            None => {
                schema.labels.get_or_add(name)?;
            }
            Some(Some(Column { kind: ColumnKind::Categorical { categories }, .. })) => {
                categories.push(name.clone());
            }
            Some(_) => {
                let detail = format!("category {name:?} of a column that has none");
                return Err(Error::store(StoreProblem::Damaged(detail)));
            }
        }
    }
    Ok(schema)
}

/// Fails unless `schema` is `ours` with classes and categories added at the ends.
fn check(ours: &Schema, schema: &Schema) -> Result<()> {
    let fail = |expected: String, got: String| Err(Error::store(StoreProblem::Columns { expected, got }));
    if !ours.same_columns(schema) {
        let differs = ours.columns.iter().zip(&schema.columns).find(|(a, b)| {
            let narrow = |c: &&Column| Schema { columns: vec![Column::clone(c)], ..Schema::default() };
            !narrow(a).same_columns(&narrow(b))
        });
        let say = |c: &Column| format!("{} column {:?}", c.kind.word(), c.name);
        return match differs {
            Some((a, b)) => fail(say(a), say(b)),
            None => {
                fail(format!("{} columns", ours.n_features()), format!("{} columns", schema.n_features()))
            }
        };
    }
    for (a, b) in ours.columns.iter().zip(&schema.columns) {
        if b.kind.n_categories() < a.kind.n_categories() {
            let say = |c: &Column| format!("{} categories in column {:?}", c.kind.n_categories(), c.name);
            return fail(say(a), say(b));
        }
    }
    let (old, new) = (ours.labels.names(), schema.labels.names());
    if !new.starts_with(old) {
        return fail(format!("classes beginning with {}", old.join(", ")), new.join(", "));
    }
    schema.check_sizes()
}

#[cfg(test)]
mod tests {
    use hedgerow_core::ClassId;

    use super::*;
    use crate::store::NewRows;

    fn schema(classes: &[&str], colors: &[&str]) -> Schema {
        let names = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        Schema {
            columns: vec![
                Column::numeric("size"),
                Column { name: "color".into(), kind: ColumnKind::Categorical { categories: names(colors) } },
            ],
            labels: names(classes).into(),
            ..Schema::default()
        }
    }

    #[test]
    fn a_name_counts_from_the_first_row_that_uses_it() {
        let mut history = History::new(schema(&["a"], &["red"]), Vec::new()).unwrap();
        let grown = schema(&["a", "b", "c"], &["red", "blue", "gray"]);
        let x = ndarray::array![[1.0, 0.0], [1.0, f32::NAN], [1.0, 2.0], [1.0, 1.0]];
        let labels = [Some(ClassId(0)), Some(ClassId(1)), None, Some(ClassId(0))];
        let rows = NewRows { x: x.view(), labels: Some(&labels), weights: None };
        let names = history.growth(&grown, 10, Events::Rows(11, rows)).unwrap();
        let since: Vec<(&str, u64)> = names.iter().map(|n| (n.name.as_str(), n.since)).collect();
        assert_eq!(since, [("b", 11), ("c", 11), ("blue", 12), ("gray", 12)]);
        history.extend(names).unwrap();
        assert_eq!(*history.now, grown);
        let (before, end) = history.at(10).unwrap();
        assert_eq!((&*before, end), (&schema(&["a"], &["red"]), 11));
        let (between, end) = history.at(11).unwrap();
        assert_eq!((&*between, end), (&schema(&["a", "b", "c"], &["red"]), 12));
        assert_eq!(history.at(12).unwrap(), (Arc::clone(&history.now), u64::MAX));
        // A smaller schema, or another one, is refused.
        for other in [schema(&["a"], &["red"]), schema(&["x", "b", "c"], &["red", "blue", "gray"])] {
            assert!(history.growth(&other, 0, Events::Labels(&[])).is_err());
        }
    }
}

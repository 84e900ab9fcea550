//! What was known when: classes and categories with the event at which each came up.
//!
//! A learner that reads old events must see the schema as it was then, or the model would depend on when it reads. A name counts as
//! known from the first row that uses it, whatever the batches in which rows came.

use std::sync::Arc;

use hedgerow_core::{ClassId, Column, ColumnKind, Error, Result, Schema, StoreProblem};
use ndarray::ArrayView2;

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
    base: Schema,
    /// Names added since, in order of `since`.
    grown: Vec<Grown>,
    now: Arc<Schema>,
    /// The schema that was asked for last, with the events for which it holds: readers go forward.
    last: Option<(std::ops::Range<u64>, Arc<Schema>)>,
}

impl History {
    pub(crate) fn new(base: Schema, grown: Vec<Grown>) -> Result<Self> {
        let mut now = base.clone();
        for name in &grown {
            add(&mut now, name)?;
        }
        Ok(Self { base, grown, now: Arc::new(now), last: None })
    }

    /// The schema of an empty store.
    pub(crate) fn base(&self) -> &Schema {
        &self.base
    }

    /// The schema as it is now.
    pub(crate) fn now(&self) -> &Arc<Schema> {
        &self.now
    }

    /// Takes up names that have been written.
    pub(crate) fn extend(&mut self, grown: Vec<Grown>) -> Result<()> {
        if grown.is_empty() {
            return Ok(());
        }
        let mut now = Schema::clone(&self.now);
        for name in &grown {
            add(&mut now, name)?;
        }
        self.now = Arc::new(now);
        self.grown.extend(grown);
        self.last = None;
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
            let mut schema = self.base.clone();
            for name in &self.grown[..known] {
                add(&mut schema, name)?;
            }
            Arc::new(schema)
        };
        self.last = Some((start..end, Arc::clone(&schema)));
        Ok((schema, end))
    }

    /// What `schema`, which must be ours grown at the ends, adds; each name since the first of these events that uses it. Names that
    /// none uses count from the first event on.
    pub(crate) fn growth(&self, schema: &Schema, first_seq: u64, used: &Used<'_>) -> Result<Vec<Grown>> {
        check(&self.now, schema)?;
        let mut grown = Vec::new();
        let old = self.now.n_classes();
        let labels = &schema.labels.names()[old..];
        if !labels.is_empty() {
            let codes = |event: usize| used.label(event).map(ClassId::index);
            add_names(labels, old, None, first_seq, used.n_events(), codes, &mut grown);
        }
        for (place, (ours, theirs)) in self.now.columns.iter().zip(&schema.columns).enumerate() {
            let ColumnKind::Categorical { categories } = &theirs.kind else { continue };
            let old = ours.kind.n_categories();
            if categories.len() > old {
                let code = |event: usize| used.category(event, place);
                add_names(&categories[old..], old, Some(place), first_seq, used.n_events(), code, &mut grown);
            }
        }
        grown.sort_by_key(|name| name.since);
        Ok(grown)
    }
}

/// The codes that new events use.
pub(crate) enum Used<'a> {
    Rows(ArrayView2<'a, f32>, Option<&'a [Option<ClassId>]>),
    Labels(&'a [(u64, ClassId)]),
}

impl Used<'_> {
    fn n_events(&self) -> usize {
        match self {
            Self::Rows(x, _) => x.nrows(),
            Self::Labels(labels) => labels.len(),
        }
    }

    fn label(&self, event: usize) -> Option<ClassId> {
        match self {
            Self::Rows(_, labels) => labels.and_then(|labels| labels[event]),
            Self::Labels(labels) => Some(labels[event].1),
        }
    }

    fn category(&self, event: usize, column: usize) -> Option<usize> {
        match self {
            Self::Rows(x, _) => Some(x[[event, column]]).filter(|v| !v.is_nan()).map(|v| v as usize),
            Self::Labels(_) => None,
        }
    }
}

/// Names with codes from `old` on, each with the event from which on it counts.
fn add_names(
    names: &[String],
    old: usize,
    column: Option<usize>,
    first_seq: u64,
    n_events: usize,
    code: impl Fn(usize) -> Option<usize>,
    grown: &mut Vec<Grown>,
) {
    let mut since = vec![None; names.len()];
    let mut known = old;
    for event in 0..n_events {
        let Some(code) = code(event).filter(|&code| code >= known) else { continue };
        let upto = (code + 1 - old).min(names.len());
        since[known - old..upto].fill(Some(first_seq + event as u64));
        known = old + upto;
    }
    let mut last = first_seq;
    for (name, since) in names.iter().zip(since) {
        last = since.unwrap_or(last);
        grown.push(Grown { column, name: name.clone(), since: last });
    }
}

fn add(schema: &mut Schema, grown: &Grown) -> Result<()> {
    match grown.column {
        None => schema.labels.get_or_add(&grown.name).map(|_| ()),
        Some(column) => match schema.columns.get_mut(column) {
            Some(Column { kind: ColumnKind::Categorical { categories }, .. }) => {
                categories.push(grown.name.clone());
                Ok(())
            }
            _ => Err(Error::store(StoreProblem::Damaged {
                detail: format!("category {:?} of a column that has none", grown.name),
            })),
        },
    }
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
    use super::*;

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
        let names = history.growth(&grown, 10, &Used::Rows(x.view(), Some(&labels))).unwrap();
        let since: Vec<(&str, u64)> = names.iter().map(|n| (n.name.as_str(), n.since)).collect();
        assert_eq!(since, [("b", 11), ("c", 11), ("blue", 12), ("gray", 12)]);
        history.extend(names).unwrap();
        assert_eq!(**history.now(), grown);
        let (before, end) = history.at(10).unwrap();
        assert_eq!((&*before, end), (&schema(&["a"], &["red"]), 11));
        let (between, end) = history.at(11).unwrap();
        assert_eq!((&*between, end), (&schema(&["a", "b", "c"], &["red"]), 12));
        assert_eq!(history.at(12).unwrap(), (Arc::clone(history.now()), u64::MAX));
        // A smaller schema, or another one, is refused.
        let nothing = Used::Labels(&[]);
        for other in [schema(&["a"], &["red"]), schema(&["x", "b", "c"], &["red", "blue", "gray"])] {
            assert!(history.growth(&other, 0, &nothing).is_err());
        }
    }
}

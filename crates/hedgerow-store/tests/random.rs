//! Random appends, labels and corrections against a plain list of events.
#![allow(clippy::unwrap_used)]

use hedgerow_core::{ClassId, Column, ColumnKind, Schema};
use hedgerow_store::{Change, NewRows, Options, Store};
use ndarray::Array2;
use proptest::prelude::*;

/// Something to do with a store. Labels and categories count on from those known, so that new ones come up.
#[derive(Debug, Clone)]
enum Step {
    /// Rows, each with a value, a category and perhaps a label.
    Rows(Vec<(u16, u8, Option<u8>)>),
    /// Labels for rows, each given as a share of the rows there are.
    Labels(Vec<(u16, u8)>),
    /// The store is closed and opened again.
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let row = (any::<u16>(), 0..9_u8, proptest::option::of(0..7_u8));
    let step = prop_oneof![
        4 => proptest::collection::vec(row, 0..12).prop_map(Step::Rows),
        3 => proptest::collection::vec((any::<u16>(), 0..7_u8), 0..8).prop_map(Step::Labels),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..14)
}

/// What an event must say: row, values, change, classes and categories known.
type Expected = (u64, [f32; 2], Change, usize, usize);

/// The naive store: everything in one list.
#[derive(Default)]
struct Naive {
    events: Vec<Expected>,
    rows: Vec<([f32; 2], Option<ClassId>)>,
    n_classes: usize,
    n_categories: usize,
}

impl Naive {
    fn code(known: usize, wanted: u8) -> usize {
        (wanted as usize).min(known)
    }

    fn push(&mut self, row: usize, change: Change) {
        self.n_classes = self.n_classes.max(change.label().map_or(0, |class| class.index() + 1));
        self.rows[row].1 = change.label().or(self.rows[row].1);
        let known = (self.n_classes, self.n_categories);
        self.events.push((row as u64 + 1, self.rows[row].0, change, known.0, known.1));
    }

    fn schema(&self) -> Schema {
        let names = |n: usize| (0..n).map(|i| format!("name {i}")).collect::<Vec<_>>();
        let kind = ColumnKind::Categorical { categories: names(self.n_categories) };
        let columns = vec![Column::numeric("size"), Column { name: "color".into(), kind }];
        Schema { columns, named: true, labels: names(self.n_classes).into(), ..Schema::default() }
    }
}

/// All events of a store, read in blocks of at most so many.
fn all(store: &Store, most: usize) -> Vec<Expected> {
    let mut events = Vec::new();
    let mut learner = store.subscribe(0);
    while let Some(block) = learner.next(most).unwrap() {
        let (classes, categories) = (block.schema.n_classes(), block.schema.columns[1].kind.n_categories());
        for (i, &change) in block.changes.iter().enumerate() {
            let values = [block.x[[i, 0]], block.x[[i, 1]]];
            events.push((block.rows[i], values, change, classes, categories));
        }
    }
    assert_eq!(learner.cursor(), store.end());
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn a_store_is_a_list_of_events(steps in steps(), most in 1..9_usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut naive = Naive::default();
        let memory = Store::in_memory(naive.schema()).unwrap();
        let mut disk = Some(Store::create(folder.path(), &naive.schema(), &Options::default()).unwrap());
        for step in &steps {
            match step {
                Step::Reopen => {
                    drop(disk.take());
                    disk = Some(Store::open(folder.path(), &Options::default()).unwrap());
                }
                Step::Rows(rows) => {
                    let mut x = Array2::zeros((rows.len(), 2));
                    let mut labels = Vec::new();
                    for (i, &(value, category, label)) in rows.iter().enumerate() {
                        let category = Naive::code(naive.n_categories, category);
                        let label = label.map(|l| ClassId(Naive::code(naive.n_classes, l) as u32));
                        let values = [f32::from(value) / 3.0, category as f32];
                        (x[[i, 0]], x[[i, 1]]) = (values[0], values[1]);
                        naive.n_categories = naive.n_categories.max(category + 1);
                        naive.rows.push((values, None));
                        naive.push(naive.rows.len() - 1, Change::Row(label));
                        labels.push(label);
                    }
                    let new = NewRows { x: x.view(), labels: Some(&labels), weights: None };
                    for store in [Some(&memory), disk.as_ref()].into_iter().flatten() {
                        store.append(&naive.schema(), &new).unwrap();
                    }
                }
                Step::Labels(labels) if !naive.rows.is_empty() => {
                    let mut given = Vec::new();
                    for &(row, label) in labels {
                        let row = row as usize % naive.rows.len();
                        let new = ClassId(Naive::code(naive.n_classes, label) as u32);
                        given.push((row as u64 + 1, new));
                        match naive.rows[row].1 {
                            Some(old) if old == new => {}
                            Some(old) => naive.push(row, Change::Correction { old, new }),
                            None => naive.push(row, Change::Label(new)),
                        }
                    }
                    for store in [Some(&memory), disk.as_ref()].into_iter().flatten() {
                        store.label(&naive.schema(), &given).unwrap();
                    }
                }
                Step::Labels(_) => {}
            }
        }
        for store in [Some(&memory), disk.as_ref()].into_iter().flatten() {
            prop_assert_eq!(&all(store, most), &naive.events);
            prop_assert_eq!(&*store.schema(), &naive.schema());
        }
    }
}

//! What every store must do, wherever it keeps its rows.
#![allow(clippy::unwrap_used)]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hedgerow_core::{ClassId, Column, ColumnKind, Error, Schema, StoreProblem};
use hedgerow_store::{Change, Input, NewRows, Options, Store, WIDE, fingerprint};
use ndarray::{Array2, array};

const A: ClassId = ClassId(0);
const B: ClassId = ClassId(1);
const C: ClassId = ClassId(2);

/// Runs a check on an empty store of each sort.
fn on_both(schema: &Schema, check: impl Fn(&Store)) {
    check(&Store::in_memory(schema.clone()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    check(&Store::create(folder.path().join("new/store"), schema, &Options::default()).unwrap());
}

fn numbers() -> Schema {
    let mut schema = Schema::unnamed(2);
    schema.labels = ["a", "b"].map(String::from).to_vec().into();
    schema
}

fn with_class(schema: &Schema, name: &str) -> Schema {
    let mut schema = schema.clone();
    schema.labels.get_or_add(name).unwrap();
    schema
}

/// Rows whose first value tells their number.
fn rows(range: std::ops::Range<u64>) -> Array2<f32> {
    Array2::from_shape_fn((range.clone().count(), 2), |(i, d)| {
        (range.start + i as u64) as f32 + d as f32 / 10.0
    })
}

fn append(store: &Store, range: std::ops::Range<u64>, labels: &[Option<ClassId>]) {
    let schema = store.schema();
    let x = rows(range.clone());
    let appended =
        store.append(&schema, &NewRows { x: x.view(), labels: Some(labels), weights: None }).unwrap();
    assert_eq!(appended.first_row, range.start);
}

#[test]
fn rows_and_labels_come_back_in_order() {
    let schema = numbers();
    on_both(&schema, |store| {
        assert!(store.read(0, 10).unwrap().is_none());
        append(store, 1..4, &[Some(A), None, Some(B)]);
        append(store, 4..6, &[None, Some(A)]);
        let told = store.label(&schema, &[(2, A), (1, B), (5, A), (4, B)]).unwrap();
        assert_eq!((told.added, told.corrected, told.unchanged), (2, 1, 1));
        append(store, 6..7, &[Some(B)]);
        store.label(&schema, &[(1, A)]).unwrap();
        assert_eq!((store.n_rows(), store.end()), (6, 10));

        let first = store.read(0, 100).unwrap().unwrap();
        assert_eq!((first.first, first.end()), (0, 5));
        assert_eq!(first.rows, [1, 2, 3, 4, 5]);
        assert_eq!(first.x, rows(1..6));
        let labels = [Some(A), None, Some(B), None, Some(A)];
        assert_eq!(first.changes, labels.map(Change::Row));
        assert_eq!((first.weights, &*first.schema), (None, &schema));
        let late = store.read(5, 100).unwrap().unwrap();
        assert_eq!(late.rows, [2, 1, 4]);
        assert_eq!(late.changes, [Change::Label(A), Change::Correction { old: A, new: B }, Change::Label(B)]);
        assert_eq!(late.x.column(0).to_vec(), [2.0, 1.0, 4.0]);
        let next = store.read(8, 100).unwrap().unwrap();
        assert_eq!((next.rows, next.changes), (vec![6], vec![Change::Row(Some(B))]));
        let last = store.read(9, 100).unwrap().unwrap();
        assert_eq!((last.rows, last.changes), (vec![1], vec![Change::Correction { old: B, new: A }]));
        assert!(store.read(10, 100).unwrap().is_none());
        let beyond = store.read(11, 1).unwrap_err();
        assert!(matches!(
            beyond,
            Error::Store { problem: StoreProblem::NoSuchEvent { seq: 11, end: 10 }, .. }
        ));
        // However it is cut, it is the same.
        let part = store.read(2, 2).unwrap().unwrap();
        assert_eq!((part.first, part.rows, part.x), (2, vec![3, 4], rows(3..5)));
        let counts = store.counts().unwrap();
        assert_eq!((counts.rows, counts.events, counts.labelled, counts.corrections), (6, 10, 6, 2));
        store.check().unwrap();
    });
}

#[test]
fn a_label_given_twice_in_one_go_is_a_correction() {
    let schema = numbers();
    on_both(&schema, |store| {
        append(store, 1..2, &[None]);
        let told = store.label(&schema, &[(1, A), (1, B), (1, B)]).unwrap();
        assert_eq!((told.added, told.corrected, told.unchanged), (1, 1, 1));
        let block = store.read(1, 10).unwrap().unwrap();
        assert_eq!(block.changes, [Change::Label(A), Change::Correction { old: A, new: B }]);
    });
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_nothing() {
    let schema = numbers();
    on_both(&schema, |store| {
        append(store, 1..3, &[Some(A), None]);
        let x = rows(3..5);
        let all = |x: &Array2<f32>, labels: &[Option<ClassId>], weights: Option<&[f32]>| {
            store.append(&schema, &NewRows { x: x.view(), labels: Some(labels), weights }).unwrap_err()
        };
        all(&x, &[Some(A)], None);
        all(&x, &[Some(A), Some(C)], None);
        all(&x, &[None, None], Some(&[1.0, -1.0]));
        all(&array![[1.0, f32::INFINITY]], &[None], None);
        all(&array![[1.0]], &[None], None);
        let other = NewRows { x: x.view(), labels: None, weights: None };
        let wrong = store.append(&Schema::unnamed(2), &other).unwrap_err();
        assert!(wrong.to_string().contains("classes"), "{wrong}");
        let unknown = store.label(&schema, &[(1, B), (3, A)]).unwrap_err();
        assert!(matches!(unknown, Error::Store { problem: StoreProblem::NoSuchRow { row: 3, rows: 2 }, .. }));
        store.label(&schema, &[(0, A)]).unwrap_err();
        store.label(&schema, &[(1, C)]).unwrap_err();
        assert_eq!((store.n_rows(), store.end()), (2, 2));
        assert_eq!(store.read(0, 9).unwrap().unwrap().changes, [Change::Row(Some(A)), Change::Row(None)]);
    });
}

#[test]
fn classes_are_known_from_their_first_event_on() {
    let schema = Schema::unnamed(2);
    on_both(&schema, |store| {
        let none = NewRows { x: rows(1..2).view(), labels: None, weights: None }.x.to_owned();
        store.append(&schema, &NewRows { x: none.view(), labels: None, weights: None }).unwrap();
        let two = with_class(&with_class(&schema, "x"), "y");
        let x = rows(2..6);
        let labels = [Some(A), None, Some(B), Some(A)];
        store.append(&two, &NewRows { x: x.view(), labels: Some(&labels), weights: None }).unwrap();
        let three = with_class(&two, "z");
        store.label(&three, &[(1, B), (2, C)]).unwrap();

        let mut cuts = Vec::new();
        let mut learner = store.subscribe(0);
        while let Some(block) = learner.next(100).unwrap() {
            cuts.push((block.first, block.len(), block.schema.n_classes()));
        }
        assert_eq!(cuts, [(0, 1, 0), (1, 2, 1), (3, 2, 2), (5, 1, 2), (6, 1, 3)]);
        assert_eq!(store.schema().labels.names(), ["x", "y", "z"]);
        assert_eq!(store.schema_at(0).unwrap().n_classes(), 0);
    });
}

#[test]
fn words_missing_values_weights_and_odd_names_are_kept() {
    let words = |list: &[&str]| list.iter().map(ToString::to_string).collect();
    let mut schema = Schema {
        columns: vec![
            Column::numeric("id"),
            Column {
                name: "Color".into(),
                kind: ColumnKind::Categorical { categories: words(&["red", "it's"]) },
            },
            Column { name: "color".into(), kind: ColumnKind::Boolean { no: "no".into(), yes: "yes".into() } },
        ],
        named: true,
        ..Schema::default()
    };
    schema.labels.get_or_add("ja, \"so\"").unwrap();
    on_both(&schema, |store| {
        let mut grown = schema.clone();
        grown.columns[1].kind = ColumnKind::Categorical { categories: words(&["red", "it's", "ünï"]) };
        let x = array![[-0.0, 1.0, 1.0], [f32::NAN, f32::NAN, f32::NAN], [1e-38, 2.0, 0.0], [0.1, 0.0, 1.0]];
        let weights = [1.0, 2.5, 1.0, 0.0];
        store.append(&grown, &NewRows { x: x.view(), labels: None, weights: Some(&weights) }).unwrap();
        let first = store.read(0, 10).unwrap().unwrap();
        let second = store.read(2, 10).unwrap().unwrap();
        assert_eq!((first.len(), second.len()), (2, 2));
        assert_eq!((&*first.schema, &*second.schema), (&schema, &grown));
        let read: Vec<u32> = first.x.iter().chain(&second.x).map(|v| v.to_bits()).collect();
        let wanted: Vec<u32> =
            x.iter().map(|v| if v.is_nan() { f32::NAN } else { v + 0.0 }.to_bits()).collect();
        assert_eq!(read, wanted);
        assert_eq!((first.weights.unwrap(), second.weights.unwrap()), (vec![1.0, 2.5], vec![1.0, 0.0]));
    });
}

#[test]
fn wide_rows_are_the_same() {
    let schema = Schema::unnamed(WIDE + 284);
    on_both(&schema, |store| {
        let x = Array2::from_shape_fn((3, WIDE + 284), |(i, d)| (i * 1_000 + d) as f32 / 7.0);
        store.append(&schema, &NewRows { x: x.view(), labels: None, weights: None }).unwrap();
        assert_eq!(store.read(0, 10).unwrap().unwrap().x, x);
    });
}

#[test]
fn one_append_wakes_every_learner() {
    let schema = numbers();
    on_both(&schema, |store| {
        let (told, heard) = mpsc::channel();
        let learners: Vec<_> = (0..3)
            .map(|_| {
                let (mut learner, told) = (store.subscribe(0), told.clone());
                thread::spawn(move || {
                    while learner.cursor() < 5 {
                        assert!(learner.wait(Duration::from_secs(60)), "no call came");
                        while let Some(block) = learner.next(2).unwrap() {
                            told.send(block.len()).unwrap();
                        }
                    }
                })
            })
            .collect();
        assert!(!store.subscribe(0).wait(Duration::from_millis(5)));
        append(store, 1..4, &[Some(A), Some(B), None]);
        store.label(&schema, &[(3, A), (1, B)]).unwrap();
        learners.into_iter().for_each(|learner| learner.join().unwrap());
        drop(told);
        assert_eq!(heard.iter().sum::<usize>(), 15);
    });
}

#[test]
fn learners_go_on_from_their_newest_checkpoint() {
    on_both(&numbers(), |store| {
        append(store, 1..6, &[Some(A); 5]);
        assert!(store.load_checkpoint("one").unwrap().checkpoint.is_none());
        store.set_learner("one", "first words").unwrap();
        store.set_learner("two", "").unwrap();
        store.set_learner("one", "words").unwrap();
        store.set_learner("no/good", "").unwrap_err();
        for cursor in [2, 3, 5] {
            let write = |out: &mut dyn std::io::Write| write!(out, "model {cursor}");
            assert_eq!(store.save_checkpoint("one", cursor, &format!("state {cursor}"), write).unwrap(), 7);
        }
        let failed = |_: &mut dyn std::io::Write| Err(std::io::Error::other("no"));
        store.save_checkpoint("one", 5, "bad", failed).unwrap_err();
        let learners = store.learners().unwrap();
        let shown: Vec<_> =
            learners.iter().map(|l| (l.name.as_str(), l.config.as_str(), l.cursor, l.model_bytes)).collect();
        assert_eq!(shown, [("one", "words", Some(5), 7), ("two", "", None, 0)]);
        let newest = |store: &Store| store.load_checkpoint("one").unwrap().checkpoint;
        let checkpoint = newest(store).unwrap();
        assert_eq!((checkpoint.cursor, checkpoint.state.as_str()), (5, "state 5"));
        assert_eq!(checkpoint.model, b"model 5");
        // The one before is there, older ones are gone.
        store.drop_checkpoint("one", 5).unwrap();
        assert_eq!(newest(store).unwrap().cursor, 3);
        store.drop_checkpoint("one", 3).unwrap();
        assert!(newest(store).is_none());
    });
}

/// A large model takes its time; rows must not wait for it.
#[test]
fn rows_come_while_a_checkpoint_is_written() {
    on_both(&numbers(), |store| {
        append(store, 1..3, &[Some(A); 2]);
        store.set_learner("one", "").unwrap();
        let write = |out: &mut dyn std::io::Write| {
            append(store, 3..5, &[Some(A); 2]);
            assert_eq!(store.read(2, 10).unwrap().unwrap().len(), 2);
            write!(out, "model")
        };
        store.save_checkpoint("one", 2, "", write).unwrap();
        assert_eq!(
            (store.n_rows(), store.load_checkpoint("one").unwrap().checkpoint.unwrap().cursor),
            (4, 2)
        );
    });
}

#[test]
fn inputs_are_noted_with_their_rows() {
    let schema = numbers();
    on_both(&schema, |store| {
        let x = rows(1..3);
        let labels = [Some(A), None];
        let fingerprint = fingerprint(&schema, x.view(), Some(&labels));
        let mut input = Input { fingerprint, head_rows: 2, name: "a.csv".into(), rows: 2, is_done: false };
        let new = NewRows { x: x.view(), labels: Some(&labels), weights: None };
        store.append_from(&schema, &new, &input).unwrap();
        assert_eq!(store.inputs().unwrap(), [input.clone()]);
        input.is_done = true;
        store.set_input(&input).unwrap();
        let other = Input { fingerprint: "other".into(), name: "b.csv".into(), ..input.clone() };
        store.set_input(&other).unwrap();
        assert_eq!(store.inputs().unwrap(), [input, other]);
    });
}

#[test]
fn fingerprints_tell_beginnings_apart() {
    let schema = numbers();
    let x = rows(1..3);
    let of = |schema: &Schema, x: &Array2<f32>, labels: &[Option<ClassId>]| {
        fingerprint(schema, x.view(), Some(labels))
    };
    let same = of(&schema, &x, &[Some(A), None]);
    assert_eq!(same, of(&with_class(&schema, "late"), &x, &[Some(A), None]));
    assert_ne!(same, of(&schema, &x, &[Some(A), Some(A)]));
    assert_ne!(same, of(&schema, &rows(2..4), &[Some(A), None]));
    let mut renamed = schema.clone();
    renamed.columns[0].name = "other".into();
    assert_ne!(same, of(&renamed, &x, &[Some(A), None]));
}

use std::cell::Cell;

use ndarray::{Array1, Array2, array as table};
use serde::Deserialize;

use super::*;
use crate::data::{ClassId, Features};
use crate::testing::{check_damaged_arrays, from_saved_parts, saved_copy, saved_parts};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Toy {
    words: Vec<String>,
    #[serde(with = "array")]
    turned: Array2<f64>,
    #[serde(with = "array")]
    row: Array1<f32>,
    #[serde(with = "array")]
    places: Vec<usize>,
    #[serde(with = "array")]
    flags: Vec<bool>,
    #[serde(with = "array")]
    classes: Vec<ClassId>,
    #[serde(with = "array")]
    log_evidence: f64,
    #[serde(with = "optional")]
    weights: Option<Vec<f32>>,
    #[serde(with = "optional")]
    nothing: Option<Vec<f32>>,
    #[serde(with = "columns")]
    lists: Vec<Vec<u16>>,
    features: Vec<Features>,
    inner: Option<Box<Toy>>,
}

impl Saved for Toy {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        let n = self.places.len();
        require(n == self.flags.len() && n == self.classes.len() && n == self.row.len(), || "lengths")?;
        require(self.places.iter().all(|place| *place < 1 << 40), || "a place")?;
        require(self.row.iter().all(|v| !v.is_infinite()), || "an infinite number")?;
        require(self.classes.iter().all(|class| class.index() < schema.n_classes()), || "a class")
    }
}

fn toy(n: usize) -> Toy {
    let odd = [1.0, f64::NAN.copysign(-1.0), f64::MIN_POSITIVE, -0.0, f64::NEG_INFINITY, 1e300];
    Toy {
        words: vec!["größe \"0\"".into()],
        turned: Array2::from_shape_vec((3, 2), odd.to_vec()).unwrap().reversed_axes(),
        row: (0..n).map(|i| i as f32).collect(),
        places: (0..n).collect(),
        flags: (0..n).map(|i| i % 3 == 0).collect(),
        classes: (0..n).map(|i| ClassId(i as u32 % 2)).collect(),
        log_evidence: f64::NEG_INFINITY,
        weights: Some(vec![0.25; 2]),
        nothing: None,
        lists: vec![vec![1, 2], Vec::new(), vec![3]],
        features: vec![Features::from_view(table![[1.0, 2.0]].view()), Features::new(3)],
        inner: None,
    }
}

fn schema() -> Schema {
    crate::testing::blobs(4, 1, 2, 1).schema.clone()
}

#[test]
fn everything_comes_back_to_the_last_bit() {
    // More numbers than are handed on together, in two models that are one inside the other.
    let model = Toy { inner: Some(Box::new(toy(3))), ..toy(100_000) };
    let copy = saved_copy(&model, &schema()).unwrap();
    let bits = |toy: &Toy| toy.turned.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!((bits(&copy), copy.turned.dim()), (bits(&model), (2, 3)));
    let plain = |mut toy: Toy| {
        toy.turned.fill(0.0);
        toy.inner.iter_mut().for_each(|inner| inner.turned.fill(0.0));
        toy
    };
    assert_eq!(plain(copy), plain(model));
}

#[test]
fn wide_numbers_come_first_and_bytes_are_as_planned() {
    let model = toy(5);
    let plan = Plan::new(&model).unwrap();
    let widths: Vec<usize> = plan.arrays().iter().map(|(_, array)| array.dtype.width()).collect();
    assert!(widths.is_sorted_by(|a, b| a >= b), "{widths:?}");
    let mut bytes = Vec::new();
    plan.write(&mut bytes).unwrap();
    assert_eq!(bytes.len() as u64, plan.arrays().iter().map(|(_, array)| array.n_bytes()).sum::<u64>());
    assert!(plan.json().contains("größe") && !plan.json().contains("0.25"), "{}", plan.json());
}

#[test]
fn damaged_arrays_are_refused() {
    // Features may have any number of rows; a list may hold any number; nothing is said about weights.
    let may_pass = |_: usize, damage: &str, model: &Toy| {
        let before = toy(4);
        let is_free = model.weights != before.weights
            || model.features != before.features
            || model.lists != before.lists
            || model.log_evidence != before.log_evidence
            || model.turned.iter().any(|v| *v == f64::INFINITY);
        ["longer", "empty", "largest"].contains(&damage) && (is_free || model.turned.nrows() != 2)
    };
    check_damaged_arrays(&toy(4), &schema(), may_pass);
}

#[test]
fn an_array_is_taken_once_and_not_left_over() {
    let (json, arrays) = saved_parts(&toy(2));
    let read =
        |json: &str| from_saved_parts::<Toy>(json, arrays.clone(), &schema()).map_err(|e| e.to_string());
    read(&json).unwrap();
    let twice = read(&json.replacen("\"row\":1", "\"row\":0", 1)).unwrap_err();
    assert!(twice.contains("used twice"), "{twice}");
    let left = read(&json.replacen("\"weights\":6", "\"weights\":null", 1)).unwrap_err();
    assert!(left.contains("belong to nothing"), "{left}");
    let ends =
        read(&json.replacen("\"ends\":7", "\"ends\":2", 1).replacen("\"places\":2", "\"places\":7", 1));
    assert!(ends.unwrap_err().contains("rise"));
}

#[test]
fn arrays_are_refused_outside_a_file() {
    assert!(serde_json::to_string(&toy(1)).unwrap_err().to_string().contains("model files"));
    let (json, _) = saved_parts(&toy(1));
    assert!(serde_json::from_str::<Toy>(&json).unwrap_err().to_string().contains("model files"));
    let caught = std::panic::catch_unwind(|| scope::writing(Pass::first(), || panic!("in the middle")));
    assert!(caught.is_err() && serde_json::to_string(&toy(1)).is_err());
}

#[test]
fn what_is_costly_is_made_once() {
    struct Costly(Cell<usize>);
    impl Serialize for Costly {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
            let made = once(|| {
                self.0.set(self.0.get() + 1);
                (vec![1_u8], vec![2_u64])
            });
            serde::Serialize::serialize(
                &(column(|| made.0.iter().copied()), column(|| made.1.iter().copied())),
                serializer,
            )
        }
    }
    let model = [Costly(Cell::new(0)), Costly(Cell::new(0))];
    let plan = Plan::new(&model).unwrap();
    let mut bytes = Vec::new();
    plan.write(&mut bytes).unwrap();
    assert_eq!(bytes, [2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    assert_eq!(model.each_ref().map(|costly| costly.0.get()), [1, 1]);
}

#[test]
fn a_full_device_is_an_error() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let model = toy(100_000);
    let wrong = Plan::new(&model).unwrap().write(&mut Full(500_000)).unwrap_err();
    assert_eq!(wrong.kind(), io::ErrorKind::StorageFull);
}

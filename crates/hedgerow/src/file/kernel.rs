//! Which texts and arrays a kernel model is: whatever it says itself, see [`Saved`].

use std::io::{self, Write};

use hedgerow_core::{Result, Task, TaskModel};
use hedgerow_gp::Saved;
use ndarray::{Array2, ArrayView2, CowArray, Ix2};
use safetensors::Dtype;

use super::layout::{Parts, Plan};
use super::{json, malformed};

const FACTS: &str = "facts";

/// The facts as a text, the tables as arrays.
pub(super) fn plan<'a, M: Saved>(model: &'a M, plan: &mut Plan<'a>) -> Result<()> {
    plan.json(FACTS, &model.facts())?;
    for (name, table) in model.tables() {
        plan_table(&name, table, plan);
    }
    Ok(())
}

/// One table.
pub(super) fn plan_table<'a>(name: &str, table: CowArray<'a, f64, Ix2>, plan: &mut Plan<'a>) {
    let shape = table.shape().to_vec();
    plan.array(array_name(name), Dtype::F64, shape, move |out| write(table.view(), out));
}

/// One table again.
pub(super) fn table(parts: &Parts<'_>, name: &str) -> Result<Array2<f64>> {
    let name = array_name(name);
    let [n_rows, n_columns] = parts.sides(&name)?;
    let values = parts.f64s(&name)?;
    Array2::from_shape_vec((n_rows, n_columns), values).map_err(|wrong| malformed(&name, wrong.to_string()))
}

/// The model again, if its parts fit together.
pub(super) fn read<M: Saved>(parts: &Parts<'_>) -> Result<M> {
    let facts = json(parts, FACTS)?;
    M::restore(facts, &mut |name| table(parts, name))
}

/// The same for a kind of model that does either task.
pub(super) fn plan_task<'a, C: Saved, R: Saved>(model: &'a TaskModel<C, R>, to: &mut Plan<'a>) -> Result<()> {
    match model {
        TaskModel::Classifier(model) => plan(model, to),
        TaskModel::Regressor(model) => plan(model, to),
    }
}

/// A model of the task again.
pub(super) fn read_task<C: Saved, R: Saved>(parts: &Parts<'_>, task: Task) -> Result<TaskModel<C, R>> {
    TaskModel::of_task(task, || read(parts), || read(parts))
}

/// Names of tables are kept apart from those of other arrays.
fn array_name(table: &str) -> String {
    format!("table.{table}")
}

fn write(table: ArrayView2<'_, f64>, out: &mut dyn Write) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(table.ncols() * size_of::<f64>());
    for row in table.rows() {
        buffer.clear();
        row.iter().for_each(|value| buffer.extend_from_slice(&value.to_le_bytes()));
        out.write_all(&buffer)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Toy {
        words: Vec<String>,
        tables: Vec<(String, Array2<f64>)>,
    }

    #[derive(Serialize, Deserialize)]
    struct Facts {
        words: Vec<String>,
        names: Vec<String>,
    }

    impl Saved for Toy {
        type Facts = Facts;

        fn facts(&self) -> Facts {
            Facts { words: self.words.clone(), names: self.tables.iter().map(|t| t.0.clone()).collect() }
        }

        fn tables(&self) -> Vec<(String, CowArray<'_, f64, Ix2>)> {
            self.tables.iter().map(|(name, table)| (name.clone(), table.view().into())).collect()
        }

        fn restore(facts: Facts, table: &mut dyn FnMut(&str) -> Result<Array2<f64>>) -> Result<Self> {
            let tables = facts.names.iter().map(|name| Ok((name.clone(), table(name)?)));
            Ok(Self { words: facts.words, tables: tables.collect::<Result<_>>()? })
        }
    }

    fn bytes(toy: &Toy) -> Vec<u8> {
        let mut planned = Plan::new("toy");
        plan(toy, &mut planned).unwrap();
        let mut bytes = Vec::new();
        planned.finish().unwrap().write(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn facts_and_tables_come_back_to_the_last_bit() {
        let turned = array![[1.0, f64::NAN.copysign(-1.0)], [f64::MIN_POSITIVE, -0.0], [0.1, 1e300]];
        let tables = [
            ("checksum", turned.clone().reversed_axes()),
            ("turned", turned),
            ("none", Array2::zeros((0, 4))),
            ("flat", Array2::zeros((4, 0))),
        ];
        let tables = tables.map(|(name, table)| (name.to_string(), table)).to_vec();
        let toy = Toy { words: vec!["größe".into()], tables };
        let bytes = bytes(&toy);
        let loaded: Toy = read(&Parts::open(&bytes).unwrap()).unwrap();
        assert_eq!(loaded.words, toy.words);
        for ((name, table), (other, loaded)) in toy.tables.iter().zip(&loaded.tables) {
            assert_eq!((name, table.shape()), (other, loaded.shape()));
            assert!(table.iter().zip(loaded).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}");
        }
    }

    #[test]
    fn tables_that_are_missing_or_of_another_shape_are_named() {
        let table = |name: &str| (name.to_string(), array![[1.0, 2.0], [3.0, 4.0]]);
        let toy = Toy { words: Vec::new(), tables: vec![table("a"), table("b")] };
        let bytes = bytes(&toy);
        for (from, to) in [
            (r#""table.b""#, r#""tables.b""#),
            (r#""shape":[2,2]"#, r#""shape":[4]"#),
            (r#""shape":[2,2]"#, r#""shape":[2,2,1]"#),
            (r#""dtype":"F64""#, r#""dtype":"I64""#),
        ] {
            let changed = edited(&bytes, from, to);
            let message = read::<Toy>(&Parts::open(&changed).unwrap()).unwrap_err().to_string();
            assert!(message.contains("table."), "{to}: {message}");
        }
        let message = read::<Toy>(&Parts::open(&edited(&bytes, "words", "world")).unwrap()).unwrap_err();
        assert!(message.to_string().contains("facts"), "{message}");
    }

    /// The file with a text of its header replaced, its lengths and checksum put right.
    fn edited(sound: &[u8], from: &str, to: &str) -> Vec<u8> {
        let length = u64::from_le_bytes(std::array::from_fn(|i| sound[i])) as usize;
        let (header, rest) = sound[8..].split_at(length);
        let header = std::str::from_utf8(header).unwrap();
        assert!(header.contains(from), "{from}");
        let header = header.replacen(from, to, 1);
        let mut bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), rest].concat();
        let end = bytes.len() - 4;
        let sum = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

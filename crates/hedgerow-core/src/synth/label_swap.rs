//! Rows of a data set whose labels change their meaning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::generator::{Draws, Source};
use super::{Generator, Schedule};
use crate::data::{ClassId, Dataset, Schema};
use crate::error::{DataProblem, Error, Result};
use crate::params::{Checked, Params};

/// How [`Generator::label_swap`] makes its rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LabelSwapParams {
    /// Pairs of labels that are exchanged, such as `[["1", "7"]]`; each label once at most.
    pub swap: Vec<[String; 2]>,
    /// Seed of the order of the rows: same seed, same rows.
    pub seed: u64,
}

impl Params for LabelSwapParams {
    fn rules(&self) -> Result<()> {
        let labels: Vec<&String> = self.swap.iter().flatten().collect();
        match labels.iter().enumerate().find(|(i, label)| labels[..*i].contains(label)) {
            Some((_, label)) => {
                Err(Error::param("swap", "each label once at most", format!("{label:?} twice")))
            }
            None => Ok(()),
        }
    }
}

impl Generator {
    /// The rows of a data set, whose weights are left aside, in random order, all of them before any comes again in a new order. Each
    /// change exchanges the labels of the pairs given; the next change takes that back.
    pub fn label_swap(
        mut data: Dataset,
        params: &Checked<LabelSwapParams>,
        schedule: Schedule,
    ) -> Result<Self> {
        if data.n_rows() == 0 {
            return Err(DataProblem::Empty.into());
        }
        if data.schema.target.is_none() {
            let name = free_name(&data.schema);
            data.edit(|data| data.schema.target = Some(name))?;
        }
        let labels = &data.schema.labels;
        let class = |label: &str| {
            let expected = || format!("labels of the data ({})", labels.names().join(", "));
            labels.get(label).ok_or_else(|| Error::param("swap", expected(), format!("{label:?}")))
        };
        let LabelSwapParams { swap, seed } = params.get();
        let mut swapped: Vec<ClassId> = (0..labels.len() as u32).map(ClassId).collect();
        for [a, b] in swap {
            swapped.swap(class(a)?.index(), class(b)?.index());
        }
        let order: Vec<usize> = (0..data.n_rows()).collect();
        let source = LabelSwap { swapped, next: order.len(), order, data };
        Ok(Self::new(source.data.schema.clone(), *seed, schedule, source))
    }
}

struct LabelSwap {
    data: Dataset,
    /// The class that each class has become, in every second concept.
    swapped: Vec<ClassId>,
    order: Vec<usize>,
    next: usize,
}

impl Source for LabelSwap {
    fn next_into(&mut self, concept: u64, draws: &mut Draws, row: &mut Vec<f32>) -> ClassId {
        if self.next == self.order.len() {
            draws.features.shuffle(&mut self.order);
            self.next = 0;
        }
        let place = self.order[self.next];
        self.next += 1;
        row.resize(self.data.schema.n_features(), 0.0);
        self.data.features.copy_rows(place..place + 1, row);
        let class = self.data.labels()[place];
        if concept.is_multiple_of(2) { class } else { self.swapped[class.index()] }
    }
}

/// `class`, or something like it where a column is called that.
fn free_name(schema: &Schema) -> String {
    let mut name = "class".to_string();
    while schema.columns.iter().any(|column| column.name == name) {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::Changes;
    use crate::testing::blobs;

    fn params(pairs: &[[&str; 2]]) -> LabelSwapParams {
        LabelSwapParams { swap: pairs.iter().map(|pair| pair.map(String::from)).collect(), seed: 4 }
    }

    /// The true class and the given one of each of `n` rows of 100 blobs; the first feature tells the row.
    fn classes(schedule: Schedule, n: usize) -> Vec<(u32, u32)> {
        let data = blobs(100, 2, 5, 1);
        let find = |x: f32| (0..100).find(|&row| data.features.value(row, 0) == x).unwrap();
        let pairs = params(&[["1", "3"], ["0", "4"]]).check().unwrap();
        let mut stream = Generator::label_swap(data.clone(), &pairs, schedule).unwrap();
        let mut row = Vec::new();
        (0..n)
            .map(|_| {
                let given = stream.next_into(&mut row);
                (data.labels()[find(row[0])].0, given.0)
            })
            .collect()
    }

    #[test]
    fn labels_are_exchanged_from_the_change_on() {
        let seen = classes(Schedule::abrupt(Changes::at(vec![150]).unwrap()), 400);
        assert!(seen[..150].iter().all(|(truth, given)| truth == given));
        let exchanged = [4, 3, 2, 1, 0];
        assert!(seen[150..].iter().all(|&(truth, given)| exchanged[truth as usize] == given));
    }

    #[test]
    fn the_next_change_takes_it_back() {
        let seen = classes(Schedule::abrupt(Changes::every(100).unwrap()), 300);
        assert!(seen[200..].iter().all(|(truth, given)| truth == given));
    }

    #[test]
    fn all_rows_come_before_any_comes_again() {
        let data = blobs(60, 2, 3, 1);
        let mut stream =
            Generator::label_swap(data, &params(&[]).check().unwrap(), Schedule::none()).unwrap();
        let mut rounds = Vec::new();
        for _ in 0..3 {
            let part = stream.dataset(60).unwrap();
            let mut values: Vec<f32> = (0..60).map(|row| part.features.value(row, 0)).collect();
            rounds.push(values.clone());
            values.sort_by(f32::total_cmp);
            values.dedup();
            assert_eq!(values.len(), 60);
        }
        assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2], "the order is drawn anew");
    }

    #[test]
    fn labels_that_cannot_be_exchanged_are_refused() {
        let none = Generator::label_swap(
            blobs(9, 2, 3, 1),
            &params(&[["0", "7"]]).check().unwrap(),
            Schedule::none(),
        );
        let message = none.err().unwrap().to_string();
        assert_eq!(message, "parameter swap: expected labels of the data (0, 1, 2), got \"7\"");
        assert!(params(&[["0", "1"], ["1", "2"]]).check().is_err());
        assert!(params(&[["0", "0"]]).check().is_err());
        let empty = blobs(9, 2, 3, 1).select(&[]);
        assert!(Generator::label_swap(empty, &params(&[]).check().unwrap(), Schedule::none()).is_err());
    }
}

//! What a model predicts everywhere, for rows of two numbers.

use std::collections::BTreeMap;

use hedgerow_core::error::check_shapes;
use hedgerow_core::traits::largest;
use hedgerow_core::{ClassId, Classifier, ColumnKind, Par, Result, Schema};
use ndarray::{Array2, ArrayView2};

use super::plot::evenly;

/// Cells a side.
const SIDE: usize = 128;
/// Cells predicted at once.
const BLOCK: usize = 2048;
/// The most rows that are drawn; of more, evenly spaced ones.
const MOST_ROWS: usize = 1_500;
/// Room around the rows, as a share of their span.
const MARGIN: f64 = 0.12;
/// Where the rows in the middle span less than this share of all, the map is about those in the middle.
const CORE: f64 = 0.2;

/// The most probable class of every place, for a model of two columns of numbers, with rows it was fitted to or evaluated on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DecisionMap {
    /// Which rows are drawn, in a sentence.
    pub text: String,
    /// The names of the columns: across and up.
    pub columns: [String; 2],
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The values from which and up to which the map goes, across and up.
    pub span: [[f64; 2]; 2],
    /// Cells a side.
    pub side: usize,
    /// The predictions, row after row, from the top.
    pub cells: Vec<Cell>,
    /// How many rows there are.
    pub n_rows: usize,
    /// Rows with their classes; of many, some.
    pub rows: Vec<([f32; 2], ClassId)>,
    /// Rows that predictions are computed from, for models that have such rows, with their classes where they are known.
    pub active: Vec<([f32; 2], Option<ClassId>)>,
}

/// The rows of a map.
#[derive(Debug, Clone, Copy)]
pub struct MapRows<'a> {
    /// Rows to draw, and around which the map lies.
    pub x: ArrayView2<'a, f32>,
    /// Their classes.
    pub labels: &'a [ClassId],
    /// Rows that the model's predictions are computed from, if it has such rows.
    pub active: Option<ArrayView2<'a, f32>>,
}

/// The prediction at one place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The most probable class.
    pub class: ClassId,
    /// How probable it is.
    pub probability: f32,
}

impl DecisionMap {
    /// Asks a model about all places around some rows. None where rows are not two numbers, or there is nothing to draw.
    pub fn new(
        model: &dyn Classifier,
        schema: &Schema,
        rows: &MapRows<'_>,
        par: &Par,
    ) -> Result<Option<Self>> {
        let MapRows { x, labels, active } = *rows;
        let [across, up] = schema.columns.as_slice() else { return Ok(None) };
        let is_numeric = [across, up].iter().all(|column| column.kind == ColumnKind::Numeric);
        if !is_numeric || schema.n_classes() == 0 {
            return Ok(None);
        }
        check_shapes([
            ("feature columns", 2, x.ncols()),
            ("columns of active rows", 2, active.map_or(2, |active| active.ncols())),
            ("labels", x.nrows(), labels.len()),
        ])?;
        let pairs = |x: ArrayView2<'_, f32>| -> Vec<[f32; 2]> {
            x.rows().into_iter().map(|row| [row[0], row[1]]).collect()
        };
        let known = |row: &[f32; 2]| row.iter().all(|v| v.is_finite());
        let rows: Vec<([f32; 2], ClassId)> =
            pairs(x).into_iter().zip(labels.iter().copied()).filter(|(row, _)| known(row)).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let classes: BTreeMap<[u32; 2], ClassId> =
            rows.iter().map(|(row, class)| (bits(*row), *class)).collect();
        let active = active.map_or_else(Vec::new, pairs).into_iter().filter(known);
        let span = [0, 1].map(|d| span(rows.iter().map(|(row, _)| f64::from(row[d])).collect()));
        let mut map = Self {
            columns: [across.name.clone(), up.name.clone()],
            classes: schema.labels.names().to_vec(),
            span,
            side: SIDE,
            n_rows: x.nrows(),
            rows: evenly(&rows, MOST_ROWS),
            active: active.map(|row| (row, classes.get(&bits(row)).copied())).collect(),
            ..Self::default()
        };
        map.rows.retain(|(row, _)| is_inside(&span, *row));
        map.active.retain(|(row, _)| is_inside(&span, *row));
        map.cells = map.ask(model, par)?;
        Ok(Some(map))
    }

    fn ask(&self, model: &dyn Classifier, par: &Par) -> Result<Vec<Cell>> {
        let n = self.side * self.side;
        let mut cells = Vec::with_capacity(n);
        for start in (0..n).step_by(BLOCK) {
            let end = (start + BLOCK).min(n);
            let x = Array2::from_shape_fn((end - start, 2), |(i, d)| self.center(start + i)[d]);
            let proba = model.predict_proba(x.view(), par)?;
            cells.extend(proba.rows().into_iter().map(|row| {
                let class = largest(row).unwrap_or(0);
                Cell { class: ClassId(class as u32), probability: row.get(class).map_or(0.0, |p| *p as f32) }
            }));
        }
        Ok(cells)
    }

    /// The place of a cell's middle.
    pub(super) fn center(&self, cell: usize) -> [f32; 2] {
        let share = |i: usize| (i as f64 + 0.5) / self.side as f64;
        let at = |[low, high]: [f64; 2], share: f64| {
            (low + (high - low) * share).clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
        };
        [at(self.span[0], share(cell % self.side)), at(self.span[1], 1.0 - share(cell / self.side))]
    }

    /// How certain a prediction is: 0 where every class is as probable, 1 where one is sure.
    pub(super) fn strength(&self, cell: Cell) -> f64 {
        let even = 1.0 / self.classes.len().max(1) as f64;
        if even >= 1.0 { 1.0 } else { ((f64::from(cell.probability) - even) / (1.0 - even)).clamp(0.0, 1.0) }
    }
}

/// From the smallest value to the largest with room on both sides, but not as far as lone values far away.
fn span(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    let (mut low, mut high) = (at(0.0), at(1.0));
    let (inner_low, inner_high) = (at(0.01), at(0.99));
    if inner_high > inner_low && inner_high - inner_low < CORE * (high - low) {
        (low, high) = (inner_low, inner_high);
    }
    let width = if high > low { high - low } else { low.abs().max(1.0) };
    [low - MARGIN * width, high + MARGIN * width]
}

fn bits(row: [f32; 2]) -> [u32; 2] {
    row.map(f32::to_bits)
}

fn is_inside(span: &[[f64; 2]; 2], row: [f32; 2]) -> bool {
    row.iter().zip(span).all(|(v, [low, high])| (*low..=*high).contains(&f64::from(*v)))
}

#[cfg(test)]
mod tests {
    use hedgerow_core::Column;
    use ndarray::{ArrayViewMut2, array};

    use super::*;

    /// The second class is the more probable the farther right.
    struct RightIsSecond;

    impl Classifier for RightIsSecond {
        fn n_features(&self) -> usize {
            2
        }

        fn n_classes(&self) -> usize {
            2
        }

        fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, _: &Par, mut out: ArrayViewMut2<'_, f64>) {
            for (row, mut prediction) in x.rows().into_iter().zip(out.rows_mut()) {
                prediction[1] = f64::from(row[0]).clamp(0.0, 1.0);
                prediction[0] = 1.0 - prediction[1];
            }
        }
    }

    fn schema() -> Schema {
        let labels = vec!["left".to_string(), "right".to_string()].into();
        Schema { columns: vec![Column::numeric("x"), Column::numeric("y")], labels, ..Schema::default() }
    }

    fn map(schema: &Schema, x: &Array2<f32>) -> Result<Option<DecisionMap>> {
        let labels = vec![ClassId(0); x.nrows()];
        let active = array![[0.5, 0.5], [f32::NAN, 0.0]];
        let rows = MapRows { x: x.view(), labels: &labels, active: Some(active.view()) };
        DecisionMap::new(&RightIsSecond, schema, &rows, &Par::sequential())
    }

    #[test]
    fn cells_hold_the_predictions_of_their_places() {
        let x = array![[0.0, -10.0], [1.0, 10.0], [f32::NAN, 3.0], [f32::INFINITY, 0.0]];
        let map = map(&schema(), &x).unwrap().unwrap();
        assert_eq!((map.rows.len(), map.active.len(), map.cells.len()), (2, 1, SIDE * SIDE));
        assert!(map.span[0][0] < 0.0 && map.span[0][1] > 1.0 && map.span[1][1] > 10.0);
        let (first, last) = (&map.cells[0], &map.cells[SIDE - 1]);
        assert_eq!((first.class, last.class), (ClassId(0), ClassId(1)));
        assert_eq!((first.probability, map.strength(*first)), (1.0, 1.0));
        assert!(map.center(0)[1] > map.center(SIDE)[1], "the first cells are at the top");
        let middle = map.cells[SIDE / 2];
        assert!((middle.probability - 0.5).abs() < 0.01 && map.strength(middle) < 0.02);
    }

    #[test]
    fn other_tables_have_no_map() {
        let x = array![[0.0, 1.0]];
        let mut other = schema();
        other.columns[1].kind = ColumnKind::Boolean { no: "0".into(), yes: "1".into() };
        assert_eq!(map(&other, &x).unwrap(), None);
        other.columns.push(Column::numeric("z"));
        assert_eq!(map(&other, &x).unwrap(), None);
        assert_eq!(map(&schema(), &Array2::zeros((0, 2))).unwrap(), None);
        assert_eq!(map(&schema(), &array![[f32::NAN, 0.0]]).unwrap(), None);
        assert!(map(&schema(), &Array2::zeros((3, 4))).is_err());
    }

    #[test]
    fn extreme_values_and_lone_rows_leave_a_map_that_can_be_read() {
        let mut x = Array2::from_shape_fn((500, 2), |(i, d)| (i % (7 + d)) as f32);
        (x[(3, 0)], x[(4, 1)]) = (1e9, f32::MAX);
        let far = map(&schema(), &x).unwrap().unwrap();
        assert!(far.span.iter().all(|[low, high]| *low > -3.0 && *high < 10.0), "{:?}", far.span);
        assert_eq!(far.rows.len(), 498);
        for x in
            [array![[f32::MIN, f32::MAX], [f32::MAX, f32::MIN]], array![[7.0, -0.0]], array![[1e-40, 1e30]]]
        {
            let map = map(&schema(), &x).unwrap().unwrap();
            assert!(map.span.iter().all(|[low, high]| low < high && low.is_finite() && high.is_finite()));
        }
    }
}

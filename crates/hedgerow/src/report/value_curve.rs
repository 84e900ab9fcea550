//! The fit of a model of values over its one column: the curve, the band that should hold 90 % of the values, the relevant rows.

use hedgerow_core::{ColumnKind, Par, Regressor, Result, Schema};
use ndarray::{Array2, ArrayView2};

use super::axis::{Axis, ends};
use super::html::{element, paragraph};
use super::number::short;
use super::plot::{Plot, evenly};
use super::section::Section;

/// Places at which the curve is computed.
const POINTS: usize = 240;
/// Rows that are drawn, at most.
const MOST_ROWS: usize = 1500;
/// Half the width, in deviations, of the interval that holds 90 % of a normal distribution.
const NINETY: f64 = 1.644_853_626_951_472_2;

/// A curve with its band and the rows it is about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueCurve {
    /// Which rows are drawn, in a few words.
    pub text: String,
    /// What the column and the target are called.
    pub names: [String; 2],
    /// Place, prediction, lower and upper end of the band.
    pub curve: Vec<[f64; 4]>,
    /// Place and value of rows.
    pub rows: Vec<(f64, f64)>,
    /// Place and value of relevant rows.
    pub relevant: Vec<(f64, f64)>,
}

impl ValueCurve {
    /// Asks a model everywhere around some rows; none unless rows are one number.
    pub fn new(
        model: &dyn Regressor,
        schema: &Schema,
        (x, values): (ArrayView2<'_, f32>, &[f64]),
        relevant: ArrayView2<'_, f32>,
        par: &Par,
    ) -> Result<Option<Self>> {
        let is_plain = schema.n_features() == 1 && schema.columns[0].kind == ColumnKind::Numeric;
        if !is_plain || x.ncols() != 1 {
            return Ok(None);
        }
        let places: Vec<f64> = x.column(0).iter().map(|v| f64::from(*v)).collect();
        if !places.iter().any(|v| v.is_finite()) {
            return Ok(None);
        }
        let [low, high] = ends(places.iter().copied());
        let margin = 0.08 * (high - low).max(1e-9);
        let step = (high - low + 2.0 * margin) / (POINTS - 1) as f64;
        let grid = Array2::from_shape_fn((POINTS, 1), |(i, _)| (low - margin + i as f64 * step) as f32);
        let predictions = model.predict_values(grid.view(), par)?;
        let curve = (0..POINTS).map(|i| {
            let (mean, half) = (predictions.mean[i], NINETY * predictions.variance[i].max(0.0).sqrt());
            [f64::from(grid[(i, 0)]), mean, mean - half, mean + half]
        });
        let both: Vec<(f64, f64)> = places.into_iter().zip(values.iter().copied()).collect();
        // A relevance vector is drawn where the data have it, or on the curve where they do not.
        let at_relevant = model.predict_values(relevant, par)?;
        let value = |(i, x): (usize, &f32)| {
            let x = f64::from(*x);
            let own = both.iter().find(|(place, _)| *place == x);
            (x, own.map_or(at_relevant.mean[i], |(_, value)| *value))
        };
        let is_known = |(x, _): &(f64, f64)| x.is_finite();
        let relevant = relevant.column(0).iter().enumerate().map(value).filter(is_known).collect();
        Ok(Some(Self {
            text: String::new(),
            names: [schema.columns[0].name.clone(), schema.target.clone().unwrap_or_else(|| "value".into())],
            curve: curve.collect(),
            rows: evenly(&both, MOST_ROWS).into_iter().filter(is_known).collect(),
            relevant,
        }))
    }

    pub(super) fn section(&self) -> Section {
        let rings = match self.relevant.len() {
            0 => String::new(),
            n => format!(" rings mark the {n} relevant rows,"),
        };
        let [column, target] = &self.names;
        let text = self.text.trim_end_matches('.');
        let lead =
            format!("{text} ({target} over {column});{rings} the band should hold 90 % of the values.");
        let heights = self.curve.iter().flat_map(|p| [p[2], p[3]]).chain(self.rows.iter().map(|r| r.1));
        let mut plot = Plot::new(
            Axis::between(ends(self.curve.iter().map(|p| p[0])), 8),
            Axis::between(ends(heights), 6),
        );
        let upper = self.curve.iter().map(|p| (p[0], p[3]));
        let lower = self.curve.iter().rev().map(|p| (p[0], p[2]));
        plot.shape("band", &format!("{}Z", plot.outline(upper.chain(lower))));
        plot.dots("value", self.rows.iter().copied());
        plot.line("a", &self.curve.iter().map(|p| (p[0], p[1])).collect::<Vec<_>>());
        plot.dots("ring", self.relevant.iter().copied());
        plot.dots("relevant", self.relevant.iter().copied());
        plot.y_labels(short);
        plot.x_labels(short, "");
        let panel = plot.panel("", "height:360px", "fitted curve with its band");
        Section::new("values", "Fit", true, paragraph("lead", &lead) + &element("div", "panels", [panel]))
    }
}

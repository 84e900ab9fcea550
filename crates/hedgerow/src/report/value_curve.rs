//! The fit of a model of values over its one column: the curve, the band that should hold 90 % of the values, the relevant rows.

use hedgerow_core::{ColumnKind, Par, Regressor, Result, Schema};
use ndarray::{Array2, ArrayView2};

use super::axis::Axis;
use super::block::Block;
use super::number::short;
use super::plot::{Frame, number};

/// Places at which the curve is asked for.
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
        let finite = || places.iter().copied().filter(|v| v.is_finite());
        let (low, high) =
            (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        if low > high {
            return Ok(None);
        }
        let margin = 0.08 * (high - low).max(1e-9);
        let step = (high - low + 2.0 * margin) / (POINTS - 1) as f64;
        let grid = Array2::from_shape_fn((POINTS, 1), |(i, _)| (low - margin + i as f64 * step) as f32);
        let predictions = model.predict_values(grid.view(), par)?;
        let of = |i: usize| {
            let half = NINETY * predictions.variance[i].max(0.0).sqrt();
            [
                f64::from(grid[(i, 0)]),
                predictions.mean[i],
                predictions.mean[i] - half,
                predictions.mean[i] + half,
            ]
        };
        let both = places.iter().copied().zip(values.iter().copied());
        let thin = places.len().div_ceil(MOST_ROWS).max(1);
        let rows = both.clone().step_by(thin).filter(|(x, _)| x.is_finite()).collect();
        // A relevance vector is drawn where the data have it, or on the curve where they do not.
        let at_relevant = model.predict_values(relevant, par)?;
        let value = |(i, x): (usize, &f32)| {
            let x = f64::from(*x);
            let own = both.clone().find(|(place, _)| *place == x);
            (x, own.map_or(at_relevant.mean[i], |(_, value)| value))
        };
        let relevant =
            relevant.column(0).iter().enumerate().map(value).filter(|(x, _)| x.is_finite()).collect();
        Ok(Some(Self {
            text: String::new(),
            names: [schema.columns[0].name.clone(), schema.target.clone().unwrap_or_else(|| "value".into())],
            curve: (0..POINTS).map(of).collect(),
            rows,
            relevant,
        }))
    }

    pub(super) fn block(&self) -> Block {
        let mut block = Block::wide("values", "Fit");
        let rings = match self.relevant.len() {
            0 => String::new(),
            n => format!(" rings mark the {n} relevant rows,"),
        };
        let text = format!(
            "{} ({} over {});{rings} the band should hold 90 % of the values.",
            self.text.trim_end_matches('.'),
            self.names[1],
            self.names[0],
        );
        block.body.paragraph("lead", &text);
        let ends = |values: Vec<f64>| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            [low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max)]
        };
        let heights = self.curve.iter().flat_map(|p| [p[2], p[3]]).chain(self.rows.iter().map(|r| r.1));
        let frame = Frame {
            x: Axis::between(ends(self.curve.iter().map(|p| p[0]).collect()), 8),
            y: Axis::between(ends(heights.filter(|v| v.is_finite()).collect()), 6),
        };
        let html = &mut block.body;
        html.add(format_args!("<div class=\"panels\"><div class=\"panel last\">\n"));
        frame.open("height:360px", "fitted curve with its band", html);
        let upper = self.curve.iter().map(|p| (p[0], p[3]));
        let lower = self.curve.iter().rev().map(|p| (p[0], p[2]));
        let mut path = String::new();
        for (i, (x, y)) in upper.chain(lower).enumerate() {
            let step = if i == 0 { 'M' } else { 'L' };
            path.push_str(&format!("{step}{} {}", number(frame.across(x)), number(frame.down(y))));
        }
        html.add(format_args!("<path class=\"band\" d=\"{path}Z\"/>\n"));
        frame.dots("value", &self.rows, html);
        let middle: Vec<(f64, f64)> = self.curve.iter().map(|p| (p[0], p[1])).collect();
        frame.line("a", &middle, html);
        frame.dots("ring", &self.relevant, html);
        frame.dots("relevant", &self.relevant, html);
        Frame::end_shapes(html);
        frame.y_labels(short, html);
        frame.x_labels(short, html);
        Frame::close(html);
        html.add(format_args!("</div></div>\n"));
        block
    }
}

//! Where predictions are uncertain, and why: maps of aleatoric and epistemic uncertainty, for rows of two numbers.

use hedgerow_core::{About, Par, RelativeEvidence, Result, SecondOrder};
use ndarray::Array2;

use super::axis::Axis;
use super::decision_map::DecisionMap;
use super::decision_view::{Frame, tick_text};
use super::html::{clip, element, paragraph};
use super::png;
use super::section::Section;

/// Places predicted at once.
const BLOCK: usize = 2048;
/// The color where there is most uncertainty, and how opaque it is there.
const COLOR: [u8; 3] = [124, 58, 150];
const MOST_OPAQUE: f64 = 0.85;

/// How uncertain a model is everywhere: beside its [`DecisionMap`].
#[derive(Debug, Clone, PartialEq)]
pub struct UncertaintyMaps {
    map: DecisionMap,
    /// The parts of each place as shares of the most there can be, row after row, from the top: aleatoric, epistemic.
    shares: [Vec<f32>; 2],
}

/// A part of uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UncertaintyPart {
    /// What stays when the class probabilities are known.
    Aleatoric,
    /// What comes from too few rows nearby.
    Epistemic,
}

impl UncertaintyMaps {
    /// Asks a model about all places of a map.
    pub fn new(map: &DecisionMap, model: &dyn RelativeEvidence, par: &Par) -> Result<Self> {
        let (n, n_classes) = (map.side * map.side, map.classes.len());
        let prior = 1.0 / n_classes.max(1) as f64;
        let nothing = Array2::from_elem((1, n_classes), prior);
        let most = SecondOrder::dirichlet(About::RelativeEvidence, nothing, prior)?.entropies();
        // The part that noise explains is the entropy of classes that are all alike, at most.
        let first = |values: &[f64]| values.first().copied().unwrap_or(0.0);
        let most = [first(&most.total), first(&most.epistemic)];
        let share =
            |value: f64, most: f64| if most > 0.0 { (value / most).clamp(0.0, 1.0) as f32 } else { 0.0 };
        let mut shares = [Vec::with_capacity(n), Vec::with_capacity(n)];
        for start in (0..n).step_by(BLOCK) {
            let end = (start + BLOCK).min(n);
            let x = Array2::from_shape_fn((end - start, 2), |(i, d)| map.center(start + i)[d]);
            let parts = model.predict_evidence(x.view(), par)?.entropies();
            shares[0].extend(parts.aleatoric.iter().map(|value| share(*value, most[0])));
            shares[1].extend(parts.epistemic.iter().map(|value| share(*value, most[1])));
        }
        Ok(Self { map: map.clone(), shares })
    }

    pub(super) fn section(&self) -> Section {
        let lead = "Aleatoric uncertainty comes from classes that lie in one place: more rows do not take it away. Epistemic uncertainty comes \
                    from too few rows nearby: its color is full where there are none. It compares places, and is no interval of the true probability.";
        let panels = [UncertaintyPart::Aleatoric, UncertaintyPart::Epistemic].map(|part| self.panel(part));
        Section::new(
            "uncertainty",
            "Uncertainty",
            true,
            paragraph("lead", lead) + &element("div", "plane", panels),
        )
    }

    fn panel(&self, part: UncertaintyPart) -> String {
        let mut plot = self.map.dots_alone();
        let image = "<image class=\"cells\" width=\"1000\" height=\"1000\" preserveAspectRatio=\"none\"";
        plot.shapes.insert_str(0, &format!("{image} href=\"{}\"/>\n", self.picture(part)));
        let (x, y): (Axis, Axis) = (plot.x, plot.y);
        plot.y_labels(|tick| tick_text(tick, &y));
        plot.x_labels(|tick| tick_text(tick, &x), &clip(&self.map.columns[0], 60));
        let heading = format!("<h3>{}: {}</h3>\n", part.name(), clip(&self.map.columns[1], 60));
        plot.panel(&heading, "aspect-ratio:1", &format!("{} uncertainty by place", part.name()))
    }

    /// One of the maps as a picture of its own: one SVG file that needs nothing else.
    pub fn to_svg(&self, part: UncertaintyPart, title: &str) -> String {
        let plot = self.map.dots_alone();
        let frame = Frame { title, picture: self.picture(part), plot: &plot, legend: Vec::new() };
        frame.to_svg(&self.map)
    }

    /// How much of the most possible uncertainty there is at each place, row after row, from the top.
    pub fn shares(&self, part: UncertaintyPart) -> &[f32] {
        &self.shares[part as usize]
    }

    fn picture(&self, part: UncertaintyPart) -> String {
        let [red, green, blue] = COLOR;
        let pixel = |share: &f32| [red, green, blue, (255.0 * MOST_OPAQUE * f64::from(*share)).round() as u8];
        let pixels: Vec<[u8; 4]> = self.shares(part).iter().map(pixel).collect();
        png::data_uri([self.map.side, self.map.side], 4, pixels.as_flattened())
    }
}

impl UncertaintyPart {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aleatoric => "Aleatoric",
            Self::Epistemic => "Epistemic",
        }
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::{ClassId, Classifier, Column, Schema};
    use ndarray::{ArrayView2, ArrayViewMut2, array};

    use super::super::MapRows;
    use super::*;

    /// Ten labels of each class up to 0, none beyond.
    struct Left;

    impl Classifier for Left {
        fn n_features(&self) -> usize {
            2
        }

        fn n_classes(&self) -> usize {
            2
        }

        fn predict_proba_impl(&self, _: ArrayView2<'_, f32>, _: &Par, mut out: ArrayViewMut2<'_, f64>) {
            out.fill(0.5);
        }
    }

    impl RelativeEvidence for Left {
        fn predict_evidence_impl(&self, x: ArrayView2<'_, f32>, _: &Par) -> Result<SecondOrder> {
            let of = |(row, _): (usize, usize)| if x[(row, 0)] <= 0.0 { 10.5 } else { 0.5 };
            SecondOrder::dirichlet(About::RelativeEvidence, Array2::from_shape_fn((x.nrows(), 2), of), 0.5)
        }
    }

    #[test]
    fn places_are_uncertain_for_their_own_reasons() {
        let labels = vec!["a".to_string(), "b".to_string()].into();
        let columns = vec![Column::numeric("x"), Column::numeric("y")];
        let schema = Schema { columns, labels, ..Schema::default() };
        let x = array![[-1.0, -1.0], [1.0, 1.0]];
        let rows = MapRows { x: x.view(), labels: &[ClassId(0), ClassId(1)], active: None };
        let par = Par::sequential();
        let map = DecisionMap::new(&Left, &schema, &rows, &par).unwrap().unwrap();
        let maps = UncertaintyMaps::new(&map, &Left, &par).unwrap();
        let [aleatoric, epistemic] =
            [UncertaintyPart::Aleatoric, UncertaintyPart::Epistemic].map(|p| maps.shares(p));
        assert_eq!((aleatoric.len(), epistemic.len()), (map.cells.len(), map.cells.len()));
        let last = map.side - 1;
        assert!(aleatoric[0] > 0.9 && epistemic[0] < 0.1, "{} {}", aleatoric[0], epistemic[0]);
        assert!(aleatoric[last] < 0.7 && (epistemic[last] - 1.0).abs() < 1e-6);
        let html = maps.section();
        assert!(html.body.matches("<image").count() == 2 && html.body.contains("Epistemic"));
        assert!(maps.to_svg(UncertaintyPart::Epistemic, "<title>").contains("&lt;title&gt;"));
    }
}

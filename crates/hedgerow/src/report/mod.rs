//! A page about a model: one HTML file with everything in it, to look at, to send and to print.
//!
//! [`Page`] is a plain struct. The caller fills what there is; what is left empty leaves no trace on the page. The file
//! needs no network, and all but the switch between light and dark works without scripts.
//!
//! ```
//! use hedgerow::core::{ClassId, Schema};
//! use hedgerow::report::{Predictions, Page};
//!
//! let mut schema = Schema::unnamed(1);
//! schema.labels = vec!["cat".to_string(), "dog".to_string()].into();
//! let proba = ndarray::array![[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]];
//! let truth = [ClassId(0), ClassId(1), ClassId(1)];
//!
//! let mut page = Page { title: "Cats and dogs".into(), ..Page::default() };
//! page.facts.push(("Trees".into(), "100".into()));
//! page.evaluate(&Predictions::new(proba.view(), &truth, &schema))?;
//! assert!(page.to_html().contains("Confusion matrix"));
//! # Ok::<(), hedgerow::core::Error>(())
//! ```

mod axis;
mod bars;
mod class_bars;
mod class_table;
mod comparison;
mod confusion;
mod curve;
mod decision_map;
mod decision_view;
mod html;
mod hues;
mod importances;
mod interval;
mod marks;
mod number;
mod page;
mod picture;
mod plot;
mod png;
mod predictions;
mod rejection;
mod reliability;
mod scores;
mod section;
mod sets;
mod strategies;
#[cfg(test)]
mod tests;
mod uncertain;
mod uncertainty_map;
mod value_curve;

pub use class_bars::{ClassBars, Example};
pub use class_table::ClassRow;
pub use comparison::Comparison;
pub use confusion::{Confusion, Pair};
pub use curve::{CurvePoint, LearningCurve};
pub use decision_map::{Cell, DecisionMap, MapRows};
pub use importances::Importances;
pub use marks::{Mark, MarkKind};
pub use page::Page;
pub use picture::Picture;
pub use predictions::Predictions;
pub use reliability::Reliability;
pub use scores::Scores;
pub use sets::Sets;
pub use strategies::{QueryMap, RankDiagram, StrategyCurves, StrategyPoint};
pub use uncertain::{LeastSure, Look, UncertainRow};
pub use uncertainty_map::{UncertaintyMaps, UncertaintyPart};
pub use value_curve::ValueCurve;

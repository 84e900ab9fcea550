//! What a model is made of, as results, reports and JSON show it.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::blend_report::BlendReport;
use crate::text::{count, significant};

/// Parameters of a kernel that are shown one by one, at most.
const MOST_SHOWN: usize = 6;

/// What a model is made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// What it is made of, in two or three words: `100 trees`.
    pub parts: String,
    /// The rest, in a line.
    pub details: String,
    /// Named values for JSON.
    pub values: Map<String, Value>,
    /// Titles and values for a page.
    pub facts: Vec<(&'static str, String)>,
    /// Kernel parameters by the names that settings have.
    pub kernel: Vec<(String, f64)>,
    /// How much each column of the table matters, where the model can tell.
    pub importances: Option<Vec<f64>>,
    /// What blending a forest with Gaussian processes changed, where the model does that.
    pub comparison: Option<Comparison>,
    /// What is told only where a model is looked at closely.
    pub closely: Closely,
}

/// More about what a model is made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Closely {
    /// Named values for JSON.
    pub values: Map<String, Value>,
    /// Lines of text.
    pub lines: Vec<String>,
}

impl Closely {
    /// Adds a named value for JSON.
    #[must_use]
    pub fn value(mut self, name: &str, value: impl Serialize) -> Self {
        self.values.insert(name.into(), serde_json::to_value(value).unwrap_or_default());
        self
    }

    /// Adds a line of text.
    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }
}

/// A forest alone and blended with something, on out-of-sample predictions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// What it is blended with: one, and several.
    pub partners: [&'static str; 2],
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Counts.
    pub report: BlendReport,
}

impl Summary {
    /// A summary of a model that is made of these parts.
    pub fn new(parts: impl Into<String>) -> Self {
        Self { parts: parts.into(), ..Self::default() }
    }

    /// Adds a named value for JSON.
    #[must_use]
    pub fn value(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }

    /// Adds a number of things: to JSON under its name, to pages under its title.
    #[must_use]
    pub fn count(self, name: &str, title: &'static str, n: usize) -> Self {
        self.value(name, n as u64).fact(title, count(n as u64))
    }

    /// Adds a title and a value for a page.
    #[must_use]
    pub fn fact(mut self, title: &'static str, value: String) -> Self {
        self.facts.push((title, value));
        self
    }

    /// Adds what a blend changed: to JSON and to pages.
    #[must_use]
    pub fn comparison(
        mut self,
        partners: [&'static str; 2],
        report: &BlendReport,
        classes: &[String],
    ) -> Self {
        self = self.value("comparison", report.to_json(classes));
        self.comparison = Some(Comparison { partners, classes: classes.to_vec(), report: report.clone() });
        self
    }

    /// Adds the exponents of a blend of a forest and a Gaussian process, if there is one.
    #[must_use]
    pub fn blend(self, exponents: Option<[f64; 2]>) -> Self {
        match exponents {
            Some([forest, gp]) => self.value("blend", json!({ "forest": forest, "gp": gp })),
            None => self,
        }
    }

    /// Adds the deviation of the noise, in units of the target, to JSON, to pages and to the details.
    #[must_use]
    pub fn noise(mut self, deviation: f64) -> Self {
        let words = significant(deviation);
        self.details = format!("{}; noise {words}", self.details);
        self.value("noise_deviation", deviation).fact("Noise", words)
    }

    /// Adds the line of details.
    #[must_use]
    pub fn details(mut self, details: String) -> Self {
        self.details = details;
        self
    }

    /// Adds the parameters of the kernel: to JSON, to pages, and to the details.
    #[must_use]
    pub fn kernel(mut self, kernel: Vec<(String, f64)>) -> Self {
        let words = if kernel.len() > MOST_SHOWN {
            format!("kernel with {} parameters", kernel.len())
        } else if kernel.is_empty() {
            "no kernel yet".into()
        } else {
            let mut sorted = kernel.clone();
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            let each: Vec<String> =
                sorted.iter().map(|(name, v)| format!("{name} {}", significant(*v))).collect();
            format!("kernel: {}", each.join(", "))
        };
        self.details = if self.details.is_empty() { words } else { format!("{}; {words}", self.details) };
        let titles = [
            ("length_scale", "Length scale"),
            ("signal_variance", "Signal variance"),
            ("noise_variance", "Noise variance"),
        ];
        for (name, title) in titles {
            if let Some((_, value)) = kernel.iter().find(|(known, _)| known == name) {
                self.facts.push((title, significant(*value)));
            }
        }
        let values: Map<String, Value> = kernel.iter().map(|(name, v)| (name.clone(), (*v).into())).collect();
        self.kernel = kernel;
        self.value("kernel", values)
    }
}

/// The named values.
impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.values.serialize(serializer)
    }
}

/// Length scale and signal variance by name; nothing where there is no kernel yet.
pub fn length_and_variance(kernel: Option<[f64; 2]>) -> Vec<(String, f64)> {
    let names = ["length_scale", "signal_variance"];
    kernel.map(|values| names.iter().map(ToString::to_string).zip(values).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_told_by_the_names_that_settings_have() {
        let summary = Summary::new("1,200 active rows")
            .count("active_rows", "Active rows", 1_200)
            .kernel(length_and_variance(Some([0.5, 8.0])));
        assert_eq!(summary.details, "kernel: length_scale 0.5, signal_variance 8");
        assert_eq!(summary.values["active_rows"], 1_200);
        assert_eq!(summary.values["kernel"]["length_scale"], 0.5);
        assert_eq!(summary.facts[0], ("Active rows", "1,200".into()));
        assert_eq!(Summary::new("").kernel(Vec::new()).details, "no kernel yet");
    }
}

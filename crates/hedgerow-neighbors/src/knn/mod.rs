//! Nearest neighbours with a second-order distribution.
//!
//! The k nearest rows alone say nothing about how near they are. Rows of no class, spread evenly over the space of rows, push neighbors that are far
//! away out of the k nearest: drawn (data-driven confidence k-NN) or by their probability (probabilistic confidence k-NN). What is left of the
//! k are the counts of a Dirichlet distribution, which far from all rows is the prior (Röder, 2013, Active learning: new approaches, and industrial
//! applications, sections 3.3 and 3.4).

mod background;
mod choice;
mod params;
mod settings;
mod weights;

pub use params::{KnnMethod, KnnParams};
use settings::KnnSettings;

use hedgerow_core::saved::require;
use hedgerow_core::text::significant;
use hedgerow_core::{KindInfo, Renewed, Result, Summary};

use crate::leave_one_out::LeaveOneOut;
use crate::method::{Common, Method, Near};
use crate::metric::Metric;
use crate::model::NeighborClassifier;
use crate::nearest::{Neighbor, nearest};
use crate::points::Points;

/// A classifier of nearest neighbours.
pub type KnnClassifier = NeighborClassifier<KnnParams>;

impl Method for KnnParams {
    type Settings = KnnSettings;

    const INFO: KindInfo = KindInfo {
        name: "knn",
        about: "Nearest neighbours, which tell how much evidence there is near a row: for up to tens of thousands of rows",
        noun: "a classifier of nearest neighbours",
        work: "choosing neighbours",
        params: "KnnParams",
        renewed: Renewed::SETTINGS,
        learns_at_once: true,
        ..KindInfo::LEARNER
    };

    fn common(&self) -> Common {
        Common { metric: self.metric, prior: self.prior, max_rows: self.max_rows, seed: self.seed }
    }

    fn choose(&self, rows: &LeaveOneOut<'_>) -> (KnnSettings, usize) {
        choice::choose(self, rows)
    }

    fn evidence(&self, settings: &KnnSettings, near: &Near<'_>, out: &mut [f64]) {
        if self.method == KnnMethod::Epsilon {
            return within_radius(settings.radius, self.metric, near, out);
        }
        self.of_neighbors(settings, near, &nearest(near.distances, settings.k), out);
    }

    fn tells_like_even(&self) -> bool {
        self.method == KnnMethod::Probabilistic
    }

    fn complete(&self, settings: &mut KnnSettings, points: &Points) -> Result<()> {
        let width = points.width();
        let fits = (1..=10_000).contains(&settings.k)
            && (1..=width.max(1)).contains(&settings.dimensions)
            && settings.log_reach.is_finite()
            && (0.0..=1e30).contains(&settings.radius)
            && settings.background.is_some() == (self.method == KnnMethod::DataDriven);
        require(fits, || "numbers of neighbors, dimensions or distances that cannot be")?;
        settings.background.as_mut().map_or(Ok(()), |background| background.complete(width, self.seed))
    }

    fn summarize(settings: &KnnSettings, summary: Summary) -> Summary {
        let summary = match settings.radius {
            0.0 => summary.count("k", "Neighbours", settings.k).details(format!("{} neighbours", settings.k)),
            radius => {
                let words = significant(radius);
                let details = format!("rows up to the distance {words}");
                summary.value("radius", radius).fact("Radius", words).details(details)
            }
        };
        match &settings.background {
            Some(background) => summary.count("artificial_rows", "Artificial rows", background.n),
            None => summary,
        }
    }

    fn bytes(settings: &KnnSettings) -> usize {
        settings.background.as_ref().map_or(0, |background| background.points.bytes())
    }
}

impl KnnParams {
    /// The labels near a row by its neighbors, the nearest first.
    fn of_neighbors(&self, settings: &KnnSettings, near: &Near<'_>, neighbors: &[Neighbor], out: &mut [f64]) {
        out.fill(0.0);
        let add = |row: usize, weight: f64| out[near.labels[row].index()] += weight * near.weight(row);
        if let Some(background) = &settings.background {
            let mut distances = Vec::new();
            background.points.distances(self.metric, near.x, background.n, &mut distances);
            let artificial = nearest(&distances, settings.k);
            return weights::each_weight(neighbors, weights::data_driven(settings.k, &artificial), add);
        }
        let KnnSettings { k, dimensions, log_reach, .. } = *settings;
        weights::each_weight(neighbors, weights::probabilistic(k, dimensions, log_reach, self.metric), add);
    }
}

/// The weights of all rows up to a distance.
fn within_radius(radius: f64, metric: Metric, near: &Near<'_>, out: &mut [f64]) {
    let bound = metric.measured(radius);
    out.fill(0.0);
    for (row, distance) in near.distances.iter().enumerate() {
        if f64::from(*distance) <= bound {
            out[near.labels[row].index()] += near.weight(row);
        }
    }
}

#[cfg(test)]
mod tests;

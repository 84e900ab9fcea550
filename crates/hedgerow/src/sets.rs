//! Prediction sets: the classes of every row that cannot be ruled out.

use hedgerow_core::conformal::{Conformal, PredictionSets, SetOptions, Thresholds};
use hedgerow_core::error::check_shapes;
use hedgerow_core::{Error, ModelProblem, Par, Result, Rows, SetOutcome, Task, Update};
use ndarray::{ArrayView2, s};

use crate::model::Model;

impl Model {
    /// A set of classes for every row: the class of a new row is in its set with a probability of `level`, such as 0.9. On all cores.
    ///
    /// Sets come from the out-of-sample predictions of the fit, and of a model that learns from those made before its newest rows were learnt, so that they
    /// follow the rows as they change. They may be empty; [`Self::predict_sets`] has the choice, and other methods. Fails for a level that is not between 0
    /// and 1, for a regression model, and for a model that has no such predictions.
    ///
    /// ```
    /// use hedgerow::core::testing::blobs;
    ///
    /// let data = blobs(300, 3, 3, 1);
    /// let x = data.features.to_array(0..300);
    /// let sets = hedgerow::fit(x.view(), data.labels())?.predict_set(x.view(), 0.9)?;
    /// let covered = (0..300).filter(|&row| sets.classes(row).any(|class| class == data.labels()[row])).count();
    /// assert!(covered > 250 && sets.n_rows() == 300);
    /// # Ok::<(), hedgerow::core::Error>(())
    /// ```
    pub fn predict_set(&self, x: ArrayView2<'_, f32>, level: f64) -> Result<PredictionSets> {
        self.predict_sets(x, &SetOptions::new(level), &Par::shared())
    }

    /// The same with a method of one's choice.
    pub fn predict_sets(
        &self,
        x: ArrayView2<'_, f32>,
        options: &SetOptions,
        par: &Par,
    ) -> Result<PredictionSets> {
        let thresholds = self.set_thresholds(options)?;
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        Ok(thresholds.sets(self.predict_proba_par(x, par)?.view()))
    }

    /// What makes sets of probabilities that were predicted already; fails as [`Self::predict_set`] does.
    pub fn set_thresholds(&self, options: &SetOptions) -> Result<Thresholds> {
        options.check()?;
        self.uncalibrated()?;
        let conformal = self.conformal.as_ref().filter(|conformal| conformal.n_rows() > 0);
        conformal.ok_or_else(|| Error::model(ModelProblem::NoScores))?.thresholds(options)
    }

    /// How the set of a row comes out that is predicted before it is learnt.
    pub(crate) fn set_outcome(&self, proba: &[f64], class: usize) -> SetOutcome {
        match &self.conformal {
            Some(conformal) => conformal.outcome(proba, class),
            None => Conformal::new().outcome(proba, class),
        }
    }

    /// Learns how well rows that were just learnt conform to their predictions, one after the other, each after its own set is noted. The model knew
    /// `n_classes`.
    pub(crate) fn conform(&mut self, rows: Rows<'_>, mut n_classes: usize, update: &mut Update) {
        if self.schema.task() != Task::Classification {
            return;
        }
        let conformal = self.conformal.get_or_insert_default();
        for (i, class) in rows.labels()[..update.n_learnt].iter().enumerate() {
            // A class becomes known with its first row, and can be in no set before.
            let known = n_classes;
            n_classes = n_classes.max(class.index() + 1);
            let now = update.predictions.slice(s![i, ..known]).to_vec();
            update.sets.push(conformal.outcome(&now, class.index()));
            let earlier = rows.earlier.map(|earlier| &earlier[i].told).filter(|proba| !proba.is_empty());
            conformal.learn(earlier.unwrap_or(&now), class.index());
        }
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, ClassId, Dataset, Silent, Training};
    use ndarray::{Array2, Axis};

    use super::*;
    use crate::delay::Delay;
    use crate::kinds::{Kind, ModelParams};

    fn params(kind: Kind) -> ModelParams {
        let few = if kind == Kind::default() { &[("n_trees", "20")][..] } else { &[] };
        ModelParams::new(kind).with_settings(few.iter().copied()).unwrap()
    }

    /// Rows of three classes of which one in five has the label of another.
    fn noisy(n: usize, seed: u64) -> (Array2<f32>, Dataset) {
        let mut data = blobs(n, 2, 3, seed);
        let change = |labels: &mut [ClassId]| {
            labels.iter_mut().step_by(5).for_each(|class| *class = ClassId((class.0 + 1) % 3));
        };
        data.edit(|parts| change(parts.labels_mut())).unwrap();
        (data.features.to_array(0..n), data)
    }

    #[test]
    fn sets_of_a_fit_cover_what_was_asked_for() {
        let (x, all) = noisy(3_000, 1);
        let (first, later): (Vec<usize>, Vec<usize>) = (0..3_000).partition(|row| *row < 1_500);
        let (data, truth, new) = (all.select(&first), all.select(&later), x.select(Axis(0), &later));
        let (par, budget) = (Par::shared(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        for kind in [Kind::default(), Kind::ALL[Kind::ALL.len() - 1]] {
            // Few trees would be too cautious.
            let model = Model::fit(&data, &ModelParams::new(kind), &training).unwrap().model;
            let report = |level: f64| {
                let sets = model.predict_set(new.view(), level).unwrap();
                sets.report(truth.labels(), &SetOptions::new(level)).unwrap()
            };
            for level in [0.7, 0.9] {
                let found = report(level);
                assert!((found.coverage - level).abs() < 0.06, "{kind}, {level}: {}", found.coverage);
            }
            assert!(report(0.9).mean_size > report(0.7).mean_size, "{kind}");
            let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
            assert_eq!(
                again.predict_set(new.view(), 0.9).unwrap(),
                model.predict_set(new.view(), 0.9).unwrap()
            );
            let frozen = model.without_rows();
            assert_eq!(
                frozen.predict_set(new.view(), 0.9).unwrap(),
                again.predict_set(new.view(), 0.9).unwrap()
            );
        }
    }

    #[test]
    fn what_is_learnt_online_keeps_the_coverage_however_it_is_cut() {
        let (x, data) = noisy(1_200, 3);
        let (par, budget) = (Par::shared(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let rows =
            |from: usize, to: usize| Rows::new(x.slice(s![from..to, ..]), &data.labels()[from..to], None);
        let mut whole = Model::new(data.schema.clone(), &params(Kind::default())).unwrap();
        assert!(whole.predict_set(x.view(), 0.9).unwrap_err().to_string().contains("learn rows"));
        let update = whole.learn_rows(&data.schema, rows(0, 1_200), &training).unwrap();
        assert_eq!(update.sets.len(), 1_200);
        let covered = update.sets[200..].iter().filter(|set| set.is_covered).count() as f64 / 1_000.0;
        assert!((0.86..0.94).contains(&covered), "{covered}");
        let mut parts = Model::new(data.schema.clone(), &params(Kind::default())).unwrap();
        let mut outcomes = Vec::new();
        for from in (0..1_200).step_by(171) {
            let part = rows(from, 1_200.min(from + 171));
            outcomes.extend(parts.learn_rows(&data.schema, part, &training).unwrap().sets);
            parts = Model::from_bytes(&parts.to_bytes().unwrap()).unwrap();
        }
        assert!(outcomes == update.sets && parts == whole);
        // Late labels: every row has its outcome when it comes.
        let (mut late, mut delay) =
            (Model::new(data.schema.clone(), &params(Kind::default())).unwrap(), Delay::new(30));
        let update = delay.learn(&mut late, &data.schema, rows(0, 1_200), &training).unwrap();
        let covered = update.sets[200..].iter().filter(|set| set.is_covered).count() as f64 / 1_000.0;
        assert!(update.sets.len() == 1_200 && (0.85..0.95).contains(&covered), "{covered}");
    }

    #[test]
    fn what_cannot_be_made_is_refused() {
        let (x, data) = noisy(200, 4);
        let (par, budget) = (Par::sequential(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let model = Model::fit(&data, &params(Kind::default()), &training).unwrap().model;
        for level in [0.0, 1.0, f64::NAN] {
            assert!(model.predict_set(x.view(), level).unwrap_err().to_string().contains("between 0 and 1"));
        }
        let wide = Array2::zeros((1, 3));
        assert!(model.predict_set(wide.view(), 0.9).is_err());
        let without = Model { conformal: None, ..model };
        assert!(without.predict_set(x.view(), 0.9).unwrap_err().to_string().contains("fit it again"));
    }
}

//! A forest with IVMs that was read.

use hedgerow_core::saved::{Saved, require, require_rules, require_sizes};
use hedgerow_core::{OnlineClassifier as _, Result, Schema};

use super::ForestIvm;

impl Saved for ForestIvm {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        self.forest.complete(schema)?;
        require_sizes(self, schema)?;
        require_rules(&self.params)?;
        let (n_classes, can_learn) = (self.n_classes, self.online.is_some());
        let is_learning = self.forest.can_learn();
        require(is_learning == can_learn, || "a forest that learns without the rest, or the other way")?;
        let reports = self.margin.is_finite() && self.report.fits(n_classes);
        require(reports, || "the blend report does not fit")?;
        for (number, assigned) in self.ivms.iter_mut().enumerate() {
            assigned.ivm.complete(schema)?;
            let fits = assigned.ivm.can_learn() == can_learn
                && assigned.blend.is_valid(n_classes)
                && assigned.class.is_none_or(|class| class < n_classes);
            require(fits, || format!("IVM {number} does not fit the forest"))?;
        }
        let fits = self.online.as_ref().is_none_or(|online| online.fits(n_classes));
        require(fits, || "the predictions of the newest rows do not fit the rest")
    }
}

/// Keeps out-of-sample predictions as arrays.
pub(super) mod predictions {
    use hedgerow_core::ClassId;
    use hedgerow_core::saved::{Lists, array, column, lists_of};
    use serde::de::Error as _;
    use serde::ser::SerializeStruct as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::forest_ivm::validation::ForestAndIvm;

    #[derive(Deserialize)]
    struct Columns {
        forest: Lists<f64>,
        gp: Lists<f64>,
        #[serde(with = "array")]
        classes: Vec<ClassId>,
    }

    pub(in crate::forest_ivm) fn serialize<S: Serializer>(
        rows: &[ForestAndIvm],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Predictions", 3)?;
        let forest = || rows.iter().map(|row| row.forest.iter().copied());
        out.serialize_field("forest", &lists_of(forest))?;
        out.serialize_field("gp", &lists_of(|| rows.iter().map(|row| row.gp.iter().copied())))?;
        out.serialize_field("classes", &column(|| rows.iter().map(|row| row.class)))?;
        out.end()
    }

    pub(in crate::forest_ivm) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<ForestAndIvm>, D::Error> {
        let Columns { forest, gp, classes } = Columns::deserialize(deserializer)?;
        if [forest.n_lists(), gp.n_lists()] != [classes.len(); 2] {
            return Err(D::Error::custom("predictions of forest and IVMs do not fit each other"));
        }
        let rows = forest.iter().zip(gp.iter()).zip(classes);
        let row = |((forest, gp), class): ((&[f64], &[f64]), ClassId)| ForestAndIvm {
            forest: forest.to_vec(),
            gp: gp.to_vec(),
            class,
        };
        Ok(rows.map(row).collect())
    }
}

//! A classifier that was read.

use hedgerow_core::prepare::Preparation;
use hedgerow_core::saved::{Saved, require, require_rules, require_sizes};
use hedgerow_core::{Features, Par, Result, Schema};

use crate::method::Method;
use crate::model::NeighborClassifier;

impl<P: Method> Saved for NeighborClassifier<P> {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        require_sizes(self, schema)?;
        require_rules(&self.params)?;
        self.preparation.check()?;
        let width = self.preparation.width();
        let most = Preparation::of(schema, &Features::new(schema.n_features())).width();
        require(width <= most, || format!("{width} prepared columns, where the schema allows {most}"))?;
        let is_valid =
            self.calibration.as_ref().is_none_or(|c| c.is_valid() && c.curves.len() == self.n_classes);
        require(is_valid, || "a calibration by impossible numbers")?;
        if let Some(online) = self.online.take() {
            online.check(schema)?;
            self.prepare_points(&online.rows, &Par::sequential());
            self.online = Some(online);
        } else {
            self.points.check(width, self.n_classes)?;
        }
        match &mut self.settings {
            Some(settings) => self.params.complete(settings, &self.points),
            None => Ok(()),
        }
    }
}

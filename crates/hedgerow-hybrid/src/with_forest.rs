//! What kinds that learn with a forest have in common.

/// What a kind does as its forest does it: when a fit ends, which rows are retained, what it predicts before anything was learnt. For implementations of
/// `ModelKind` whose parameters have a `forest` and a `seed`, and whose models have `params`.
macro_rules! as_its_forest {
    () => {
        fn check_ends(&self, budget: &hedgerow_core::Budget) -> hedgerow_core::Result<()> {
            self.forest.check_ends(budget)
        }

        fn check_retains_fairly(&self) -> hedgerow_core::Result<()> {
            self.forest.check_retains_fairly()
        }

        fn of_model(model: &Self::Model) -> &Self {
            &model.params
        }

        fn seed(&mut self) -> &mut u64 {
            &mut self.seed
        }

        fn max_retained(&self) -> usize {
            self.forest.pool_rows
        }

        fn with_a_prior(self) -> Self {
            Self { forest: self.forest.with_a_prior(), ..self }
        }
    };
}

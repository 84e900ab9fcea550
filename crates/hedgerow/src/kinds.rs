//! The kinds of model there are. This is the one place that lists them: names, help, parameters and files follow from the
//! [`ModelKind`] of each.

use std::fmt;
use std::str::FromStr;

use hedgerow_core::saved::Saved as _;
use hedgerow_core::{
    About, Budget, Dataset, Error, KindInfo, ModelKind, OnlineModel, ParamInfo, Params as _, Result, Schema,
    Task, Training, describe,
};
#[cfg(feature = "forest")]
use hedgerow_forest::ForestParams;
#[cfg(feature = "gp")]
use hedgerow_gp::{GpParams, IvmParams};
#[cfg(feature = "hybrid")]
use hedgerow_hybrid::{ForestIvmParams, ForestKernelParams, LeafGpParams};
#[cfg(feature = "neighbors")]
use hedgerow_neighbors::{KdeParams, KnnParams};
#[cfg(feature = "rvm")]
use hedgerow_rvm::RvmParams;
use serde::{Deserialize, Serialize};

use crate::run::{self, Run};

#[cfg(not(any(feature = "forest", feature = "gp", feature = "neighbors", feature = "rvm")))]
compile_error!("choose at least one kind of model: the features forest, gp, rvm, hybrid or neighbors");

macro_rules! kinds {
    (($d:tt) $($feature:literal $(#[$doc:meta])* $Kind:ident($Params:ident),)+) => {
        /// A kind of model.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum Kind {
            $(#[cfg(feature = $feature)] $(#[$doc])* $Kind,)+
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(#[cfg(feature = $feature)] Self::$Kind,)+];

            /// What it is, and what it can do.
            pub fn info(self) -> &'static KindInfo {
                match self {
                    $(#[cfg(feature = $feature)] Self::$Kind => &<$Params as ModelKind>::INFO,)+
                }
            }

            /// Its parameters with meaning and default.
            pub fn describe_params(self) -> Vec<ParamInfo> {
                match self {
                    $(#[cfg(feature = $feature)] Self::$Kind => describe::<$Params>(),)+
                }
            }
        }

        /// The parameters of one kind of model.
        ///
        /// ```
        /// use hedgerow::{Kind, ModelParams};
        /// use hedgerow::gp::IvmParams;
        ///
        /// let params = ModelParams::new(Kind::Ivm).with_settings([("n_active", "50")])?;
        /// assert_eq!(params, IvmParams { n_active: 50, ..Default::default() }.into());
        /// # Ok::<(), hedgerow::core::Error>(())
        /// ```
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        #[non_exhaustive]
        pub enum ModelParams {
            $(#[cfg(feature = $feature)] $(#[$doc])* $Kind(Box<$Params>),)+
        }

        impl ModelParams {
            /// The defaults of a kind.
            pub fn new(kind: Kind) -> Self {
                match kind {
                    $(#[cfg(feature = $feature)] Kind::$Kind => $Params::default().into(),)+
                }
            }

            /// The kind they belong to.
            pub fn kind(&self) -> Kind {
                match self {
                    $(#[cfg(feature = $feature)] Self::$Kind(_) => Kind::$Kind,)+
                }
            }
        }

        /// What has learnt, kind by kind.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum Learner {
            $(#[cfg(feature = $feature)] $(#[$doc])* $Kind(Box<<$Params as ModelKind>::Model>),)+
        }

        impl Learner {
            /// The kind.
            pub fn kind(&self) -> Kind {
                match self {
                    $(#[cfg(feature = $feature)] Self::$Kind(_) => Kind::$Kind,)+
                }
            }

            /// The parameters it was made with.
            pub fn params(&self) -> ModelParams {
                match self {
                    $(#[cfg(feature = $feature)] Self::$Kind(model) => $Params::of_model(model).clone().into(),)+
                }
            }

            /// The same without what learning more needs.
            pub(crate) fn frozen(self) -> Self {
                match self {
                    $(#[cfg(feature = $feature)] Self::$Kind(model) => Self::$Kind(Box::new(model.frozen())),)+
                }
            }

            /// Checks what was read from a file, and makes what the file does not hold.
            pub(crate) fn complete(&mut self, schema: &Schema) -> Result<()> {
                match self {
                    $(#[cfg(feature = $feature)] Self::$Kind(model) => model.complete(schema),)+
                }
            }

            /// As a model of any kind.
            pub(crate) fn get(&self) -> &(dyn OnlineModel + 'static) {
                match self {
                    $(#[cfg(feature = $feature)] Self::$Kind(model) => &**model,)+
                }
            }

            /// As a model of any kind.
            pub(crate) fn get_mut(&mut self) -> &mut (dyn OnlineModel + 'static) {
                match self {
                    $(#[cfg(feature = $feature)] Self::$Kind(model) => &mut **model,)+
                }
            }
        }

        $(
            #[cfg(feature = $feature)]
            impl From<$Params> for ModelParams {
                fn from(params: $Params) -> Self {
                    Self::$Kind(Box::new(params))
                }
            }

            #[cfg(feature = $feature)]
            impl InLearner for $Params {
                fn wrap(model: Self::Model) -> Learner {
                    Learner::$Kind(Box::new(model))
                }

                #[allow(irrefutable_let_patterns, reason = "there may be one kind only")]
                fn unwrap(learner: &Learner) -> Option<&Self::Model> {
                    if let Learner::$Kind(model) = learner { Some(model) } else { None }
                }
            }
        )+

        /// Calls something with the parameters, whatever their kind.
        macro_rules! with_params {
            ($d of:expr, $d name:ident => $d work:expr) => {
                match $d of {
                    $(#[cfg(feature = $feature)] ModelParams::$Kind($d name) => $d work,)+
                }
            };
        }
    };
}

kinds! {
    ($)
    "forest" /// A random forest.
    Forest(ForestParams),
    "gp" /// The Informative Vector Machine.
    Ivm(IvmParams),
    "gp" /// A Gaussian process that keeps all rows.
    Gp(GpParams),
    "hybrid" /// Trees with a Gaussian process in every leaf.
    LeafGp(LeafGpParams),
    "hybrid" /// A forest blended with Informative Vector Machines.
    ForestIvm(ForestIvmParams),
    "rvm" /// The Relevance Vector Machine.
    Rvm(RvmParams),
    "hybrid" /// A Gaussian process whose kernel is a forest.
    ForestKernel(ForestKernelParams),
    "neighbors" /// Kernel density classification.
    Kde(KdeParams),
    "neighbors" /// Nearest neighbours.
    Knn(KnnParams),
}

/// Parameters whose models are one of the variants of [`Learner`].
pub(crate) trait InLearner: ModelKind {
    fn wrap(model: Self::Model) -> Learner;
    fn unwrap(learner: &Learner) -> Option<&Self::Model>;
}

impl Kind {
    /// Its name, on the command line and in model files.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Whether it can be fitted to numbers as well as to classes.
    pub fn regresses(self) -> bool {
        self.info().tasks.contains(&Task::Regression)
    }

    /// Fails, and names the kinds that can, unless it does a task.
    pub fn check_task(self, task: Task) -> Result<()> {
        if task == Task::Classification || self.regresses() {
            return Ok(());
        }
        Err(self.unable("be fitted to a numeric target", Self::regresses))
    }

    /// Whether it can learn row by row.
    pub fn learns(self) -> bool {
        self.info().learns
    }

    /// Whether each row counts as soon as it is learnt.
    pub fn learns_at_once(self) -> bool {
        self.info().learns_at_once
    }

    /// Whether several models can be made into one.
    pub fn merges(self) -> bool {
        self.info().merges
    }

    /// Whether it predicts its training rows out of bag.
    pub fn has_oob(self) -> bool {
        self.info().has_oob
    }

    /// Whether it tells how much evidence there is for a prediction.
    pub fn tells_evidence(self) -> bool {
        self.info().second_order.contains(&About::RelativeEvidence)
    }

    /// Whether it tells where true probabilities lie.
    pub fn tells_true_probability(self) -> bool {
        cfg!(feature = "hybrid") && self.info().second_order.contains(&About::TrueProbability)
    }

    /// The error for a kind that cannot do something, which names those that can.
    pub fn unable(self, what: &'static str, can: fn(Self) -> bool) -> Error {
        let able: Vec<&str> = Self::ALL.iter().filter(|kind| can(**kind)).map(|kind| kind.name()).collect();
        Error::Unable { kind: self.name().into(), what, able: able.join(", ") }
    }
}

impl Default for Kind {
    fn default() -> Self {
        Self::ALL[0]
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|kind| kind.name() == name);
        found.copied().ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
            Error::param("model", format!("one of {}", known.join(", ")), name)
        })
    }
}

impl ModelParams {
    /// The parameters with `name=value` settings applied, as [`hedgerow_core::Params::with_settings`] does it.
    pub fn with_settings<'a>(self, settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        with_params!(self, params => Ok((*params).with_settings(settings)?.into()))
    }

    /// The same parameters with another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        with_params!(&mut self, params => *params.seed() = seed);
        self
    }

    /// Seed of all random choices.
    pub fn seed(&self) -> u64 {
        with_params!(self.clone(), params => *{ params }.seed())
    }

    /// Fails on the first parameter outside its range.
    pub fn rules(&self) -> Result<()> {
        with_params!(self, params => params.rules())
    }

    /// Most rows that a model retains to learn from, 0 for any number; none if it does not learn row by row.
    pub fn max_retained(&self) -> Option<usize> {
        self.kind().learns().then(|| with_params!(self, params => params.max_retained()))
    }

    /// What a row costs a model that learns it online, beside its values: so many parts hold on to it. With their name.
    pub fn n_parts(&self, learner: &Learner) -> (usize, &'static str) {
        with_params!(self, params => n_parts(&**params, learner))
    }

    /// Fails for parameters with which a fit would never end.
    pub(crate) fn check_ends(&self, budget: &Budget) -> Result<()> {
        with_params!(self, params => params.check_ends(budget))
    }

    /// The parameters with which a model predicts from the start, before anything was learnt.
    pub(crate) fn with_a_prior(self) -> Self {
        with_params!(self, params => (*params).with_a_prior().into())
    }

    /// One out of several of this kind.
    pub(crate) fn merge(&self, models: &[(&Schema, &Learner)]) -> Result<(Schema, Learner)> {
        with_params!(self, params => merge(&**params, models))
    }

    /// Fails where the rows that a model retains are no fair sample of those that it learnt.
    #[cfg(feature = "hybrid")]
    pub(crate) fn check_retains_fairly(&self) -> Result<()> {
        with_params!(self, params => params.check_retains_fairly())
    }

    /// A model without training rows.
    pub(crate) fn new_model(&self, schema: &Schema) -> Result<Learner> {
        if !self.kind().learns() {
            return Err(self.kind().unable("learn row by row", Kind::learns));
        }
        self.kind().check_task(schema.task())?;
        with_params!(self, params => new_model(&**params, schema))
    }

    /// A training run.
    pub(crate) fn start_run(
        &self,
        data: &Dataset,
        previous: Option<&Learner>,
        lanes: usize,
        training: &Training<'_>,
    ) -> Result<Run> {
        self.kind().check_task(data.task())?;
        with_params!(self, params => run::start(&**params, data, previous, lanes, training))
    }
}

fn new_model<P: InLearner>(params: &P, schema: &Schema) -> Result<Learner> {
    Ok(P::wrap(P::new_model(schema, &params.clone().check()?)?))
}

fn merge<P: InLearner>(_: &P, models: &[(&Schema, &Learner)]) -> Result<(Schema, Learner)> {
    let own: Vec<(&Schema, &P::Model)> =
        models.iter().filter_map(|(schema, learner)| Some((*schema, P::unwrap(learner)?))).collect();
    P::merge(&own).map(|(schema, model)| (schema, P::wrap(model)))
}

fn n_parts<P: InLearner>(params: &P, learner: &Learner) -> (usize, &'static str) {
    P::unwrap(learner).map_or((1, "parts"), |model| params.n_parts(model))
}

impl Default for ModelParams {
    fn default() -> Self {
        Self::new(Kind::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_kinds_and_back() {
        for &kind in Kind::ALL {
            assert_eq!(kind.name().parse::<Kind>().ok(), Some(kind));
            assert!(!kind.describe_params().is_empty() && !kind.info().about.is_empty());
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        let message = "oracle".parse::<Kind>().unwrap_err().to_string();
        assert!(
            message.contains("oracle")
                && message.contains("forest, ivm, gp, leaf-gp, forest-ivm, rvm, forest-kernel, kde, knn"),
            "{message}"
        );
        let message = Kind::Ivm.unable("be merged", Kind::merges).to_string();
        assert_eq!(message, "models of kind ivm cannot be merged; kinds that can: forest");
    }

    #[test]
    fn every_kind_takes_settings_and_keeps_to_its_rules() {
        for &kind in Kind::ALL {
            let params = ModelParams::new(kind).with_seed(3).with_settings([("seed", "7")]).unwrap();
            assert_eq!((params.kind(), params.seed()), (kind, 7));
            params.rules().unwrap();
            let names = serde_json::to_value(&params).unwrap();
            let names: Vec<&String> = names.as_object().unwrap().keys().collect();
            let described = kind.describe_params();
            assert_eq!(described.iter().map(|p| &p.name).collect::<Vec<_>>(), names);
            assert!(described.iter().all(|p| !p.meaning.is_empty()), "{kind}");
        }
        let wrong = |kind, name, value| {
            let params = ModelParams::new(kind).with_settings([(name, value)]);
            params.and_then(|params| params.rules()).unwrap_err().to_string()
        };
        assert!(wrong(Kind::Ivm, "n_active", "0").contains("1 or more"));
        assert!(wrong(Kind::Ivm, "n_trees", "10").contains("n_active"), "names those there are");
        assert!(wrong(Kind::Forest, "n_active", "10").contains("n_trees"));
    }
}

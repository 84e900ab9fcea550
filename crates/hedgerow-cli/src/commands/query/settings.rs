//! Parameters of a query: those of the model, of the choice and of the advice.

use anyhow::bail;
use hedgerow::active::QueryParams;
use hedgerow::active::stopping::StoppingParams;
use hedgerow::core::params::describe;
use hedgerow::core::{Checked, ParamInfo, Params};
use hedgerow::{Kind, ModelParams};

use super::pool::Source;
use crate::args::QueryArgs;
use crate::output::text::ParamList;

/// What parameters of the choice and of the advice begin with.
const QUERY: &str = "query.";
const STOPPING: &str = "stopping.";

pub(super) struct Settings {
    pub(super) model: ModelParams,
    pub(super) query: Checked<QueryParams>,
    pub(super) stopping: Checked<StoppingParams>,
}

impl Settings {
    /// As they were typed.
    pub(super) fn new(args: &QueryArgs, source: &Source) -> anyhow::Result<Self> {
        let given = |begin: &'static str| {
            let own = args
                .settings
                .iter()
                .filter_map(move |(name, value)| name.strip_prefix(begin).map(|name| (name, value.as_str())));
            own.collect::<Vec<_>>()
        };
        let strategy = args.strategy.name();
        let query = QueryParams::default().with_settings([("strategy", strategy)]);
        let mut query = query.and_then(|params| params.with_settings(given(QUERY)))?;
        if let Some(seed) = args.seed {
            query.seed = seed;
        }
        let of_model: Vec<(String, String)> = args
            .settings
            .iter()
            .filter(|(name, _)| !name.starts_with(QUERY) && !name.starts_with(STOPPING))
            .cloned()
            .collect();
        if let (Some(_), [(name, _), ..]) = (&source.model, &of_model[..]) {
            bail!(
                "--set {name}: the model of the file has its parameters already; query.NAME and stopping.NAME can be set"
            );
        }
        Ok(Self {
            model: super::super::params(source.kind, &of_model, args.seed)?,
            query: query.check()?,
            stopping: StoppingParams::default().with_settings(given(STOPPING))?.check()?,
        })
    }

    /// All parameters with their meaning and defaults.
    pub(super) fn list(kind: Kind) -> ParamList {
        fn of<P: Params>(begin: &str) -> impl Iterator<Item = ParamInfo> {
            let named = |info: ParamInfo| ParamInfo { name: format!("{begin}{}", info.name), ..info };
            describe::<P>().into_iter().map(named).collect::<Vec<_>>().into_iter()
        }
        let choice = of::<QueryParams>(QUERY).chain(of::<StoppingParams>(STOPPING));
        ParamList(kind.describe_params().into_iter().chain(choice).collect())
    }
}

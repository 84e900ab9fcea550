//! `--model KIND`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hedgerow::Kind;

/// Takes the kinds that can be trained in the background: they can predict before they have learnt anything.
pub(super) fn online_kind() -> impl TypedValueParser<Value = Kind> {
    let online = Kind::ALL.iter().filter(|kind| kind.learns());
    let names = online.map(|kind| PossibleValue::new(kind.name()).help(kind.info().about));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Kind>())
}

/// Takes the names of all kinds there are, and shows them in the help.
pub(super) fn kind() -> impl TypedValueParser<Value = Kind> {
    let names = Kind::ALL.iter().map(|kind| PossibleValue::new(kind.name()).help(kind.info().about));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Kind>())
}

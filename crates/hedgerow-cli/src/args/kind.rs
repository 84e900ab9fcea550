//! `--model KIND`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hedgerow::Kind;

/// Takes the kinds that can be trained in the background: they can predict before they have learnt anything.
pub(super) fn online_kind() -> impl TypedValueParser<Value = Kind> {
    parser(Kind::ALL.iter().filter(|kind| kind.learns()))
}

/// Takes the names of all kinds there are, and shows them in the help.
pub(super) fn kind() -> impl TypedValueParser<Value = Kind> {
    parser(Kind::ALL.iter())
}

fn parser(kinds: impl Iterator<Item = &'static Kind>) -> impl TypedValueParser<Value = Kind> {
    let names = kinds.map(|kind| PossibleValue::new(kind.name()).help(kind.info().about));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Kind>())
}

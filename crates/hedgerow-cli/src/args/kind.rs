//! `--model KIND`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hedgerow::Kind;

/// Takes those kinds that can be trained in slices.
pub(super) fn sliced_kind() -> impl TypedValueParser<Value = Kind> {
    let sliced = Kind::ALL.iter().filter(|kind| kind.trains_in_slices());
    let names = sliced.map(|kind| PossibleValue::new(kind.name()).help(kind.about()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Kind>())
}

/// Takes the names of all kinds there are, and shows them in the help.
pub(super) fn kind() -> impl TypedValueParser<Value = Kind> {
    let names = Kind::ALL.iter().map(|kind| PossibleValue::new(kind.name()).help(kind.about()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Kind>())
}

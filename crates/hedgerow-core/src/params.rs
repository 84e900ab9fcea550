//! Parameters: one plain struct a model, checked once, described from its own field comments.

use std::fmt::Display;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// A model's parameters: public fields with defaults, and the rules they must follow.
pub trait Params: Sized + Clone + Default + Serialize + DeserializeOwned + JsonSchema {
    /// Fails with [`Error::Param`] on the first field outside its range.
    fn rules(&self) -> Result<()>;

    /// The same parameters with the proof that they follow the rules.
    fn check(self) -> Result<Checked<Self>> {
        self.rules()?;
        Ok(Checked(self))
    }

    /// The parameters with `name=value` settings applied, each value read as JSON where it is JSON and as text otherwise. A name that
    /// is no field belongs to the first field which is itself a set of parameters and has it.
    fn with_settings<'a>(mut self, settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut fields = fields_of(&self);
        for (name, text) in settings {
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string()));
            let Some(place) = place(&mut fields, name) else {
                return Err(Error::UnknownParam { name: name.to_string(), known: known(&fields) });
            };
            *place = value;
            let wrong = |wrong: serde_json::Error| {
                Error::param(name, plain_words(&wrong.to_string()), format!("{text:?}"))
            };
            self = serde_json::from_value(Value::Object(fields.clone())).map_err(wrong)?;
        }
        Ok(self)
    }
}

/// Fails with [`Error::Param`] unless what is expected of a parameter holds.
pub fn require(name: &str, value: impl ToString, holds: bool, expected: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::param(name, expected, value)) }
}

/// Fails with [`Error::Param`] unless a parameter lies in a range.
pub fn within<T: PartialOrd + Display>(name: &str, value: T, range: RangeInclusive<T>) -> Result<()> {
    let holds = range.contains(&value);
    require(name, value, holds, &format!("{} to {}", range.start(), range.end()))
}

/// Fails with [`Error::Param`] if a parameter is too small.
pub fn at_least<T: PartialOrd + Display>(name: &str, value: T, least: T) -> Result<()> {
    let holds = value >= least;
    require(name, value, holds, &format!("{least} or more"))
}

/// Fails with [`Error::Param`] unless each number is 0, which leaves it to a search, or one that computes.
pub fn searched_or_given(numbers: &[(&str, f64)]) -> Result<()> {
    numbers.iter().try_for_each(|&(name, value)| {
        let holds = value == 0.0 || (1e-12..=1e12).contains(&value);
        require(name, value, holds, "0, or a number from 1e-12 to 1e12")
    })
}

/// Parameters by name.
fn fields_of(params: &impl Serialize) -> Map<String, Value> {
    serde_json::to_value(params).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default()
}

/// Where the value of a name is kept: among the fields, or in the first of those that are sets of parameters themselves.
fn place<'a>(fields: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Value> {
    if fields.contains_key(name) {
        return fields.get_mut(name);
    }
    fields.values_mut().filter_map(Value::as_object_mut).find_map(|inner| inner.get_mut(name))
}

/// All names, those of fields that are sets of parameters behind them.
fn known(fields: &Map<String, Value>) -> String {
    let inner = fields.values().filter_map(Value::as_object).flat_map(Map::keys);
    let mut names: Vec<&str> = Vec::new();
    for name in fields.keys().chain(inner) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// Parameters that have passed their rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked<P>(P);

impl<P> Checked<P> {
    /// The parameters themselves.
    pub fn get(&self) -> &P {
        &self.0
    }
}

/// One parameter as `--help-params` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParamInfo {
    /// The field's name.
    pub name: String,
    /// The value it has when none is given.
    pub default: String,
    /// Meaning and range.
    pub meaning: String,
}

/// All parameters of a model, taken from the comments at its fields.
pub fn describe<P: Params>() -> Vec<ParamInfo> {
    let schema = schemars::schema_for!(P);
    let Some(Value::Object(properties)) = schema.get("properties") else { return Vec::new() };
    let info = |(name, default): (String, Value)| {
        let text = properties.get(&name).and_then(|p| p.get("description")).and_then(Value::as_str);
        let default = match default {
            Value::String(text) => text,
            // A set of parameters of its own, described at its own place.
            Value::Object(_) => "its own".into(),
            other => other.to_string(),
        };
        ParamInfo { meaning: text.unwrap_or_default().replace('\n', " "), default, name }
    };
    fields_of(&P::default()).into_iter().map(info).collect()
}

/// Takes serde's "invalid type: string "x", expected usize" apart and keeps what was expected.
fn plain_words(message: &str) -> String {
    let expected = message.rsplit_once("expected ").map_or(message, |(_, expected)| expected);
    let expected = expected.split(" at line ").next().unwrap_or(expected);
    match expected {
        "usize" | "u64" | "u32" => "a whole number".into(),
        "f64" | "f32" => "a number".into(),
        "a boolean" => "true or false".into(),
        other => other.to_string(),
    }
}

//! Parameters: one plain struct a model, checked once, described from its own field comments.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

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

    /// The parameters with `name=value` settings applied, each value read as JSON where it is JSON and as text otherwise.
    fn with_settings<'a>(self, settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut fields = match serde_json::to_value(&self) {
            Ok(Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        for (name, text) in settings {
            if !fields.contains_key(name) {
                let known = fields.keys().cloned().collect::<Vec<_>>().join(", ");
                return Err(Error::UnknownParam { name: name.to_string(), known });
            }
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string()));
            let mut attempt = fields.clone();
            attempt.insert(name.to_string(), value);
            if let Err(wrong) = serde_json::from_value::<Self>(Value::Object(attempt.clone())) {
                return Err(Error::param(name, plain_words(&wrong.to_string()), format!("{text:?}")));
            }
            fields = attempt;
        }
        serde_json::from_value(Value::Object(fields))
            .map_err(|wrong| Error::param("settings", plain_words(&wrong.to_string()), "something else"))
    }
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

/// One parameter as a person should see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParamInfo {
    /// The field's name.
    pub name: String,
    /// The value it has when nothing is said.
    pub default: String,
    /// Meaning and range.
    pub meaning: String,
}

/// All parameters of a model, taken from the comments at its fields.
pub fn describe<P: Params>() -> Vec<ParamInfo> {
    let schema = schemars::schema_for!(P);
    let defaults = serde_json::to_value(P::default()).unwrap_or(Value::Null);
    let Some(Value::Object(properties)) = schema.get("properties") else { return Vec::new() };
    let order = match &defaults {
        Value::Object(fields) => fields.keys().cloned().collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    order
        .into_iter()
        .map(|name| {
            let text = properties.get(&name).and_then(|p| p.get("description")).and_then(Value::as_str);
            let default = match &defaults[&name] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            ParamInfo { meaning: text.unwrap_or_default().replace('\n', " "), default, name }
        })
        .collect()
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

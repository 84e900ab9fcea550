//! The constructors of the Python classes, made from the comments at the fields, with scikit-learn's names where it has some.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use hedgerow::Kind;
use hedgerow::core::ParamInfo;

/// Fields that scikit-learn calls something else or that take more than one type: engine's name, name, type, default, meaning (the
/// field's own where it is empty).
const SPECIAL: &[(&str, &str, &str, &str, &str)] = &[
    ("n_trees", "n_estimators", "int", "", ""),
    (
        "criterion",
        "criterion",
        "str",
        "",
        "What makes a split good: `gini`, `entropy` (`log_loss` is the same) or `misclassification`.",
    ),
    (
        "max_features",
        "max_features",
        "str | int | float | None",
        "",
        "Columns tried at each node: `sqrt`, `log2`, None for all, a whole number, or a share such as 0.3.",
    ),
    ("max_height", "max_depth", "int | None", "None", "Greatest height of a tree; None sets no limit."),
    ("min_leaf_rows", "min_samples_leaf", "int", "", ""),
    (
        "class_weights",
        "class_weight",
        "str | Mapping[Any, float] | None",
        "None",
        "Weight of each class: None, `balanced` (all classes count the same), or a mapping from labels to weights.",
    ),
    ("leaf_power", "leaf_power", "str | float", "", ""),
];

/// What every class takes beside the parameters of its model.
const COMMON: &[(&str, &str, &str, &str)] = &[
    (
        "max_seconds",
        "float | None",
        "None",
        "Time after which a fit ends with the best model so far; None sets no limit.",
    ),
    (
        "max_memory",
        "int | str | None",
        "None",
        "Most bytes (or a text such as `500MB`) that a model, the rows it keeps and its training take together; None sets no limit.",
    ),
    (
        "n_jobs",
        "int | None",
        "-1",
        "Threads: a number, -1 for one a core, None for one. Results do not depend on it.",
    ),
    (
        "random_state",
        "Any",
        "None",
        "Seed of all random choices: a whole number makes the same model each time, None another one.",
    ),
    ("verbose", "int", "0", "1 shows how far a fit has come."),
];

/// What the default of a set of parameters of its own reads like.
const PART: &str = "its own";

struct Argument {
    name: String,
    engine: Option<String>,
    kind: String,
    default: String,
    meaning: String,
    /// Whether it is an estimator itself.
    is_part: bool,
}

fn path() -> PathBuf {
    crate::root().join("python/hedgerow/_arguments.py")
}

/// Writes the module.
pub(crate) fn write() -> anyhow::Result<()> {
    Ok(fs::write(path(), module())?)
}

fn module() -> String {
    let mut text = String::from(
        "\"\"\"Arguments of the estimators. Made from the engine's parameters by `cargo xtask docs`: change them there.\"\"\"\n\n\
         from __future__ import annotations\n\nfrom collections.abc import Mapping\nfrom typing import Any, ClassVar\n",
    );
    for &kind in Kind::ALL {
        class(&mut text, kind);
    }
    text
}

fn class(text: &mut String, kind: Kind) {
    let mut arguments: Vec<Argument> =
        kind.describe_params().into_iter().filter(|p| p.name != "seed").map(argument).collect();
    arguments.extend(COMMON.iter().map(|&(name, kind, default, meaning)| Argument {
        name: name.into(),
        engine: None,
        kind: kind.into(),
        default: default.into(),
        meaning: meaning.into(),
        is_part: false,
    }));
    let name = kind.info().params.trim_end_matches("Params");
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\n\nclass {name}Arguments:\n    \"\"\"The parameters of models of kind `{kind}`.\"\"\"\n"
    );
    let _ = writeln!(text, "    _kind: ClassVar[str] = \"{kind}\"");
    let _ = writeln!(text, "    _title: ClassVar[str] = \"{}\"", kind.info().work);
    let _ = writeln!(text, "    _settings: ClassVar[Mapping[str, str]] = {{");
    for argument in &arguments {
        if let Some(engine) = &argument.engine {
            let _ = writeln!(text, "        \"{}\": \"{engine}\",", argument.name);
        }
    }
    let _ = writeln!(text, "    }}");
    let parts: Vec<String> =
        arguments.iter().filter(|a| a.is_part).map(|argument| format!("\"{}\"", argument.name)).collect();
    if !parts.is_empty() {
        let _ = writeln!(
            text,
            "    _parts: ClassVar[tuple[str, ...]] = ({}{})",
            parts.join(", "),
            if parts.len() == 1 { "," } else { "" }
        );
    }
    let _ = writeln!(text, "\n    def __init__(\n        self,\n        *,");
    for argument in &arguments {
        let _ = writeln!(text, "        {}: {} = {},", argument.name, argument.kind, argument.default);
    }
    let _ = writeln!(
        text,
        "    ) -> None:\n        \"\"\"Say how the model is made.\n\n        Parameters\n        ----------"
    );
    for argument in &arguments {
        let _ = writeln!(text, "        {} : {}, default={}", argument.name, argument.kind, argument.default);
        let _ = writeln!(text, "            {}", argument.meaning);
    }
    let _ = writeln!(text, "        \"\"\"");
    for argument in &arguments {
        let _ = writeln!(text, "        self.{0} = {0}", argument.name);
    }
}

fn argument(param: ParamInfo) -> Argument {
    let (mut kind, mut default) = plain(&param.default);
    let (mut name, mut meaning) = (param.name.clone(), param.meaning);
    let is_part = param.default == PART;
    if is_part {
        let what = meaning.split(':').next().unwrap_or_default();
        meaning = format!("{what}: an estimator with its arguments; None for the arguments that suit most.");
        (kind, default) = ("Any".into(), "None".into());
    }
    if let Some((_, theirs, types, value, words)) = SPECIAL.iter().find(|special| special.0 == param.name) {
        name = (*theirs).into();
        kind = (*types).into();
        if !value.is_empty() {
            default = (*value).into();
        }
        if !words.is_empty() {
            meaning = (*words).into();
        }
    }
    Argument { name, engine: Some(param.name), kind, default, meaning, is_part }
}

/// Type and text of a default in Python.
fn plain(default: &str) -> (String, String) {
    let (kind, text) = match default {
        "true" => ("bool", "True".into()),
        "false" => ("bool", "False".into()),
        list if list.starts_with('[') => ("tuple[float, ...]", tuple(list)),
        number if number.parse::<i64>().is_ok() => ("int", number.into()),
        number if number.parse::<f64>().is_ok() => ("float", number.into()),
        text => ("str", format!("\"{text}\"")),
    };
    (kind.into(), text)
}

fn tuple(list: &str) -> String {
    format!("({})", list.trim_matches(['[', ']']).replace(',', ", "))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_module_is_up_to_date() {
        let on_disk = std::fs::read_to_string(super::path()).unwrap_or_default();
        assert_eq!(on_disk, super::module(), "run: cargo xtask docs");
    }
}

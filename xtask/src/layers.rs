//! Which crate may use which: arrows only point down.

use std::fs;

use anyhow::{Context as _, bail};

/// Each crate with the crates of ours it may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("hedgerow-core", &[]),
    ("hedgerow-io", &["hedgerow-core"]),
    ("hedgerow-store", &["hedgerow-core"]),
    ("hedgerow-forest", &["hedgerow-core"]),
    ("hedgerow-gp", &["hedgerow-core"]),
    ("hedgerow-neighbors", &["hedgerow-core"]),
    // Works on traits, whatever model is behind them.
    ("hedgerow-active", &["hedgerow-core"]),
    // Some of its detectors ask a forest.
    ("hedgerow-outliers", &["hedgerow-core", "hedgerow-forest"]),
    // Knows no model.
    ("hedgerow-trainer", &["hedgerow-core"]),
    // Hybrids are made of other methods.
    ("hedgerow-hybrid", &["hedgerow-core", "hedgerow-forest", "hedgerow-gp", "hedgerow-rvm"]),
    // A method that builds on another: the same kernels and factors. See ARCHITECTURE.md.
    ("hedgerow-rvm", &["hedgerow-core", "hedgerow-gp"]),
    (
        "hedgerow",
        &[
            "hedgerow-active",
            "hedgerow-core",
            "hedgerow-io",
            "hedgerow-forest",
            "hedgerow-gp",
            "hedgerow-hybrid",
            "hedgerow-neighbors",
            "hedgerow-outliers",
            "hedgerow-rvm",
            "hedgerow-store",
            "hedgerow-trainer",
        ],
    ),
    ("hedgerow-cli", &["hedgerow"]),
    // Its console script is the command line.
    ("python", &["hedgerow", "hedgerow-cli"]),
];

/// Fails on any other arrow, and on a crate that has no place yet.
pub(crate) fn check() -> anyhow::Result<()> {
    let crates = fs::read_dir(crate::root().join("crates"))?;
    let mut folders = crates.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    folders.push(crate::root().join("python"));
    for folder in folders {
        let name = folder.file_name().and_then(|n| n.to_str()).context("a crate without a name")?;
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            bail!("{name} has no place among the layers: add it to xtask/src/layers.rs");
        };
        let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or("");
        let dependencies = dependencies.split("\n[").next().unwrap_or("");
        for line in dependencies.lines() {
            let used = line.split(['.', '=', ' ']).next().unwrap_or("");
            if used.starts_with("hedgerow") && !allowed.contains(&used) {
                bail!("{name} must not use {used}");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn arrows_only_point_down() {
        super::check().unwrap();
    }
}

//! The parameter reference, made from the comments at the fields.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use hedgerow::Kind;

fn path() -> PathBuf {
    crate::root().join("docs/parameters.md")
}

/// Writes the page.
pub(crate) fn write() -> anyhow::Result<()> {
    Ok(fs::write(path(), page())?)
}

fn page() -> String {
    let mut page = String::from(
        "# Parameters\n\nMade from the comments in the code by `cargo xtask docs`. \
         On the command line: `--set name=value`; `hedgerow fit --model KIND --help-params` shows the same.\n",
    );
    for &kind in Kind::ALL {
        section(&mut page, kind);
    }
    page
}

fn section(page: &mut String, kind: Kind) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "\n## `{kind}` (`{}`)\n\n{}.\n", kind.info().params, kind.info().about);
    let _ = writeln!(page, "| name | default | meaning |\n|---|---|---|");
    for param in kind.describe_params() {
        let _ = writeln!(page, "| `{}` | `{}` | {} |", param.name, param.default, param.meaning);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_is_up_to_date() {
        let on_disk = std::fs::read_to_string(super::path()).unwrap_or_default();
        assert_eq!(on_disk, super::page(), "run: cargo xtask docs");
    }
}

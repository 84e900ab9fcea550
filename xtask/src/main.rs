//! `cargo xtask`: pages made from the code, and checks of the workspace itself.

mod arguments;
mod layers;
mod parameters;
mod stubs;
mod words;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("docs") => {
            parameters::write()?;
            arguments::write()
        }
        Some("layers") => layers::check(),
        Some("words") => words::check(),
        Some("stubs") => stubs::check_or_write(std::env::args().skip(2)),
        other => bail!(
            "expected one of these, got {other:?}:\n  \
             docs: write docs/parameters.md and the arguments of the Python classes\n  \
             layers: check which crate uses which\n  \
             words: check for words that docs/glossary.md does not use\n  \
             stubs MODULE [--check]: write the types of the native Python module, or check them"
        ),
    }
}

/// The root of the workspace.
fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

//! `cargo xtask`: pages made from the code, and checks of the workspace itself.

mod layers;
mod parameters;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("docs") => parameters::write(),
        Some("layers") => layers::check(),
        other => bail!(
            "expected docs (write docs/parameters.md) or layers (check crate dependencies), got {other:?}"
        ),
    }
}

/// The root of the workspace.
fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

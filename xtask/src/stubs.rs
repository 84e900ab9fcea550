//! The types of the native Python module, read from the built module itself.

use std::fs;

use anyhow::{Context as _, bail};
use pyo3_introspection::{introspect_cdylib, module_stub_files};

/// Writes the stub file from a built module or, with `--check`, fails if it is not up to date.
pub(crate) fn check_or_write(mut args: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let library = args.next().context("which module? target/debug/lib_hedgerow.so, say")?;
    let is_check = args.next().as_deref() == Some("--check");
    let module = introspect_cdylib(&library, "_hedgerow").with_context(|| library.clone())?;
    let files = module_stub_files(&module);
    let [(_, stub)] = &files.iter().collect::<Vec<_>>()[..] else {
        bail!("expected one stub file, got {}", files.len());
    };
    let text = format!("# Made from the native module by `cargo xtask stubs`.\n{stub}");
    let path = crate::root().join("python/hedgerow/_hedgerow.pyi");
    if !is_check {
        return Ok(fs::write(path, text)?);
    }
    if fs::read_to_string(&path).unwrap_or_default() != text {
        bail!("the types of the Python module have changed: run cargo xtask stubs {library}");
    }
    Ok(())
}

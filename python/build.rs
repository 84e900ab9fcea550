//! Link arguments of a module that an interpreter loads, where the platform needs some.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}

//! The extension module `pennon._native`.
//!
//! Bindings translate and do nothing else: convert the arguments, let go of the interpreter, call
//! one function of the core, convert the result. The public Python API is the package around it.

mod arrow;
mod capsule;
mod commit;
mod dataset;
mod error;
mod file;
mod scan;
mod write;

use pyo3::prelude::*;

/// Keeps freed pages for the next batch: touching fresh memory costs more than decoding into it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The core of pennon.
#[pymodule(gil_used = false)]
mod _native {
    use super::*;

    #[pymodule_export]
    use crate::commit::commit_fragments;
    #[pymodule_export]
    use crate::dataset::NativeDataset;
    #[pymodule_export]
    use crate::file::{NativeFileReader, NativeFileWriter};
    #[pymodule_export]
    use crate::scan::{NativeBatch, NativeScan};
    #[pymodule_export]
    use crate::write::{write_dataset, write_fragments};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

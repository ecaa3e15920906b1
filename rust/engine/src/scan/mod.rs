//! Reading rows in order: builder → plan → tasks → stream.
//!
//! A plan cuts the live rows into tasks of some thousand rows of one fragment. Each task reads
//! the predicate's columns, evaluates the predicate, and reads the other columns for the rows
//! that are left; tasks run in parallel and their batches come out in order.

mod builder;
mod columns;
mod plan;
mod stream;
mod task;

pub use builder::{DEFAULT_BATCH_ROWS, ScanBuilder};
pub use columns::{ROW_ADDRESS, ROW_ID};
pub use stream::{BatchStream, Step};

pub(crate) use columns::select;
pub(crate) use plan::ScanPlan;

//! Reading: rows to byte ranges, bytes to arrays.
//!
//! ```text
//! row ranges -> pages -> chunks -> byte ranges -> bytes -> values and levels -> arrays
//! ```
//!
//! There is one way to read: [`FileReader::plan`] turns rows into byte ranges, and
//! [`ReadPlan::decode`] turns their bytes into a batch. A scan asks for ranges of many rows, a take
//! for ranges of one.

pub(crate) mod assemble;
mod blob;
mod block;
mod builder;
mod coding;
mod column;
mod constant;
mod describe;
mod full_zip;
mod mini_block;
mod plan;
pub(crate) mod present;
pub(crate) mod projection;
pub(crate) mod reader;
mod rows;
pub(crate) mod shape;
mod source;
pub(crate) mod starts;
pub(crate) mod validity;
pub(crate) mod values;

pub use describe::{ColumnDescription, PageDescription};
pub use plan::ReadPlan;
pub use projection::Projection;
pub use reader::{FileReader, ReadOptions};
pub use rows::RowRanges;

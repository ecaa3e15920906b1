//! Reading: rows to byte ranges, bytes to arrays.
//!
//! ```text
//! row ranges -> pages -> chunks -> byte ranges -> bytes -> values and levels -> arrays
//! ```
//!
//! There is one way to read: [`FileReader::plan`] turns rows into byte ranges, and
//! [`ReadPlan::decode`] turns their bytes into a batch. A scan asks for ranges of many rows, a take
//! for ranges of one.

mod assemble;
mod blob;
mod block;
mod builder;
mod coding;
mod column;
mod constant;
mod full_zip;
mod mini_block;
mod plan;
mod present;
mod projection;
mod reader;
mod rows;
mod shape;
pub(crate) mod validity;
mod values;

pub use plan::ReadPlan;
pub use projection::Projection;
pub use reader::FileReader;
pub use rows::RowRanges;

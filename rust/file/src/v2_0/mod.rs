//! File version 2.0: array encodings instead of page layouts.
//!
//! ```text
//! struct  header column: one page that only counts     children: columns of their own
//! list    offsets column: one end for each list        items: columns of their own
//! leaf    pages: how values lie in buffers is a tree   flat, nullable, binary, dictionary ...
//! ```
//!
//! A page counts the rows of its own column, so what rows to read of an item column is only known
//! once the offsets of the lists are; likewise the bytes of strings. [`plan`] therefore reads in
//! rounds: each round asks for all that can be asked for by then.

mod blob;
mod choose;
mod decode;
mod dictionary;
mod encode;
mod encoding;
mod ends;
mod fields;
mod lists;
mod page;
mod plan;
mod proto;
mod stream;
mod strings;

pub(crate) use blob::descriptor;
pub(crate) use encoding::ArrayEncoding;
pub(crate) use fields::encoders_of;
pub(crate) use page::Column;
pub(crate) use plan::ArrayPlan;

#[cfg(test)]
mod tests;

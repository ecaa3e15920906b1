//! SQL predicates and expressions over record batches.
//!
//! A [`Predicate`] says for every row whether it is wanted; an [`Expression`] computes a column.
//! Both are made from text and a schema: names are resolved, types are checked and brought
//! together, and constants are folded once, so that a mistake is reported before any data is
//! read. What remains is evaluated on record batches, many times and on many threads.
//!
//! # The dialect
//!
//! * A column is written bare (`price`) or in backticks (`` `unit price` ``). Names keep their
//!   case. A bare name that no column has exactly stands for the one column that differs from it
//!   only in case. A name in backticks is always taken literally.
//! * Text stands in single or in double quotes: `'x'` and `"x"` are both the text x.
//! * A field of a struct is `a.b` or `a['b']`; an element of a list is `l[1]`, counted from 1.
//! * Comparisons with a literal follow the column's type: `d > '2021-01-01'` compares dates,
//!   `f32 = 0.1` compares 32-bit floats, `i = 1.5` is exact. Text is never compared with numbers.
//! * `-0.0` equals `0.0`; NaN equals NaN and is greater than every other number.
//! * A timestamp literal without an offset, compared with a column that has a time zone, is a
//!   local time in that zone.
//! * Integers that overflow are an error, not a wrapped number.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{Int64Array, RecordBatch};
//! use arrow_schema::{DataType, Field, Schema};
//! use pennon_expr::Predicate;
//!
//! let schema = Schema::new(vec![Field::new("id", DataType::Int64, true)]);
//! let predicate = Predicate::parse("id > 1 AND id IS NOT NULL", &schema)?;
//! assert_eq!(predicate.columns(), ["id"]);
//!
//! let ids = Int64Array::from(vec![Some(1), None, Some(3)]);
//! let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(ids)])?;
//! let mask = predicate.evaluate_mask(&batch)?;
//! assert_eq!(mask.iter().collect::<Vec<_>>(), [false, false, true]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dialect;
mod error;
mod expression;
mod functions;
mod literals;
mod names;
mod overflow;
mod parse;
mod predicate;
mod resolve;
mod structs;
mod zero;

#[cfg(test)]
mod tests;

pub use error::{ExprError, Result};
pub use expression::Expression;
pub use names::nearest_names;
pub use predicate::Predicate;

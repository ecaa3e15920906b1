//! A condition on rows.

use std::fmt;

use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Schema};
use datafusion_common::ScalarValue;
use datafusion_expr::Expr;
use datafusion_expr::utils::split_conjunction;

use crate::{ExprError, Expression, Result, parse, resolve};

/// An expression that is true, false or null for every row.
#[derive(Debug, Clone)]
pub struct Predicate {
    expression: Expression,
}

impl Predicate {
    /// Parses and checks a predicate over the columns of `schema`.
    ///
    /// # Errors
    ///
    /// As for [`Expression::parse`], and [`ExprError::Type`] when the expression is not boolean.
    pub fn parse(sql: &str, schema: &Schema) -> Result<Self> {
        let mut ast = parse::parse(sql)?;
        resolve::truth(&mut ast);
        let expression = Expression::plan(ast, schema)?;
        match expression.data_type() {
            DataType::Boolean | DataType::Null => Ok(Self { expression }),
            other => Err(ExprError::types(format!(
                "a predicate must be boolean, but '{expression}' has type {other}"
            ))),
        }
    }

    /// The top-level columns that the predicate reads, in the schema's order.
    pub fn columns(&self) -> &[String] {
        self.expression.columns()
    }

    /// What the predicate says whatever the row: `Some(true)`, `Some(false)` when it is never
    /// true, or `None` when it depends on the row.
    pub fn as_constant(&self) -> Option<bool> {
        match self.logical() {
            Expr::Literal(ScalarValue::Boolean(value), _) => Some(value.unwrap_or(false)),
            Expr::Literal(ScalarValue::Null, _) => Some(false),
            _ => None,
        }
    }

    /// The predicate's truth for every row, with nulls.
    ///
    /// # Errors
    ///
    /// As for [`Expression::evaluate`].
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let truth = self.expression.evaluate(batch)?;
        if truth.data_type() == &DataType::Null {
            return Ok(BooleanArray::new_null(truth.len()));
        }
        truth
            .as_any()
            .downcast_ref::<BooleanArray>()
            .cloned()
            .ok_or_else(|| {
                ExprError::evaluation(format!(
                    "a predicate gave values of type {}",
                    truth.data_type()
                ))
            })
    }

    /// One bit per row, set where the predicate is true; null counts as false.
    ///
    /// # Errors
    ///
    /// As for [`Expression::evaluate`].
    pub fn evaluate_mask(&self, batch: &RecordBatch) -> Result<BooleanBuffer> {
        let (values, nulls) = self.evaluate(batch)?.into_parts();
        Ok(match nulls {
            Some(nulls) => &values & nulls.inner(),
            None => values,
        })
    }

    /// The checked and simplified expression, for those who reason about it.
    pub fn logical(&self) -> &Expr {
        self.expression.logical()
    }

    /// The conditions that must all be true for the predicate to be true, as statistics and
    /// indices judge them one by one.
    pub fn conjuncts(&self) -> Vec<&Expr> {
        split_conjunction(self.logical())
    }
}

/// The predicate as canonical SQL, as for [`Expression`].
impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(f)
    }
}

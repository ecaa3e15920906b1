//! Makes comparisons of floating-point numbers take -0.0 for 0.0.
//!
//! The comparison kernels order floats totally, so that -0.0 is less than 0.0. Comparisons with a
//! zero are rewritten into ones that have both zeros on the right side; other comparisons
//! normalise their operands by adding 0.0. Nulls stay nulls in both.

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::InList;
use datafusion_expr::{BinaryExpr, Expr, ExprSchemable, Operator, binary_expr};

use crate::literals::is_comparison;

/// Rewrites all comparisons of floats in a coerced and simplified expression.
pub(crate) fn unsign(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    expr.transform_up(|expr| rewrite(expr, schema))
        .map(|done| done.data)
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(binary)
            if is_comparison(binary.op) && binary.left.get_type(schema)?.is_floating() =>
        {
            comparison(binary, schema)
        }
        Expr::InList(mut list) if list.expr.get_type(schema)?.is_floating() => {
            let both: Vec<Expr> = list.list.iter().filter_map(zeros).flatten().collect();
            list.list.retain(|item| zeros(item).is_none());
            list.list.extend(both);
            Ok(Transformed::yes(Expr::InList(InList::new(
                list.expr,
                list.list,
                list.negated,
            ))))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn comparison(binary: BinaryExpr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let BinaryExpr { left, op, right } = binary;
    let (value, op, [low, high]) = match (zeros(&left), zeros(&right)) {
        (None, Some(zeros)) => (*left, op, zeros),
        (Some(zeros), None) => (*right, op.swap().unwrap_or(op), zeros),
        _ if [&left, &right]
            .iter()
            .any(|side| matches!(side.as_ref(), Expr::Literal(..))) =>
        {
            return Ok(Transformed::no(binary_expr(*left, op, *right)));
        }
        _ => {
            let compared = binary_expr(normalised(*left, schema)?, op, normalised(*right, schema)?);
            return Ok(Transformed::yes(compared));
        }
    };
    Ok(Transformed::yes(match op {
        Operator::Eq => value.clone().gt_eq(low).and(value.lt_eq(high)),
        Operator::NotEq => value.clone().lt(low).or(value.gt(high)),
        Operator::Lt | Operator::GtEq => binary_expr(value, op, low),
        Operator::LtEq | Operator::Gt => binary_expr(value, op, high),
        _ => binary_expr(normalised(value, schema)?, op, high),
    }))
}

/// -0.0 and 0.0 of a literal's type, if the literal is one of them.
fn zeros(expr: &Expr) -> Option<[Expr; 2]> {
    let Expr::Literal(value, _) = expr else {
        return None;
    };
    let zero = match value {
        ScalarValue::Float16(Some(value)) => value.to_f32() == 0.0,
        ScalarValue::Float32(Some(value)) => *value == 0.0,
        ScalarValue::Float64(Some(value)) => *value == 0.0,
        _ => false,
    };
    if !zero {
        return None;
    }
    let high = ScalarValue::new_zero(&value.data_type()).ok()?;
    let low = high.arithmetic_negate().ok()?;
    Some([Expr::Literal(low, None), Expr::Literal(high, None)])
}

/// The same number with 0.0 for -0.0.
fn normalised(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let zero = ScalarValue::new_zero(&expr.get_type(schema)?)?;
    Ok(expr + Expr::Literal(zero, None))
}

//! Brings the two sides of a comparison together before the general coercion rules see them.
//!
//! The general rules are made for queries over many tables: they turn text into numbers row by
//! row, compare 32-bit floats with 64-bit literals and decimals through a fixed scale. A predicate
//! means the column's own type, so here a literal takes the type of what it is compared with, and
//! operands that have nothing in common are refused with both their types.
//!
//! Numbers with a fraction arrive as decimals, which are exact. They stay decimals against
//! integers and decimals and become 64-bit floats everywhere else.

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, DataFusionError, ScalarValue};
use datafusion_expr::{BinaryExpr, Cast, Expr, ExprSchemable, Operator};

use crate::{ExprError, Result};

/// Adapts every comparison and every literal in an expression that has just been planned.
pub(crate) fn adapt(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let adapted = expr.transform_up(|expr| {
        adapt_node(expr, schema)
            .map(Transformed::yes)
            .map_err(|error| DataFusionError::External(Box::new(error)))
    });
    match adapted {
        Ok(done) => Ok(float(done.data)),
        Err(DataFusionError::External(error)) => Err(error
            .downcast()
            .map_or_else(|e| ExprError::types(e.to_string()), |e| *e)),
        Err(error) => Err(ExprError::planning(error)),
    }
}

/// Whether an operator compares its operands by their order.
pub(crate) fn is_comparison(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

fn adapt_node(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (left, right) = binary(*left, op, *right, schema)?;
            Ok(Expr::BinaryExpr(BinaryExpr::new(
                Box::new(left),
                op,
                Box::new(right),
            )))
        }
        Expr::InList(mut list) => {
            for item in &mut list.list {
                let value = std::mem::take(list.expr.as_mut());
                let (value, adapted) = compare(value, std::mem::take(item), schema)?;
                (*list.expr, *item) = (value, adapted);
            }
            Ok(Expr::InList(list))
        }
        Expr::Between(mut between) => {
            let (value, low) = compare(*between.expr, *between.low, schema)?;
            let (value, high) = compare(value, *between.high, schema)?;
            (*between.expr, *between.low, *between.high) = (value, low, high);
            Ok(Expr::Between(between))
        }
        Expr::Like(like) => {
            for side in [&like.expr, &like.pattern] {
                check_text(side, schema)?;
            }
            Ok(Expr::Like(like))
        }
        Expr::Cast(cast) => Ok(fold_time(cast)),
        Expr::TryCast(_) | Expr::Literal(..) => Ok(expr),
        other => other
            .map_children(|child| Ok(Transformed::yes(float(child))))
            .map(|done| done.data)
            .map_err(ExprError::planning),
    }
}

fn binary(left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> Result<(Expr, Expr)> {
    match op {
        _ if is_comparison(op) => compare(left, right, schema),
        Operator::And | Operator::Or => Ok((left, right)),
        _ if has_decimals(&left, schema) || has_decimals(&right, schema) => Ok((left, right)),
        _ => Ok((float(left), float(right))),
    }
}

/// Whether an operand that is no literal holds decimals.
fn has_decimals(expr: &Expr, schema: &DFSchema) -> bool {
    !is_literal(expr)
        && expr
            .get_type(schema)
            .is_ok_and(|data_type| data_type.is_decimal())
}

/// A date or time literal as a value, so that it can take a column's type.
fn fold_time(cast: Cast) -> Expr {
    match cast.expr.as_ref() {
        Expr::Literal(value, metadata) if kind(cast.field.data_type()) == Kind::Time => {
            match value.cast_to(cast.field.data_type()) {
                Ok(value) => Expr::Literal(value, metadata.clone()),
                Err(_) => Expr::Cast(cast),
            }
        }
        _ => Expr::Cast(cast),
    }
}

/// What kind of value a type holds, as far as comparing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Boolean,
    Number,
    Text,
    Binary,
    Time,
    Span,
    Nested,
    Other,
}

fn kind(data_type: &DataType) -> Kind {
    match data_type {
        DataType::Dictionary(_, values) => kind(values),
        DataType::RunEndEncoded(_, values) => kind(values.data_type()),
        DataType::Null => Kind::Null,
        DataType::Boolean => Kind::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Text,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => Kind::Binary,
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..) => Kind::Time,
        DataType::Duration(_) | DataType::Interval(_) => Kind::Span,
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..)
        | DataType::Struct(_)
        | DataType::Map(..) => Kind::Nested,
        other if other.is_numeric() => Kind::Number,
        _ => Kind::Other,
    }
}

fn compare(left: Expr, right: Expr, schema: &DFSchema) -> Result<(Expr, Expr)> {
    let (Ok(left_type), Ok(right_type)) = (left.get_type(schema), right.get_type(schema)) else {
        return Ok((left, right));
    };
    check_comparable((&left, &left_type), (&right, &right_type))?;
    match (is_literal(&left), is_literal(&right)) {
        (false, true) => fit(left, &left_type, right),
        (true, false) => fit(right, &right_type, left).map(|(right, left)| (left, right)),
        _ if left_type.is_floating() && right_type.is_decimal() => Ok((left, to_float(right))),
        _ if left_type.is_decimal() && right_type.is_floating() => Ok((to_float(left), right)),
        _ => Ok((
            date_as(left, &left_type, &right_type),
            date_as(right, &right_type, &left_type),
        )),
    }
}

fn check_comparable(left: (&Expr, &DataType), right: (&Expr, &DataType)) -> Result<()> {
    let kinds = [kind(left.1), kind(right.1)];
    let readable = |(side, other): (&Expr, Kind)| {
        is_literal(side) && matches!(other, Kind::Time | Kind::Span | Kind::Binary)
    };
    let fine = match kinds {
        [a, b] if a == b => true,
        [Kind::Null | Kind::Other, _] | [_, Kind::Null | Kind::Other] => true,
        [Kind::Text, other] => readable((left.0, other)),
        [other, Kind::Text] => readable((right.0, other)),
        _ => false,
    };
    if fine {
        return Ok(());
    }
    Err(ExprError::types(format!(
        "cannot compare {} with {}; a cast on one side may help",
        describe(left.0, left.1),
        describe(right.0, right.1)
    )))
}

/// Gives a literal the type of the value that it is compared with, if that loses nothing.
fn fit(value: Expr, data_type: &DataType, literal: Expr) -> Result<(Expr, Expr)> {
    let Expr::Literal(scalar, metadata) = literal else {
        return Ok((value, literal));
    };
    let target = match data_type {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    let fitted = match (kind(&scalar.data_type()), kind(target)) {
        (Kind::Text, Kind::Time | Kind::Span) => {
            let fitted = scalar.cast_to(target).map_err(|_| {
                ExprError::types(format!(
                    "cannot compare {} with '{scalar}', which is not a {target}",
                    describe(&value, data_type)
                ))
            })?;
            Some(fitted)
        }
        (Kind::Number, _) if target.is_floating() => {
            let wide = scalar.cast_to(&DataType::Float64);
            wide.and_then(|wide| wide.cast_to(target)).ok()
        }
        (Kind::Number, _) if scalar.data_type().is_decimal() && !target.is_decimal() => scalar
            .cast_to(target)
            .ok()
            .filter(|fitted| is_same(fitted, &scalar)),
        (Kind::Time, _) => return Ok(fit_time(value, target, scalar)),
        _ => None,
    };
    Ok((value, Expr::Literal(fitted.unwrap_or(scalar), metadata)))
}

/// A timestamp that nanoseconds cannot express lies beyond all values of a column that counts
/// them: it is compared with the column's microseconds.
fn fit_time(value: Expr, target: &DataType, scalar: ScalarValue) -> (Expr, Expr) {
    let fitted = scalar
        .cast_to(target)
        .ok()
        .filter(|fitted| is_same(fitted, &scalar));
    match (fitted, target, scalar.data_type()) {
        (Some(fitted), ..) => (value, Expr::Literal(fitted, None)),
        (None, DataType::Timestamp(TimeUnit::Nanosecond, zone), DataType::Timestamp(unit, _))
            if unit != TimeUnit::Nanosecond =>
        {
            let coarse = DataType::Timestamp(unit, zone.clone());
            (
                Expr::Cast(Cast::new(Box::new(value), coarse)),
                Expr::Literal(scalar, None),
            )
        }
        (None, _, other) => (date_as(value, target, &other), Expr::Literal(scalar, None)),
    }
}

/// A date that is compared with a timestamp as a timestamp of the same unit, which reaches as far
/// as the timestamps do.
fn date_as(expr: Expr, data_type: &DataType, other: &DataType) -> Expr {
    match (data_type, other) {
        (DataType::Date32 | DataType::Date64, DataType::Timestamp(unit, _))
            if *unit != TimeUnit::Nanosecond =>
        {
            Expr::Cast(Cast::new(Box::new(expr), other.clone()))
        }
        _ => expr,
    }
}

/// Whether a cast lost nothing.
fn is_same(cast: &ScalarValue, original: &ScalarValue) -> bool {
    !cast.is_null()
        && cast
            .cast_to(&original.data_type())
            .is_ok_and(|back| back == *original)
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(..))
}

/// A decimal literal as a 64-bit float; anything else as it is.
fn float(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(value, metadata) if value.data_type().is_decimal() => {
            let float = value.cast_to(&DataType::Float64).unwrap_or(value);
            Expr::Literal(float, metadata)
        }
        other => other,
    }
}

fn to_float(expr: Expr) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), DataType::Float64))
}

fn check_text(expr: &Expr, schema: &DFSchema) -> Result<()> {
    match expr.get_type(schema) {
        Ok(data_type) if !matches!(kind(&data_type), Kind::Text | Kind::Null) => {
            Err(ExprError::types(format!(
                "LIKE needs text, but {} is none",
                describe(expr, &data_type)
            )))
        }
        _ => Ok(()),
    }
}

/// An operand and its type, for messages.
fn describe(expr: &Expr, data_type: &DataType) -> String {
    match expr {
        Expr::Column(column) => format!("column '{}' ({data_type})", column.name),
        Expr::Literal(value, _) if kind(data_type) == Kind::Text => {
            format!("'{value}' ({data_type})")
        }
        Expr::Literal(value, _) => format!("{value} ({data_type})"),
        other => format!("{} ({data_type})", other.human_display()),
    }
}

//! Replaces the names in a syntax tree by the schema's and refuses what an expression over
//! single rows cannot hold.

use std::ops::ControlFlow;

use arrow_schema::{DataType, Field, Fields, Schema};
use datafusion_sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType as SqlType, Expr, Function, Ident, ObjectNamePart, Query,
    Subscript, TimezoneInfo, UnaryOperator, Value, VisitMut, VisitorMut,
};
use datafusion_sql::sqlparser::keywords::ALL_KEYWORDS;

use crate::functions::Functions;
use crate::{ExprError, Result, nearest_names};

/// Resolves every name in `expr` and brings literals into their canonical form.
pub(crate) fn resolve(expr: &mut Expr, schema: &Schema) -> Result<()> {
    match expr.visit(&mut Resolver {
        fields: schema.fields(),
    }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Marks an expression as one whose truth is wanted: `regexp_match`, which returns the groups of
/// a match, then says whether there is one.
pub(crate) fn truth(expr: &mut Expr) {
    match expr {
        Expr::Nested(inner) => truth(inner),
        Expr::Function(function)
            if function
                .name
                .to_string()
                .eq_ignore_ascii_case("regexp_match") =>
        {
            let call = Expr::Function(function.clone());
            *expr = Expr::IsNotNull(Box::new(call));
        }
        _ => {}
    }
}

struct Resolver<'a> {
    fields: &'a Fields,
}

impl VisitorMut for Resolver<'_> {
    type Break = ExprError;

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<ExprError> {
        ControlFlow::Break(ExprError::unsupported("a subquery"))
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<ExprError> {
        match self.expr(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Resolver<'_> {
    fn expr(&self, expr: &mut Expr) -> Result<()> {
        match expr {
            Expr::Identifier(name) => self.path(std::slice::from_mut(name)),
            Expr::CompoundIdentifier(names) => self.path(names),
            Expr::CompoundFieldAccess { access_chain, .. } => {
                access_chain.iter_mut().try_for_each(access)
            }
            Expr::Value(value) => literal(&mut value.value),
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr,
            } => {
                truth(expr);
                Ok(())
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And | BinaryOperator::Or,
                right,
            } => {
                truth(left);
                truth(right);
                Ok(())
            }
            Expr::Function(function) => check_function(function),
            Expr::Cast { data_type, .. } => {
                set_precision(data_type);
                Ok(())
            }
            Expr::TypedString(typed) => {
                set_precision(&mut typed.data_type);
                if let Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) =
                    &typed.value.value
                {
                    set_zone(&mut typed.data_type, text);
                }
                literal(&mut typed.value.value)
            }
            Expr::Like {
                escape_char: Some(escape),
                ..
            }
            | Expr::ILike {
                escape_char: Some(escape),
                ..
            } if !matches!(&escape.value, Value::SingleQuotedString(text) if text == "\\") => Err(
                ExprError::unsupported("an escape character other than the backslash"),
            ),
            Expr::RLike { .. } => Err(ExprError::unsupported("RLIKE; use regexp_like()")),
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => Err(ExprError::unsupported("*")),
            _ => Ok(()),
        }
    }

    /// A column, or a field below it.
    fn path(&self, names: &mut [Ident]) -> Result<()> {
        let mut fields = Some(self.fields);
        let mut above: Option<(String, &DataType)> = None;
        for name in names {
            let Some(inside) = fields else {
                let (path, data_type) = above.unwrap_or((String::new(), &DataType::Null));
                if matches!(data_type, DataType::Map(..)) {
                    return Ok(());
                }
                return Err(ExprError::types(format!(
                    "'{path}' has type {data_type}, which has no field '{}'",
                    name.value
                )));
            };
            let prefix = above
                .as_ref()
                .map(|(path, _)| format!("{path}."))
                .unwrap_or_default();
            let field = find(inside, name, &prefix)?;
            *name = identifier(field.name());
            fields = match field.data_type() {
                DataType::Struct(fields) => Some(fields),
                _ => None,
            };
            above = Some((format!("{prefix}{}", field.name()), field.data_type()));
        }
        Ok(())
    }
}

/// The field that a name stands for: the one with exactly this name or, for a bare name, the only
/// one that differs in case.
fn find<'a>(fields: &'a Fields, name: &Ident, prefix: &str) -> Result<&'a Field> {
    if let Some(field) = fields.iter().find(|field| *field.name() == name.value) {
        return Ok(field);
    }
    let lower = name.value.to_lowercase();
    let alike: Vec<&Field> = fields
        .iter()
        .map(AsRef::as_ref)
        .filter(|f| f.name().to_lowercase() == lower)
        .collect();
    match (alike.as_slice(), name.quote_style) {
        ([field], None) => Ok(field),
        _ => {
            let near: Vec<&str> = if alike.is_empty() {
                nearest_names(
                    &name.value,
                    fields.iter().map(|field| field.name().as_str()),
                )
            } else {
                alike.iter().map(|field| field.name().as_str()).collect()
            };
            Err(ExprError::UnknownColumn {
                name: format!("{prefix}{}", name.value),
                available: fields
                    .iter()
                    .map(|field| format!("{prefix}{}", field.name()))
                    .collect(),
                suggestions: near.iter().map(|near| format!("{prefix}{near}")).collect(),
            })
        }
    }
}

/// A name as it is written in canonical text: bare if it can be.
fn identifier(name: &str) -> Ident {
    let plain = name
        .chars()
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && ALL_KEYWORDS
            .binary_search(&name.to_ascii_uppercase().as_str())
            .is_err();
    if plain {
        Ident::new(name)
    } else {
        Ident::with_quote('`', name)
    }
}

/// Writes `x.name` after something that is not a plain path as `x['name']`.
fn access(step: &mut AccessExpr) -> Result<()> {
    let AccessExpr::Dot(field) = step else {
        return Ok(());
    };
    let Expr::Identifier(name) = field else {
        return Err(ExprError::unsupported(format!("the field access .{field}")));
    };
    let index = Expr::value(Value::SingleQuotedString(std::mem::take(&mut name.value)));
    *step = AccessExpr::Subscript(Subscript::Index { index });
    Ok(())
}

fn literal(value: &mut Value) -> Result<()> {
    match value {
        Value::DoubleQuotedString(text) => {
            *value = Value::SingleQuotedString(std::mem::take(text));
            Ok(())
        }
        Value::SingleQuotedString(_)
        | Value::HexStringLiteral(_)
        | Value::Number(..)
        | Value::Boolean(_)
        | Value::Null => Ok(()),
        Value::Placeholder(name) => Err(ExprError::unsupported(format!("the placeholder {name}"))),
        other => Err(ExprError::unsupported(format!("the literal {other}"))),
    }
}

fn check_function(function: &Function) -> Result<()> {
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else {
        return Err(ExprError::unsupported(format!(
            "the function {}",
            function.name
        )));
    };
    let key = match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    };
    if function.over.is_some() {
        return Err(ExprError::unsupported(format!(
            "the window function {key}()"
        )));
    }
    Functions::get().check(&key)?;
    if function.filter.is_some() || !function.within_group.is_empty() {
        return Err(ExprError::unsupported(format!(
            "an aggregate clause of {key}()"
        )));
    }
    Ok(())
}

/// Timestamps whose precision is not given count microseconds: nanoseconds would not reach
/// beyond the year 2262.
fn set_precision(data_type: &mut SqlType) {
    match data_type {
        SqlType::Timestamp(precision @ None, _) => *precision = Some(6),
        SqlType::Datetime(precision) => {
            *data_type = SqlType::Timestamp(Some(precision.unwrap_or(6)), TimezoneInfo::None);
        }
        _ => {}
    }
}

/// A timestamp with an offset is a point in time.
fn set_zone(data_type: &mut SqlType, text: &str) {
    let SqlType::Timestamp(_, zone @ TimezoneInfo::None) = data_type else {
        return;
    };
    let clock = text.split_once(':').map_or("", |(_, clock)| clock);
    if clock.ends_with(['Z', 'z']) || clock.contains(['+', '-']) {
        *zone = TimezoneInfo::WithTimeZone;
    }
}

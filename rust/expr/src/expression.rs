//! A computed column.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};
use datafusion_common::DFSchema;
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::simplify::SimplifyContext;
use datafusion_expr::{Expr, ExprSchemable};
use datafusion_optimizer::simplify_expressions::ExprSimplifier;
use datafusion_physical_expr::{PhysicalExpr, create_physical_expr};
use datafusion_sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use datafusion_sql::sqlparser::ast::Expr as SqlExpr;

use crate::functions::Functions;
use crate::{ExprError, Result, literals, overflow, parse, resolve, structs, zero};

/// A value computed from the columns of a row.
///
/// ```
/// use arrow_schema::{DataType, Field, Schema};
/// use pennon_expr::Expression;
///
/// let schema = Schema::new(vec![Field::new("price", DataType::Float64, true)]);
/// let total = Expression::parse("price * 1.19", &schema)?;
/// assert_eq!(total.data_type(), &DataType::Float64);
/// # Ok::<(), pennon_expr::ExprError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Expression {
    sql: Arc<str>,
    logical: Arc<Expr>,
    physical: Arc<dyn PhysicalExpr>,
    data_type: DataType,
    /// The needed columns, in the schema's order.
    fields: Arc<[Field]>,
    columns: Arc<[String]>,
}

impl Expression {
    /// Parses and checks an expression over the columns of `schema`.
    ///
    /// # Errors
    ///
    /// [`ExprError::Syntax`] when the text is not an expression, too long or too deeply nested;
    /// [`ExprError::UnknownColumn`] and [`ExprError::UnknownFunction`] with near names;
    /// [`ExprError::Type`] when operands do not go together; [`ExprError::Unsupported`] for
    /// subqueries, aggregates, window functions and placeholders; [`ExprError::Evaluation`] when
    /// a constant part fails.
    pub fn parse(sql: &str, schema: &Schema) -> Result<Self> {
        Self::plan(parse::parse(sql)?, schema)
    }

    /// Checks and plans a syntax tree.
    pub(crate) fn plan(mut ast: SqlExpr, schema: &Schema) -> Result<Self> {
        resolve::resolve(&mut ast, schema)?;
        let sql = ast.to_string().into();
        let scope = scope(schema.fields().iter().map(AsRef::as_ref))?;
        let logical = literals::adapt(to_logical(ast, &scope)?, &scope)?;
        let logical = simplify(logical, &scope)?;
        let columns: Vec<String> = schema
            .fields()
            .iter()
            .map(|field| field.name())
            .filter(|name| {
                logical
                    .column_refs()
                    .iter()
                    .any(|column| column.name == **name)
            })
            .cloned()
            .collect();
        let fields: Vec<Field> = schema
            .fields()
            .iter()
            .filter(|field| columns.contains(field.name()))
            .map(|field| field.as_ref().clone())
            .collect();
        let (physical, data_type) = to_physical(&logical, &fields)?;
        Ok(Self {
            sql,
            logical: Arc::new(logical),
            physical,
            data_type,
            fields: fields.into(),
            columns: columns.into(),
        })
    }

    /// The type of the values.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The top-level columns that the expression reads, in the schema's order. Columns that do
    /// not matter once constants are folded are not among them.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The checked and simplified expression, for those who reason about it.
    pub fn logical(&self) -> &Expr {
        &self.logical
    }

    /// Computes the value for every row.
    ///
    /// The batch must have the [`columns`](Self::columns), found by their names; their order and
    /// any further columns do not matter.
    ///
    /// # Errors
    ///
    /// [`ExprError::Evaluation`] when a column is missing or has another type, or when a value
    /// cannot be computed, such as a division by zero.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let rows = batch.num_rows();
        self.physical
            .evaluate(&self.bind(batch)?)
            .and_then(|value| value.into_array(rows))
            .map_err(|error| ExprError::evaluating(&error))
    }

    /// The needed columns of a batch, in the order in which they were planned.
    fn bind(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut fields = Vec::with_capacity(self.fields.len());
        let mut columns = Vec::with_capacity(self.fields.len());
        for field in self.fields.iter() {
            let name = field.name();
            let column = batch.column_by_name(name).ok_or_else(|| {
                ExprError::evaluation(format!("the batch has no column '{name}'"))
            })?;
            if !column.data_type().equals_datatype(field.data_type()) {
                return Err(ExprError::evaluation(format!(
                    "column '{name}' has type {} in the batch, not {}",
                    column.data_type(),
                    field.data_type()
                )));
            }
            fields.push(Field::new(name, column.data_type().clone(), true));
            columns.push(structs::push_nulls(column)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
            .map_err(|error| ExprError::evaluation(error.to_string()))
    }
}

/// The expression as canonical SQL: names resolved and quoted where they must be, text in single
/// quotes. Parsing it gives the same expression.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sql)
    }
}

/// The names that an expression may use. Every column may hold nulls, whatever its field
/// says: a version of the data may lack it.
fn scope<'a>(fields: impl Iterator<Item = &'a Field>) -> Result<Arc<DFSchema>> {
    let fields: Vec<Field> = fields
        .map(|field| field.clone().with_nullable(true))
        .collect();
    DFSchema::try_from(Schema::new(fields))
        .map(Arc::new)
        .map_err(ExprError::planning)
}

fn to_logical(ast: SqlExpr, scope: &DFSchema) -> Result<Expr> {
    let options = ParserOptions {
        parse_float_as_decimal: true,
        enable_ident_normalization: false,
        map_string_types_to_utf8view: false,
        ..ParserOptions::default()
    };
    SqlToRel::new_with_options(Functions::get(), options)
        .sql_to_expr(ast, scope, &mut PlannerContext::new())
        .map_err(ExprError::planning)
}

fn simplify(expr: Expr, scope: &Arc<DFSchema>) -> Result<Expr> {
    let context = SimplifyContext::builder()
        .with_schema(Arc::clone(scope))
        .with_config_options(Functions::get().options())
        .with_current_time()
        .build();
    let simplifier = ExprSimplifier::new(context);
    simplifier
        .coerce(expr, scope)
        .and_then(|expr| simplifier.simplify(expr))
        .and_then(|expr| zero::unsign(expr, scope))
        .map_err(ExprError::planning)
}

fn to_physical(expr: &Expr, fields: &[Field]) -> Result<(Arc<dyn PhysicalExpr>, DataType)> {
    let scope = scope(fields.iter())?;
    let data_type = expr.get_type(scope.as_ref()).map_err(ExprError::planning)?;
    let context = PhysicalPlanningContext::default();
    let physical = create_physical_expr(expr, &scope, &ExecutionProps::new(), &context)
        .and_then(overflow::checked)
        .map_err(ExprError::planning)?;
    Ok((physical, data_type))
}

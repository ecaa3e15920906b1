//! Which columns a scan returns.

use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use pennon_file::Schema;

use crate::{EngineError, Result};

/// The name of the column that holds row ids.
pub const ROW_ID: &str = "_rowid";
/// The name of the column that holds row addresses: the fragment's id in the upper half, the
/// row's position in its files in the lower.
pub const ROW_ADDRESS: &str = "_rowaddr";

/// The columns that a scan returns, in order.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// What is read from the files.
    pub(crate) stored: Schema,
    /// One entry per output column.
    pub(crate) columns: Vec<OutputColumn>,
    pub(crate) schema: SchemaRef,
}

/// Where an output column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputColumn {
    /// The stored column at this place of [`Output::stored`].
    Stored(usize),
    /// The row's address, under either of its names.
    Address,
}

impl Output {
    /// Resolves the names asked for, or takes all columns, and adds the system columns asked for.
    pub(crate) fn resolve(
        schema: &Schema,
        names: Option<&[String]>,
        row_id: bool,
        row_address: bool,
    ) -> Result<Self> {
        let all: Vec<String>;
        let names = match names {
            Some(names) => names,
            None => {
                all = schema.fields.iter().map(|f| f.name.clone()).collect();
                &all
            }
        };
        let is_system = |name: &str| is_system(schema, name);
        let stored_names: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| !is_system(name))
            .collect();
        let stored = select(schema, &stored_names)?;
        let arrow = stored.to_arrow()?;
        let mut columns = Vec::with_capacity(names.len() + 2);
        let mut fields = Vec::with_capacity(names.len() + 2);
        let mut next = 0;
        let extra = [(row_id, ROW_ID), (row_address, ROW_ADDRESS)];
        let extra = extra
            .into_iter()
            .filter(|(wanted, name)| *wanted && !names.iter().any(|n| n == name))
            .map(|(_, name)| name);
        for name in names.iter().map(String::as_str).chain(extra) {
            if is_system(name) {
                columns.push(OutputColumn::Address);
                fields.push(Arc::new(ArrowField::new(name, DataType::UInt64, true)));
            } else {
                columns.push(OutputColumn::Stored(next));
                fields.push(Arc::clone(&arrow.fields()[next]));
                next += 1;
            }
        }
        let schema = Arc::new(ArrowSchema::new_with_metadata(
            fields,
            arrow.metadata().clone(),
        ));
        Ok(Self {
            stored,
            columns,
            schema,
        })
    }
}

/// Whether a name is that of a system column, and not of a stored one.
pub(crate) fn is_system(schema: &Schema, name: &str) -> bool {
    (name == ROW_ID || name == ROW_ADDRESS) && !schema.fields.iter().any(|f| f.name == name)
}

/// The part of `schema` that the names ask for, in their order. A name that is not there is
/// refused with the nearest one that is. Of large objects it is where they are, not their bytes.
pub(crate) fn select(schema: &Schema, names: &[&str]) -> Result<Schema> {
    let mut fields = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            return Err(EngineError::invalid_input(format!(
                "column '{name}' is asked for twice"
            )));
        }
        match schema.fields.iter().find(|field| field.name == *name) {
            Some(field) => fields.push(field.described()),
            None => return Err(unknown_column(schema, name)),
        }
    }
    Ok(Schema {
        fields,
        metadata: schema.metadata.clone(),
    })
}

fn unknown_column(schema: &Schema, name: &str) -> EngineError {
    let names: Vec<&str> = schema
        .fields
        .iter()
        .map(|field| field.name.as_str())
        .collect();
    let hint = pennon_expr::nearest_names(name, names.iter().copied())
        .first()
        .map(|near| format!(" (did you mean '{near}'?)"))
        .unwrap_or_default();
    EngineError::UnknownColumn {
        name: name.to_owned(),
        hint,
        available: names.join(", "),
    }
}

//! The functions that an expression may call, and the planner's view of them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow_schema::DataType;
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, TableReference};
use datafusion_expr::planner::{ContextProvider, ExprPlanner};
use datafusion_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF};
use datafusion_functions::core::planner::CoreFunctionPlanner;
use datafusion_functions::datetime::planner::DatetimeFunctionPlanner;
use datafusion_functions::unicode::planner::UnicodeFunctionPlanner;
use datafusion_functions_nested::planner::{FieldAccessPlanner, NestedFunctionPlanner};

use crate::{ExprError, nearest_names};

/// Names that are no mistake, but belong to functions over many rows.
const AGGREGATES: [&str; 16] = [
    "any_value",
    "array_agg",
    "avg",
    "bool_and",
    "bool_or",
    "count",
    "first_value",
    "last_value",
    "max",
    "mean",
    "median",
    "min",
    "stddev",
    "string_agg",
    "sum",
    "var",
];

static FUNCTIONS: LazyLock<Functions> = LazyLock::new(Functions::new);

/// Every function by name and alias, made once.
pub(crate) struct Functions {
    by_name: HashMap<String, Arc<ScalarUDF>>,
    planners: Vec<Arc<dyn ExprPlanner>>,
    options: Arc<ConfigOptions>,
}

impl Functions {
    /// The one registry.
    pub(crate) fn get() -> &'static Self {
        &FUNCTIONS
    }

    fn new() -> Self {
        let mut by_name = HashMap::new();
        let functions = datafusion_functions::all_default_functions();
        let nested = datafusion_functions_nested::all_default_nested_functions();
        for function in functions.into_iter().chain(nested) {
            for alias in function.aliases() {
                by_name.insert(alias.clone(), Arc::clone(&function));
            }
            by_name.insert(function.name().to_owned(), function);
        }
        let mut options = ConfigOptions::new();
        options.execution.time_zone = Some("+00:00".to_owned());
        Self {
            by_name,
            planners: vec![
                Arc::new(CoreFunctionPlanner::default()),
                Arc::new(DatetimeFunctionPlanner),
                Arc::new(UnicodeFunctionPlanner),
                Arc::new(NestedFunctionPlanner),
                Arc::new(FieldAccessPlanner),
            ],
            options: Arc::new(options),
        }
    }

    pub(crate) fn options(&self) -> Arc<ConfigOptions> {
        Arc::clone(&self.options)
    }

    /// Refuses a name that no function has.
    pub(crate) fn check(&self, name: &str) -> Result<(), ExprError> {
        if self.by_name.contains_key(name) {
            return Ok(());
        }
        if AGGREGATES.contains(&name) {
            return Err(ExprError::unsupported(format!(
                "the aggregate function {name}()"
            )));
        }
        let mut names: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
        names.sort_unstable();
        let suggestions = nearest_names(name, names.into_iter())
            .into_iter()
            .map(str::to_owned)
            .collect();
        Err(ExprError::UnknownFunction {
            name: name.to_owned(),
            suggestions,
        })
    }
}

impl ContextProvider for Functions {
    fn get_table_source(
        &self,
        name: TableReference,
    ) -> datafusion_common::Result<Arc<dyn TableSource>> {
        Err(DataFusionError::NotImplemented(format!("the table {name}")))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.planners
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.by_name.get(name).map(Arc::clone)
    }

    fn get_higher_order_meta(&self, _name: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, _name: &str) -> Option<Arc<AggregateUDF>> {
        None
    }

    fn get_window_meta(&self, _name: &str) -> Option<Arc<WindowUDF>> {
        None
    }

    fn get_variable_type(&self, _variable_names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        self.by_name.keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udwf_names(&self) -> Vec<String> {
        Vec::new()
    }
}

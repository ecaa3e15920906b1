//! Makes integer arithmetic fail where it would wrap around.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::BinaryExpr;

/// Replaces every sum, difference and product by its checked form.
pub(crate) fn checked(expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
    expr.transform_up(|expr| match expr.downcast_ref::<BinaryExpr>() {
        Some(binary)
            if matches!(
                binary.op(),
                Operator::Plus | Operator::Minus | Operator::Multiply
            ) =>
        {
            let checked = BinaryExpr::new(
                Arc::clone(binary.left()),
                *binary.op(),
                Arc::clone(binary.right()),
            )
            .with_fail_on_overflow(true);
            Ok(Transformed::yes(Arc::new(checked) as Arc<dyn PhysicalExpr>))
        }
        _ => Ok(Transformed::no(expr)),
    })
    .map(|done| done.data)
}

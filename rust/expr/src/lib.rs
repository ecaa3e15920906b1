//! SQL predicates and expressions over record batches

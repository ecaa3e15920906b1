//! An independent implementation of the Lance columnar format.

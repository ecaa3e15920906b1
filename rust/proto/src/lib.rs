//! Messages of the Lance file and table formats

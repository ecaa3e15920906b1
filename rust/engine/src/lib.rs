//! Where files, tables and expressions meet: writing, scanning, taking and deleting rows

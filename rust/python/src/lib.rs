//! Python bindings of pennon.

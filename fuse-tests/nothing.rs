//! Tests alone: see `tests`.

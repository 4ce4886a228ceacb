//! Seeded, pure sources of keys and values.

//! The driver with servers that behave as HBase does, or wrongly.

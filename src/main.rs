//! Parse, run, exit: the only place that ends the process.

fn main() {}

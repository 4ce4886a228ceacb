//! Parse, run, exit: the only place that ends the process.

use std::process::ExitCode;

fn main() -> ExitCode {
    springload::main(std::env::args_os())
}

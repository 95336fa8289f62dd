//! The program: arguments in, exit code out. Everything else is in the library.

fn main() -> heapdrift::cli::Exit {
    heapdrift::cli::run(std::env::args_os())
}

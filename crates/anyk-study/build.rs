//! Names the sources of this crate as the library names its own.

#[path = "../anyk/build.rs"]
mod sources;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    sources::main()
}

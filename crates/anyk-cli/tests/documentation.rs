//! The console examples in the documentation run, and print what it says.

#![allow(clippy::unwrap_used)]

#[test]
fn documented_commands() {
    // As a reader would: from the project's root.
    std::env::set_current_dir("../..").unwrap();
    trycmd::TestCases::new().case("README.md").case("docs/how-to.md");
}

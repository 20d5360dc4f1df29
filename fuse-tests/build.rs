//! Tells the tests where `pump` of the same profile lies: cargo tells that to tests of pump's own package alone.

use std::path::Path;

fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo tells it");
    // TARGET/PROFILE/build/fuse-tests-…/out
    let profile = Path::new(&out).ancestors().nth(3).expect("cargo's folders");
    println!("cargo::rustc-env=CARGO_BIN_EXE_pump={}", profile.join("pump").display());
    println!("cargo::rerun-if-changed=build.rs");
}

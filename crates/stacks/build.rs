//! With the feature `bpf-cc`: compiles the algorithms for the kernel by clang, with HighSpeed's table.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "bpf-cc")]
    algorithms::build();
}

/// The simulator's own file, so that the table of the kernel and that of the simulation are one.
#[cfg(feature = "bpf-cc")]
#[path = "../netlab/src/congestion/window/highspeed.rs"]
#[allow(dead_code)]
mod highspeed;

#[cfg(feature = "bpf-cc")]
mod algorithms {
    use std::fmt::Write as _;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::highspeed;

    const TABLE: &str = "../netlab/src/congestion/window/highspeed.rs";
    const SOURCE: &str = "src/bpf/stacks.bpf.c";
    const PACKAGES: &str = "clang libbpf-dev libelf-dev zlib1g-dev pkg-config make (Debian's names)";

    pub fn build() {
        [SOURCE, TABLE].iter().for_each(|file| println!("cargo::rerun-if-changed={file}"));
        println!("cargo::rerun-if-env-changed=CLANG");
        let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo tells it"));
        std::fs::write(out.join("highspeed_table.h"), table()).expect("OUT_DIR can be written to");
        if let Err(why) = compile(&out) {
            why.lines().for_each(|line| println!("cargo::error={line}"));
        }
    }

    /// As C.
    fn table() -> String {
        let rows = highspeed::table();
        let mut text = format!("#define HIGHSPEED_ROWS {}\n", rows.len());
        text += "static const struct highspeed_row highspeed_table[HIGHSPEED_ROWS] = {\n";
        for row in rows {
            writeln!(text, "\t{{ {}, {} }},", row.window_segments, row.decrease_256).expect("a string");
        }
        text + "};\n"
    }

    fn compile(out: &Path) -> Result<(), String> {
        let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".into());
        let mut command = Command::new(&clang);
        command.args(["-target", "bpf", "-O2", "-g", "-Wall", "-Werror", "-c", SOURCE, "-I"]).arg(out);
        let compiled = command.arg("-o").arg(out.join("stacks.bpf.o")).output();
        let compiled = compiled
            .map_err(|error| format!("{clang}: {error}; the feature bpf-cc needs the packages {PACKAGES}"))?;
        if compiled.status.success() {
            return Ok(());
        }
        Err(format!(
            "{}\n{clang} did not compile {SOURCE}; the feature bpf-cc needs the packages {PACKAGES}",
            String::from_utf8_lossy(&compiled.stderr)
        ))
    }
}

//! The scripts and styles of a page, and the policy that lets a browser run these and load nothing.
//!
//! Must not know: what a page says.

/// uPlot; see vendor/uplot/README.md.
pub const LIBRARY: &str = include_str!("../../../vendor/uplot/uPlot.iife.min.js");
/// Its style.
pub const LIBRARY_STYLE: &str = include_str!("../../../vendor/uplot/uPlot.min.css");
/// Draws the charts.
pub const SCRIPT: &str = include_str!("page.js");
/// The page's own style.
pub const STYLE: &str = include_str!("page.css");

/// The SHA-256 sums of these and of the pictures' style, as a policy names them. The test below says what they must be.
const LIBRARY_SUM: &str = "GcjUxq2Ikpp59K5J1vcWFWbf0Lo9FcxJXpdPeH63jx8=";
const LIBRARY_STYLE_SUM: &str = "32MMao1vjur/JktQ9zzlsRT2Rv/ZoLt08EmwoAE1+gQ=";
const SCRIPT_SUM: &str = "zeIzsOd6KFWLGGRzWY2LmjrWH7wuxJXb4UDdK5LK16A=";
const PICTURE_STYLE_SUM: &str = "NqB0jYb9dR+U56GOf//ePpFbW3FgHMjSaYTIK8OjBIA=";
const STYLE_SUM: &str = "OyeaP3Nl53Kz1rhnpaNP9RcH5RoD7P3wIDSpEyFJO80=";

/// The Content-Security-Policy: nothing but these scripts and styles, and no request to anywhere.
pub fn policy() -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{LIBRARY_SUM}' 'sha256-{SCRIPT_SUM}'; style-src \
         'sha256-{LIBRARY_STYLE_SUM}' 'sha256-{STYLE_SUM}' 'sha256-{PICTURE_STYLE_SUM}'; base-uri 'none'; form-action 'none'"
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    /// The sum in hexadecimal digits, by coreutils.
    fn sha256(text: &str) -> String {
        let mut command = Command::new("sha256sum");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("coreutils are installed");
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
        let out = child.wait_with_output().expect("it ends").stdout;
        String::from_utf8(out).expect("text").split_whitespace().next().expect("a sum").to_string()
    }

    /// RFC 4648, section 4.
    fn base64(hexadecimal: &str) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let bits: String = hexadecimal
            .chars()
            .map(|digit| format!("{:04b}", digit.to_digit(16).expect("a digit")))
            .collect();
        let letters = bits.as_bytes().chunks(6).map(|six| {
            let six = format!("{:0<6}", std::str::from_utf8(six).expect("digits"));
            LETTERS[usize::from_str_radix(&six, 2).expect("bits")] as char
        });
        let text: String = letters.collect();
        format!("{text}{}", "=".repeat((4 - text.len() % 4) % 4))
    }

    #[test]
    fn the_policy_names_what_is_in_the_page() {
        for (name, text, sum) in [
            ("LIBRARY_SUM", LIBRARY, LIBRARY_SUM),
            ("LIBRARY_STYLE_SUM", LIBRARY_STYLE, LIBRARY_STYLE_SUM),
            ("SCRIPT_SUM", SCRIPT, SCRIPT_SUM),
            ("STYLE_SUM", STYLE, STYLE_SUM),
            ("PICTURE_STYLE_SUM", crate::report::svg::STYLE, PICTURE_STYLE_SUM),
        ] {
            assert_eq!(base64(&sha256(text)), sum, "{name}");
            assert!(!text.contains("</script") && !text.contains("</style"), "{name} would end its element");
        }
    }

    #[test]
    fn the_library_is_the_one_that_its_page_names() {
        let readme = include_str!("../../../vendor/uplot/README.md");
        let licence = include_str!("../../../vendor/uplot/LICENSE");
        for (name, text) in
            [("uPlot.iife.min.js", LIBRARY), ("uPlot.min.css", LIBRARY_STYLE), ("LICENSE", licence)]
        {
            assert!(readme.contains(&format!("| {} | `{name}` |", sha256(text))), "{name}");
        }
        assert!(LIBRARY.starts_with("/*! https://github.com/leeoniya/uPlot (v1.6.32) */"));
        assert!(licence.starts_with("The MIT License"));
    }
}

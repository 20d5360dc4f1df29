//! Writes docs/rooms.md: each module of each crate with what it does, from the header of its file.
//!
//! A cell is the first sentence of the header. One of more than 25 words loses its parentheses, then what follows the
//! last colon, semicolon or comma that fits: write the thing first and the rest behind it.
//!
//! Must not know: what the modules do; it reads their headers.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const PAGE: &str = "docs/rooms.md";
/// A cell that is longer is not read at a glance.
const CELL_WORDS_MAX: usize = 25;

/// A file of a crate: its path below the crate's `src`, and what it does.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ModuleRow {
    /// The path without its ending, by folders: a module comes before what lies in it.
    path: Vec<String>,
    cell: String,
}

/// Writes the page.
pub fn write(root: &Path) -> Result<()> {
    let page = page(root)?;
    fs::write(root.join(PAGE), &page).with_context(|| format!("write {PAGE}"))?;
    println!("{PAGE}: {} modules", page.lines().filter(|line| line.starts_with("| `")).count());
    Ok(())
}

/// The page, as the headers give it.
fn page(root: &Path) -> Result<String> {
    let mut page = String::from(
        "\
# Rooms

Every module with the first sentence of its header. ARCHITECTURE.md leads to the folder of a change; search this page
for the file. `cargo xtask rooms` writes it from the headers, and `cargo test -p xtask` fails when it is out of date.
",
    );
    let mut crates: Vec<_> = fs::read_dir(root.join("crates"))
        .context("crates")?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    crates.sort();
    for name in crates {
        let mut rows = Vec::new();
        collect(&root.join("crates").join(&name).join("src"), &[], &mut rows)?;
        rows.sort();
        writeln!(page, "\n## crates/{name}/src\n\n| file | what it does |\n|---|---|")?;
        for row in rows {
            writeln!(page, "| `{}.rs` | {} |", row.path.join("/"), row.cell.replace('|', "\\|"))?;
        }
    }
    Ok(page)
}

/// The modules in a folder and below it; `above` are the folders between it and the crate's `src`. Tests are no rooms.
fn collect(folder: &Path, above: &[String], rows: &mut Vec<ModuleRow>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let inner = [above, std::slice::from_ref(&stem)].concat();
        if path.is_dir() {
            collect(&path, &inner, rows)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") && stem != "tests" {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            rows.push(ModuleRow { path: inner, cell: cell(&text) });
        }
    }
    Ok(())
}

/// What a file says of itself, in at most 25 words.
fn cell(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let sentence = first_sentence(&paragraph.join(" ").replace("[`", "`").replace("`]", "`"));
    let short = if fits(&sentence) { sentence } else { without_parentheses(&sentence) };
    if fits(&short) { short } else { cut(&short) }
}

fn fits(text: &str) -> bool {
    text.split_whitespace().count() <= CELL_WORDS_MAX
}

/// The text up to the first full stop that ends a word and has a capital, or nothing, behind it.
fn first_sentence(text: &str) -> String {
    let is_end = |at: usize| {
        let behind = text[at + 1..].trim_start();
        let begins = behind.starts_with(|c: char| c.is_uppercase() || c == '`' || c == '[');
        text[at + 1..].is_empty() || (text[at + 1..].starts_with(' ') && begins)
    };
    let end = text.match_indices('.').map(|(at, _)| at).find(|&at| is_end(at));
    end.map_or(text, |at| &text[..=at]).to_owned()
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0;
    let mut kept = String::new();
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    let words: Vec<&str> = kept.split_whitespace().collect();
    [" .", " ,", " ;", " :"].iter().fold(words.join(" "), |text, gap| text.replace(gap, &gap[1..]))
}

/// The part before the last mark that leaves few enough words; all of a text without such a mark.
fn cut(text: &str) -> String {
    let mut ends = text.match_indices([':', ';', ',']).map(|(at, _)| at);
    let end = ends.rfind(|&at| text[at + 1..].starts_with(' ') && fits(&text[..at]));
    end.map_or_else(|| text.to_owned(), |at| format!("{}.", &text[..at]))
}

#[cfg(test)]
mod tests;

//! Text as HTML: whatever stands in a row comes out as letters.
//!
//! Must not know: what a page says.

use std::fmt::Display;

/// A part of a page.
#[derive(Debug, Default)]
pub struct Html(pub String);

impl Html {
    /// A heading of a level from 1.
    pub fn heading(&mut self, level: u8, words: &str) {
        self.0 += &format!("<h{level}>{}</h{level}>\n", text(words));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, words: &str) {
        self.0 += &format!("<p>{}</p>\n", text(words));
    }

    /// A list, if it has any entries.
    pub fn list(&mut self, entries: impl IntoIterator<Item = impl Display>) {
        let entries: Vec<String> =
            entries.into_iter().map(|entry| format!("<li>{}</li>\n", text(&entry.to_string()))).collect();
        if !entries.is_empty() {
            self.0 += &format!("<ul>\n{}</ul>\n", entries.concat());
        }
    }

    /// A table. Columns whose entries are all figures stand to the right.
    pub fn table(&mut self, head: &[impl AsRef<str>], rows: &[Vec<String>]) {
        let is_figures = |at: usize| {
            let begins =
                |row: &Vec<String>| row[at].starts_with(|it: char| it.is_ascii_digit() || "+-".contains(it));
            rows.iter().all(|row| row[at].is_empty() || begins(row))
        };
        let classes: Vec<&str> =
            (0..head.len()).map(|at| if is_figures(at) { " class=\"figure\"" } else { "" }).collect();
        let cells = |kind: &str, entries: Vec<&str>| -> String {
            let entries = entries.iter().zip(&classes);
            entries.map(|(entry, class)| format!("<{kind}{class}>{}</{kind}>", text(entry))).collect()
        };
        self.0 += "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>";
        self.0 += &cells("th", head.iter().map(AsRef::as_ref).collect());
        self.0 += "</tr></thead>\n<tbody>\n";
        for row in rows {
            self.0 += &format!("<tr>{}</tr>\n", cells("td", row.iter().map(String::as_str).collect()));
        }
        self.0 += "</tbody></table></div>\n";
    }

    /// Lines as they are.
    pub fn lines(&mut self, lines: &str) {
        let lines: Vec<String> = lines.lines().map(text).collect();
        self.0 += &format!("<pre>{}</pre>\n", lines.join("\n"));
    }

    /// Links to files beside the page.
    pub fn links(&mut self, files: &[String]) {
        let links = files.iter().map(|file| format!("<a href=\"{0}\">{0}</a>", text(file)));
        self.0 += &format!("<p>{}</p>\n", links.collect::<Vec<_>>().join(", "));
    }

    /// A folded part: only readers who want to read it open it.
    pub fn folded(&mut self, title: &str, inside: Html) {
        self.0 += &format!("<details><summary>{}</summary>\n{}</details>\n", text(title), inside.0);
    }
}

/// Letters that HTML would read as its own are named, and control characters are escaped.
pub fn text(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for letter in datapump::shown(words.as_bytes()).chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_words_come_out_as_letters() {
        for (words, shown) in [
            ("cp a b", "cp a b"),
            ("</script><script>alert(1)</script>", "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("\" onload='x' &", "&quot; onload=&#39;x&#39; &amp;"),
            ("a\u{1b}[2J\0\u{202e}", "a\\u{1b}[2J\\u{0}\\u{202e}"),
        ] {
            assert_eq!(text(words), shown);
        }
        let mut html = Html::default();
        html.table(&["<b>"], &[vec!["<td>".into()]]);
        html.lines("<i>\n&");
        html.list(["<li>"]);
        html.folded("<u>", Html::default());
        for part in ["<b>", "<td><td>", "<i>", "<li><li>", "<u>"] {
            assert!(!html.0.contains(part), "{part} in {}", html.0);
        }
    }
}

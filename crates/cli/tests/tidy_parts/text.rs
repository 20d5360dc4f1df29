//! Splits a Rust file into code and comments, line by line as in the original.
//!
//! Must not know: which words or lengths are allowed.

/// A file of the tree, with its code and its comments told apart.
pub struct File {
    /// From the root of the tree, with `/` between names.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// The text with comments and the insides of literals turned into blanks: same lines, same columns.
    pub code: String,
    /// The text with everything but comments turned into blanks.
    pub comments: String,
    /// Where literals begin and end, in bytes.
    literals: Vec<(usize, usize)>,
}

/// An identifier or keyword in the code.
#[derive(Clone, Copy)]
pub struct Word<'a> {
    /// The word itself.
    pub text: &'a str,
    /// Where it starts, in bytes.
    pub start: usize,
    /// Its line, from 1.
    pub line: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl File {
    /// A file of this path and text.
    pub fn new(path: &str, text: &str) -> File {
        let (mut code, mut comments, mut literals) = (Vec::new(), Vec::new(), Vec::new());
        if path.ends_with(".rs") {
            let bytes = text.as_bytes();
            let mut at = 0;
            while at < bytes.len() {
                let (end, kind) = piece(bytes, at);
                if kind == Kind::Literal {
                    literals.push((at, end));
                }
                for &byte in &bytes[at..end] {
                    let blank = if byte == b'\n' { byte } else { b' ' };
                    code.push(if kind == Kind::Code { byte } else { blank });
                    comments.push(if kind == Kind::Comment { byte } else { blank });
                }
                at = end;
            }
        }
        let whole = |bytes| String::from_utf8(bytes).expect("pieces end between characters");
        File { path: path.into(), text: text.into(), code: whole(code), comments: whole(comments), literals }
    }

    /// Is it Rust?
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The words of the code, in order.
    pub fn words(&self) -> Vec<Word<'_>> {
        let bytes = self.code.as_bytes();
        let (mut words, mut at, mut line) = (Vec::new(), 0, 1);
        while at < bytes.len() {
            let end = word_end(bytes, at);
            if end > at {
                words.push(Word { text: &self.code[at..end], start: at, line });
                at = end;
            } else {
                line += usize::from(bytes[at] == b'\n');
                at += 1;
            }
        }
        words
    }

    /// The literals before the unit tests, in order, with their places and quotes.
    pub fn literals(&self) -> impl Iterator<Item = (usize, &str)> {
        let until = self.tests_start();
        let before_tests = self.literals.iter().filter(move |(start, _)| *start < until);
        before_tests.map(|&(start, end)| (start, &self.text[start..end]))
    }

    /// The code before this place, without trailing blanks.
    pub fn before(&self, start: usize) -> &str {
        self.code[..start].trim_end()
    }

    /// The code behind this word, without leading blanks.
    pub fn behind(&self, word: Word<'_>) -> &str {
        self.code[word.start + word.text.len()..].trim_start()
    }

    /// Where the unit tests at the file's end begin, in bytes; the file's length when it has none.
    pub fn tests_start(&self) -> usize {
        let marks = self.code.match_indices("#[cfg(test)]").map(|(start, _)| start);
        // The tests of another file are one declaration here, not the end.
        let has_body = |start: &usize| {
            self.code[*start..].find(['{', ';']).is_some_and(|at| self.code[start + at..].starts_with('{'))
        };
        marks.into_iter().find(has_body).unwrap_or(self.code.len())
    }

    /// The line of this place, from 1.
    pub fn line_of(&self, start: usize) -> usize {
        1 + self.text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count()
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|&&byte| is_word(byte)).count()
}

/// The end and the kind of the piece that begins here.
fn piece(bytes: &[u8], at: usize) -> (usize, Kind) {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        let len = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        return (at + len, Kind::Comment);
    }
    if rest.starts_with(b"/*") {
        return (block_comment_end(bytes, at), Kind::Comment);
    }
    match rest[0] {
        b'"' => (string_end(bytes, at), Kind::Literal),
        b'\'' => quote(bytes, at),
        byte if is_word(byte) => match raw_string_end(bytes, at) {
            Some(end) => (end, Kind::Literal),
            None => (word_end(bytes, at), Kind::Code),
        },
        _ => (at + 1, Kind::Code),
    }
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < bytes.len() {
        let step = match &bytes[at..] {
            [b'/', b'*', ..] => 1,
            [b'*', b'/', ..] => -1,
            _ => 0,
        };
        depth += step;
        at += if step == 0 { 1 } else { 2 };
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of `r"…"`, `br#"…"#` and their like, if one begins here.
fn raw_string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let word = word_end(bytes, start);
    if ![&b"r"[..], b"br", b"cr"].contains(&&bytes[start..word]) {
        return None;
    }
    let marks = bytes[word..].iter().take_while(|&&byte| byte == b'#').count();
    if bytes.get(word + marks) != Some(&b'"') {
        return None;
    }
    let inside = word + marks + 1;
    let closing = [&b"\""[..], &b"#".repeat(marks)].concat();
    let len = bytes[inside..].windows(closing.len()).position(|window| window == closing);
    Some(len.map_or(bytes.len(), |len| inside + len + closing.len()))
}

/// A character, or the mark of a lifetime.
fn quote(bytes: &[u8], start: usize) -> (usize, Kind) {
    let inside = start + 1;
    let first = if bytes.get(inside) == Some(&b'\\') {
        inside + 2
    } else {
        // One character, however many bytes it has.
        let more = bytes.iter().skip(inside + 1).take_while(|&&byte| byte & 0xC0 == 0x80).count();
        let end = inside + 1 + more;
        if bytes.get(end) != Some(&b'\'') {
            return (start + 1, Kind::Code);
        }
        end
    };
    let len = bytes.iter().skip(first).position(|&byte| byte == b'\'');
    (len.map_or(bytes.len(), |len| first + len + 1), Kind::Literal)
}

#[cfg(test)]
mod tests {
    use super::File;

    #[test]
    fn code_and_comments_are_told_apart() {
        for (text, code, comments) in [
            ("a // b\nc", "a     \nc", "  // b\n "),
            ("a /* b /* c */ d */ e", "a                   e", "  /* b /* c */ d */  "),
            ("a \"// b \\\" c\" d", "a             d", "               "),
            ("r#\"a \" b\"# c", "           c", "            "),
            ("for \"a\"", "for    ", "       "),
            ("'a' '\\'' '\\u{1F}' 'ä' &'a b", "                       &'a b", "                            "),
        ] {
            let file = File::new("a.rs", text);
            assert_eq!((file.code.as_str(), file.comments.as_str()), (code, comments), "{text}");
        }
    }
}

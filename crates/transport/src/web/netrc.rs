//! The file of logins that ftp(1) and curl read: `machine NAME login USER password WORD`, `default`, `macdef`.
//!
//! Must not know: where the file is, who is asked.

/// User and password of a host, or of the default, as they stand there: in no encoding.
///
/// As curl reads it: the first entry that has a password counts; words that mean nothing are passed by one at a time; a
/// line whose first letter is `#` is a comment, and `#` anywhere else is a letter like others. Other than in curl the
/// value of a word of another host's entry is no word itself, and a macro is one behind any entry.
pub(super) fn find(file: &[u8], host: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let without_comments = without_comments(file);
    let mut words = NetrcWords { rest: &without_comments, is_broken: false };
    let (mut is_ours, mut user, mut password) = (false, None, None);
    while let Some(word) = words.take() {
        match &word.to_ascii_lowercase()[..] {
            b"machine" | b"default" if is_ours && password.is_some() => break,
            b"machine" => {
                is_ours = words.take()?.eq_ignore_ascii_case(host.as_bytes());
                user = None;
            }
            b"default" => (is_ours, user) = (true, None),
            b"macdef" => words.pass_macro(),
            b"login" if is_ours => user = words.take(),
            b"password" if is_ours => password = words.take(),
            b"login" | b"password" | b"account" => drop(words.take()),
            _ => {}
        }
        if user.is_some() && password.is_some() {
            break;
        }
    }
    match (user, password) {
        (None, None) => None,
        _ if words.is_broken => None,
        // An entry that is the last one needs no password.
        (user, password) => is_ours.then(|| (user.unwrap_or_default(), password.unwrap_or_default())),
    }
}

fn without_comments(file: &[u8]) -> Vec<u8> {
    let is_comment = |line: &&[u8]| line.trim_ascii_start().starts_with(b"#");
    file.split_inclusive(|&byte| byte == b'\n').filter(|line| !is_comment(line)).collect::<Vec<_>>().concat()
}

/// The rest of the file, word by word.
struct NetrcWords<'file> {
    rest: &'file [u8],
    /// A quote does not end: nobody knows what is meant.
    is_broken: bool,
}

impl NetrcWords<'_> {
    /// The next word between blanks, or between quotes, where a backslash takes the next letter as it is. Nothing where
    /// the file ends, or a quote does not.
    fn take(&mut self) -> Option<Vec<u8>> {
        // Whatever is below a letter is a blank.
        let begin = self.rest.iter().position(|&byte| byte > b' ')?;
        self.rest = &self.rest[begin..];
        match self.rest.split_first() {
            Some((b'"', quoted)) => {
                let word = self.take_quoted(quoted);
                self.is_broken |= word.is_none();
                word
            }
            _ => {
                let end = self.rest.iter().position(|&byte| byte <= b' ').unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                Some(word.to_vec())
            }
        }
    }

    fn take_quoted(&mut self, quoted: &[u8]) -> Option<Vec<u8>> {
        let (mut word, mut bytes) = (Vec::new(), quoted.iter());
        loop {
            match bytes.next()? {
                b'"' => break,
                b'\\' => word.push(match bytes.next()? {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => *other,
                }),
                byte => word.push(*byte),
            }
        }
        self.rest = &self.rest[self.rest.len() - bytes.len()..];
        Some(word)
    }

    /// A macro ends with a line that is blank.
    fn pass_macro(&mut self) {
        let mut lines = self.rest.split_inclusive(|&byte| byte == b'\n');
        let name = lines.next().map_or(0, <[u8]>::len);
        let body: usize = lines.take_while(|line| !line.trim_ascii().is_empty()).map(<[u8]>::len).sum();
        self.rest = &self.rest[name + body..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What curl 8 sends for these, and 7.88 but for comments: a file, and what is sent to the host `one`.
    #[test]
    fn a_file_is_read_as_curl_reads_it() {
        const ENTRY: &str = "machine one login alice password s3cret\n";
        let many = [
            (ENTRY.to_string(), "alice:s3cret"),
            ("MACHINE One Login alice PASSWORD s3cret".into(), "alice:s3cret"),
            (format!("# login nobody password hunter2\n{ENTRY}"), "alice:s3cret"),
            (format!("  \t# default login nobody password hunter2\n{ENTRY}"), "alice:s3cret"),
            (format!("{ENTRY}# default login nobody password hunter2"), "alice:s3cret"),
            ("# machine one login alice password s3cret".into(), "none"),
            (ENTRY.replace('\n', "\r\n") + "machine x login b password c\r\n", "alice:s3cret"),
            ("machine one\n\tlogin alice\n\taccount x\n\tpassword s3cret\n".into(), "alice:s3cret"),
            ("machine one password s3cret login alice".into(), "alice:s3cret"),
            ("machine one login alice method basic password s3cret".into(), "alice:s3cret"),
            (format!("machine\ntwo login b password c {ENTRY}"), "alice:s3cret"),
            (format!("machine two login default password machine\n{ENTRY}"), "alice:s3cret"),
            (format!("machine two login machine password one\n{ENTRY}"), "alice:s3cret"),
            (format!("macdef init\nmachine one login evil password evil\n\n{ENTRY}"), "alice:s3cret"),
            (format!("macdef init\r\nmachine one login evil password evil\r\n\r\n{ENTRY}"), "alice:s3cret"),
            (format!("macdef\n\n{ENTRY}"), "alice:s3cret"),
            ("macdef init\nmachine one login evil password evil".into(), "none"),
            ("machine one login alice macdef init\npassword evil\n\npassword good".into(), "alice:good"),
            ("machine one login alice password \"s3 cret\"".into(), "alice:s3 cret"),
            (r#"machine one login "a\"\\\tb" password "\n\x""#.into(), "a\"\\\tb:\nx"),
            ("machine one login alice password \"\"".into(), "alice:"),
            ("machine one login alice password \"open".into(), "none"),
            ("machine \"one\" login alice password s3cret".into(), "alice:s3cret"),
            ("machine one login alice password s3#cret".into(), "alice:s3#cret"),
            ("machine one login alice password #s3cret".into(), "alice:#s3cret"),
            ("machine one login alice password s\\3".into(), "alice:s\\3"),
            (format!("default login d password e\n{ENTRY}"), "d:e"),
            (format!("{ENTRY}default login d password e\n"), "alice:s3cret"),
            ("machine two login b password c default login d password e".into(), "d:e"),
            ("machine one login alice\nmachine one login bob password c\n".into(), "bob:c"),
            ("machine one login alice\nmachine two login bob password c\n".into(), "none"),
            ("machine one login alice".into(), "alice:"),
            ("machine one password s3cret\nmachine two login b password c".into(), ":s3cret"),
            ("machine one".into(), "none"),
            ("machine".into(), "none"),
            ("login alice password s3cret".into(), "none"),
            ("machine one.two login alice password s3cret".into(), "none"),
            (String::new(), "none"),
        ];
        for (file, wanted) in many {
            let found = find(file.as_bytes(), "one").map(|(user, password)| [user, password].join(&b':'));
            let found = found.map_or("none".into(), |found| String::from_utf8(found).expect("as it was"));
            assert_eq!(found, wanted, "{file:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_stay_what_they_are() {
        let file = b"# caf\xe9\nmachine one login caf\xe9 password \"\xff \xfe\"\n";
        assert_eq!(find(file, "one"), Some((b"caf\xe9".to_vec(), b"\xff \xfe".to_vec())));
    }
}

//! Dates as HTTP has them, in the three forms that a client has to read (RFC 9110 §5.6.7).
//!
//! Must not know: what they are of.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::fmt::strtime;

/// Nanoseconds since 1970; nothing if no day and time of day are meant.
pub(super) fn parse(text: &str) -> Option<i128> {
    parse_in(text, i64::from(jiff::Zoned::now().year()))
}

fn parse_in(text: &str, year_now: i64) -> Option<i128> {
    let text = text.trim();
    let in_utc = |date: DateTime| date.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|date| date.timestamp());
    let of_form = |form: &str, text: &str| strtime::parse(form, text).and_then(|it| it.to_datetime()).ok();
    let usual = || DateTimeParser::new().parse_timestamp(text).ok();
    let with_year = || of_form("%A, %d-%b-%Y %H:%M:%S GMT", &with_century(text, year_now)?).and_then(in_utc);
    let of_c = || of_form("%a %b %e %H:%M:%S %Y", text).and_then(in_utc);
    usual().or_else(with_year).or_else(of_c).map(Timestamp::as_nanosecond)
}

/// The second form has two digits of a year: of the most recent one, if they would mean one that is more than 50 years
/// ahead.
fn with_century(text: &str, year_now: i64) -> Option<String> {
    let (day, rest) = text.rsplit_once('-')?;
    let (digits, time) = rest.split_once(' ')?;
    let is_short = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let year = year_now / 100 * 100 + digits.parse::<i64>().ok().filter(|_| is_short)?;
    let year = if year > year_now + 50 { year - 100 } else { year };
    Some(format!("{day}-{year} {time}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_read() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            " Sun, 06 Nov 1994 08:49:37 GMT ",
        ] {
            assert_eq!(parse(text), Some(784_111_777_000_000_000), "{text}");
        }
        let second = |text: &str| parse_in(text, 2026).map(|ns| ns / 1_000_000_000);
        assert_eq!(second("Wednesday, 06-Nov-30 08:49:37 GMT"), Some(1_920_185_377));
        assert_eq!(second("Wed Nov 16 08:49:37 1994"), Some(784_975_777));
        // 2077 is too far ahead: it was 1977.
        assert_eq!(second("Saturday, 01-Jan-77 00:00:00 GMT"), Some(220_924_800));
    }

    #[test]
    fn what_is_no_date_has_no_time() {
        for text in [
            "",
            "0",
            "-1",
            "yesterday",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT",
            "Sun, 06 Nov 1994 08:61:37 GMT",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Monday, 06-Nov-94 08:49:37 GMT",
            "Sunday, 31-Feb-94 08:49:37 GMT",
            "Sunday, 06-Nov-1x 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 PST",
            "Mon Nov  6 08:49:37 1994",
            "Sun Feb 31 08:49:37 1994",
            "Sun Nov  6 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
            "1994-11-06T08:49:37Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

//! Templates: text with names in braces, and the job that filled-in fields describe.
//!
//! Must not know: how a job is run, which file the source is.

use std::ffi::OsStr;

use datapump::units::{parse_bytes, parse_rate};
use datapump::{Choice, DurabilityOptions, Job, Options, Place, TuningOptions};
use serde::{Deserialize, Serialize};

use super::Level;

/// Replaces each `{name}` (small letters and underscores) by what `value` gives for it. Other braces stay, so that
/// shell groups and `${VARIABLE}` in capitals can be written.
///
/// Errors: the first name for which there is no value.
pub fn fill(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from_brace) = rest.split_at(at);
        filled.push_str(before);
        match name_in_braces(from_brace) {
            Some(name) => {
                filled.push_str(&value(name).ok_or_else(|| name.to_string())?);
                rest = &from_brace[name.len() + 2..];
            }
            None => {
                filled.push('{');
                rest = &from_brace[1..];
            }
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

fn name_in_braces(text: &str) -> Option<&str> {
    let name = text[1..].split_once('}')?.0;
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// The table `[job]`: fields of a job, each a value or a factor in braces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct JobTemplate {
    /// Where the bytes come from: a place, or `{source}`.
    pub source: Level,
    /// Where they go: a place, or `{target}`.
    pub target: Level,
    /// Size of a request.
    pub request_size: Option<Level>,
    /// Requests in flight at each end.
    pub depth: Option<Level>,
    /// Requests in flight at the source.
    pub source_depth: Option<Level>,
    /// Requests in flight at the sink.
    pub sink_depth: Option<Level>,
    /// Parallel loops.
    pub lanes: Option<Level>,
    /// `auto`, `uring`, `threads` or `inline`.
    pub engine: Option<Level>,
    /// `kernel`, `spin` or `eventfd`: how the engine waits.
    pub wait: Option<Level>,
    /// `auto`, `buffered` or `direct`.
    pub caching: Option<Level>,
    /// How a target grows: `reserved`, or `append`: each write extends it.
    pub growth: Option<Level>,
    /// `auto`, `always` or `never`.
    pub reflink: Option<Level>,
    /// `end`, `each` or `none`.
    pub sync: Option<Level>,
    /// `true` or `false`.
    pub verify: Option<Level>,
    /// Most bytes per second.
    pub rate: Option<Level>,
}

/// A job of a cell: its ends, its options, and the command line that does the same.
#[derive(Debug)]
pub struct FilledJob {
    /// The source.
    pub source: Place,
    /// The target.
    pub target: Place,
    /// The options.
    pub options: Options,
    /// `pump copy …`.
    pub command: String,
}

impl FilledJob {
    /// The job, ready to run.
    pub fn job(self) -> Job {
        Job::copy(vec![self.source], self.target).options(self.options)
    }
}

/// Fills fields in and remembers them as flags.
struct Fields<'cell> {
    value: &'cell dyn Fn(&str) -> Option<String>,
    flags: String,
}

impl JobTemplate {
    /// Fills the names in and reads the fields.
    ///
    /// Errors: the key and what is wrong with its value.
    pub fn filled(
        &self,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<FilledJob, (&'static str, String)> {
        let mut fields = Fields { value, flags: String::new() };
        let options = self.options(&mut fields)?;
        options.check().map_err(|wrong| ("job", wrong))?;
        let source = fields.read("source", &self.source, parse_place)?;
        let target = fields.read("target", &self.target, parse_place)?;
        let command = format!("pump copy{} {source} {target}", fields.flags);
        Ok(FilledJob { source, target, options, command })
    }

    /// These fields with the names filled in.
    ///
    /// Errors: the first name for which there is no value.
    pub fn with(
        &self,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<JobTemplate, (&'static str, String)> {
        let filled = |level: &Level| {
            let unknown = |name| ("job", format!("{{{name}}} is neither a factor nor prepared"));
            fill(&level.to_string(), value).map(|word| Level::from(&*word)).map_err(unknown)
        };
        let maybe = |level: &Option<Level>| level.as_ref().map(filled).transpose();
        Ok(JobTemplate {
            source: filled(&self.source)?,
            target: filled(&self.target)?,
            request_size: maybe(&self.request_size)?,
            depth: maybe(&self.depth)?,
            source_depth: maybe(&self.source_depth)?,
            sink_depth: maybe(&self.sink_depth)?,
            lanes: maybe(&self.lanes)?,
            engine: maybe(&self.engine)?,
            wait: maybe(&self.wait)?,
            caching: maybe(&self.caching)?,
            growth: maybe(&self.growth)?,
            reflink: maybe(&self.reflink)?,
            sync: maybe(&self.sync)?,
            verify: maybe(&self.verify)?,
            rate: maybe(&self.rate)?,
        })
    }

    fn options(&self, fields: &mut Fields<'_>) -> Result<Options, (&'static str, String)> {
        let depth = fields.flag("depth", "depth", &self.depth, parse_count)?;
        Ok(Options {
            tuning: TuningOptions {
                request_bytes: fields.flag(
                    "request_size",
                    "request-size",
                    &self.request_size,
                    parse_request,
                )?,
                source_depth: fields
                    .flag("source_depth", "source-depth", &self.source_depth, parse_count)?
                    .or(depth),
                sink_depth: fields.flag("sink_depth", "sink-depth", &self.sink_depth, parse_count)?.or(depth),
                lanes: fields.flag("lanes", "lanes", &self.lanes, parse_count)?,
                engine: fields.flag("engine", "engine", &self.engine, str::parse)?.unwrap_or_default(),
                wait: fields.flag("wait", "wait", &self.wait, str::parse)?.unwrap_or_default(),
                direct: self.direct(fields)?,
                reflink: fields.flag("reflink", "reflink", &self.reflink, str::parse)?.unwrap_or_default(),
                no_reserve: self.growth(fields)?,
                bytes_per_second: fields.flag("rate", "bwlimit", &self.rate, parse_rate)?,
                ..TuningOptions::default()
            },
            durability: DurabilityOptions {
                sync: fields.flag("sync", "sync", &self.sync, str::parse)?.unwrap_or_default(),
                verify: self.verify(fields)?,
                ..DurabilityOptions::default()
            },
            ..Options::default()
        })
    }

    fn direct(&self, fields: &mut Fields<'_>) -> Result<Choice, (&'static str, String)> {
        let Some(level) = &self.caching else { return Ok(Choice::Auto) };
        let (choice, word) = fields.read("caching", level, |word| match word {
            "auto" => Ok((Choice::Auto, "auto")),
            "buffered" => Ok((Choice::Never, "never")),
            "direct" => Ok((Choice::Always, "always")),
            _ => Err(format!("'{word}' is no caching; write auto, buffered or direct")),
        })?;
        fields.flags.push_str(&format!(" --direct={word}"));
        Ok(choice)
    }

    /// Which engine posts the writes is the factor `engine`: `inline` blocks its loop, `threads` are helpers.
    fn growth(&self, fields: &mut Fields<'_>) -> Result<bool, (&'static str, String)> {
        let Some(level) = &self.growth else { return Ok(false) };
        let appends = fields.read("growth", level, |word| match word {
            "reserved" => Ok(false),
            "append" => Ok(true),
            _ => Err(format!("'{word}' is no way to grow; write reserved or append")),
        })?;
        fields.flags.push_str(if appends { " --no-reserve" } else { "" });
        Ok(appends)
    }

    fn verify(&self, fields: &mut Fields<'_>) -> Result<bool, (&'static str, String)> {
        let Some(level) = &self.verify else { return Ok(false) };
        let verify = fields.read("verify", level, |word| {
            word.parse().map_err(|_| format!("'{word}' is neither; write true or false"))
        })?;
        fields.flags.push_str(if verify { " --verify" } else { "" });
        Ok(verify)
    }
}

impl Fields<'_> {
    fn word(&self, key: &'static str, level: &Level) -> Result<String, (&'static str, String)> {
        fill(&level.to_string(), self.value)
            .map_err(|name| (key, format!("{{{name}}} is neither a factor nor prepared")))
    }

    fn read<T>(
        &self,
        key: &'static str,
        level: &Level,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, (&'static str, String)> {
        parse(&self.word(key, level)?).map_err(|wrong| (key, wrong))
    }

    fn flag<T>(
        &mut self,
        key: &'static str,
        flag: &str,
        level: &Option<Level>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, (&'static str, String)> {
        let Some(level) = level else { return Ok(None) };
        let parsed = self.read(key, level, parse)?;
        let word = self.word(key, level)?;
        self.flags.push_str(&format!(" --{flag}={word}"));
        Ok(Some(parsed))
    }
}

fn parse_place(word: &str) -> Result<Place, String> {
    Place::parse(OsStr::new(word)).map_err(|wrong| wrong.to_string())
}

fn parse_request(word: &str) -> Result<u32, String> {
    let bytes = parse_bytes(word)?;
    u32::try_from(bytes).map_err(|_| format!("'{word}' is too large; the largest request is 64MiB"))
}

fn parse_count(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("'{word}' is no count; write for example 8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> Option<String> {
        [("size", "64KiB"), ("source", "/a/b")]
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, it)| it.to_string())
    }

    #[test]
    fn names_in_braces_are_replaced_and_other_braces_stay() {
        for (text, filled) in [
            ("cp {source} x", Ok("cp /a/b x")),
            ("{size}{size}", Ok("64KiB64KiB")),
            ("{ cp {source}; } > ${HOME} {}", Ok("{ cp /a/b; } > ${HOME} {}")),
            ("ä{size}ö", Ok("ä64KiBö")),
            ("{depth}", Err("depth")),
            ("{size", Ok("{size")),
        ] {
            let expected = filled.map(str::to_string).map_err(str::to_string);
            assert_eq!(fill(text, &value), expected, "{text}");
        }
    }

    #[test]
    fn a_job_is_filled_from_its_cell() {
        let template = JobTemplate {
            source: "null:{size}".into(),
            target: "null:".into(),
            depth: Some(8_i64.into()),
            caching: Some("direct".into()),
            engine: Some("inline".into()),
            ..JobTemplate::default()
        };
        let filled = template.filled(&value).expect("in order");
        assert_eq!(filled.command, "pump copy --depth=8 --engine=inline --direct=always null:65536B null:");
        assert_eq!(
            (filled.options.tuning.source_depth, filled.options.tuning.sink_depth),
            (Some(8), Some(8))
        );
    }

    #[test]
    fn a_wrong_field_is_named_with_what_to_write() {
        let with = |change: fn(&mut JobTemplate)| {
            let mut template =
                JobTemplate { source: "null:1B".into(), target: "null:".into(), ..JobTemplate::default() };
            change(&mut template);
            template.filled(&value).expect_err("wrong")
        };
        for (change, key, hint) in [
            ((|job| job.source = "null:1G".into()) as fn(&mut JobTemplate), "source", "1GiB"),
            (|job| job.engine = Some("fast".into()), "engine", "write auto, uring, threads or inline"),
            (|job| job.wait = Some("sleep".into()), "wait", "write kernel, spin or eventfd"),
            (|job| job.depth = Some("many".into()), "depth", "write for example 8"),
            (|job| job.depth = Some(0_i64.into()), "job", "depth must be 1 to"),
            (|job| job.request_size = Some("{depth}".into()), "request_size", "{depth} is neither"),
            (|job| job.sync = Some("later".into()), "sync", "write end, each or none"),
            (|job| job.caching = Some("uncached".into()), "caching", "write auto, buffered or direct"),
            (|job| job.verify = Some("yes".into()), "verify", "write true or false"),
            (|job| job.growth = Some("slow".into()), "growth", "write reserved or append"),
        ] {
            let (at, message) = with(change);
            assert!(at == key && message.contains(hint), "{key}: {at}: {message}");
        }
    }
}

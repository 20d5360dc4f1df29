//! A file on the web as a source: what is held of it, and what it was when its copy began.
//!
//! Must not know: requests and answers (`transport`), where the copy goes.

use std::path::PathBuf;
use std::sync::Arc;

use datapump_core::problem::Class;
use datapump_transport::WebFile;

use super::held::{Elsewhere, Held, Original};
use super::opened::Opened;
use crate::end::Source;
use crate::open::held::Attributes;
use crate::place::web::{self, Web};
use crate::problem::{Operation, Problem};
use crate::run::MoverRun;
use datapump_files::disk::{FileKind, Meta};
use datapump_files::identity::SourceChange;
use datapump_files::identity::tick::TimeLook;

const ONE_STREAM: &str = "the server gives no parts of it, or does not tell one state of it from another: it is read \
                          in one stream";

/// A file as its server tells it.
#[derive(Debug)]
struct HeldWeb {
    file: Arc<WebFile>,
    meta: Meta,
    attributes: Attributes,
}

/// What was opened when the place was looked at.
pub(crate) fn open(run: &MoverRun<'_>, web: &Web) -> Result<Opened, Problem> {
    let path = PathBuf::from(web.to_string());
    let Some(file) = web.opened() else {
        return Err(Problem::new(Class::Io, Operation::Open, &path, "was not looked at"));
    };
    let meta = web::meta(file);
    let original = |meta: Meta, watched: bool| {
        let meta = Meta { kind: FileKind::Regular, ..meta };
        let held = HeldWeb { file: Arc::clone(file), meta, attributes: Vec::new() };
        let found = (Held::There(Arc::new(held)), meta, TimeLook::default());
        Original { watched, ..Original::new(path, found) }
    };
    let elsewhere = Some(Source::Web(Arc::clone(file)));
    if !file.has_ranges() {
        if file.bytes() != Some(0) {
            let starts_over = if run.settings.writes { ", and a copy that is cut starts over" } else { "" };
            run.ledger.notice(format!("'{web}': {ONE_STREAM}{starts_over}"));
        }
        let ranges = file.bytes().map(|bytes| vec![(0, bytes)]);
        // What came in one body is of one state.
        let original = file.modified_ns().map(|_| original(meta, false));
        return Ok(Opened { elsewhere, ranges, original, ..Opened::default() });
    }
    // A time that is made up would be another in the run that resumes this one.
    let mtime_ns = file.modified_ns().unwrap_or(0);
    let original = Original { meta: Meta { mtime_ns, atime_ns: mtime_ns, ..meta }, ..original(meta, true) };
    let ordinary = meta.size_bytes > 0;
    Ok(Opened { elsewhere, ordinary, ..Opened::file(original, Some(vec![(0, meta.size_bytes)])) })
}

impl Elsewhere for HeldWeb {
    fn told(&self) -> Option<(&Meta, &Attributes)> {
        Some((&self.meta, &self.attributes))
    }

    /// No server tells a mode.
    fn has_mode_and_time(&self) -> (bool, bool) {
        (false, self.file.modified_ns().is_some())
    }

    /// Its states are told apart by a strong validator.
    fn was_settled(&self) -> bool {
        true
    }

    fn is_readable_again(&self) -> bool {
        false
    }

    fn find_change(&self, original: &Original) -> Result<Option<SourceChange>, Problem> {
        match self.file.check() {
            Ok(()) => Ok(None),
            Err(fault) if fault.class == Class::Changed => Ok(Some(SourceChange::Other(fault.words))),
            Err(fault) => Err(Problem::new(fault.class, Operation::Stat, &original.path, fault.words)),
        }
    }
}

//! A file on the web as a source: what is held of it, and what it was when its copy began.
//!
//! Must not know: requests and answers (`transport`), where the copy goes.

use std::path::PathBuf;
use std::sync::Arc;

use datapump_core::problem::Class;
use datapump_transport::WebFile;

use super::held::{Attributes, BytesFrom, Elsewhere, OpenedWords, Original};
use crate::place::web::{self, Web};
use crate::problem::{Operation, Problem};
use datapump_files::disk::{FileKind, Meta};
use datapump_files::identity::SourceChange;

const ONE_STREAM: &str = "the server gives no parts of it, or does not tell one state of it from another: it is read \
                          in one stream";

/// A file as its server tells it.
#[derive(Debug)]
pub struct HeldWeb {
    web: Web,
    file: Arc<WebFile>,
    meta: Meta,
    attributes: Attributes,
}

/// The file that was opened when the place was looked at.
pub(super) fn open(web: &Web) -> Result<Arc<HeldWeb>, Problem> {
    let Some(file) = web.opened() else {
        let path = PathBuf::from(web.to_string());
        return Err(Problem::new(Class::Io, Operation::Open, &path, "was not looked at"));
    };
    let meta = Meta { kind: FileKind::Regular, ..web::meta(file) };
    Ok(Arc::new(HeldWeb { web: web.clone(), file: Arc::clone(file), meta, attributes: Vec::new() }))
}

impl Elsewhere for HeldWeb {
    fn bytes_from(self: Arc<HeldWeb>) -> BytesFrom {
        BytesFrom::Web(Arc::clone(&self.file))
    }

    fn is_read_once(&self) -> bool {
        !self.file.has_ranges()
    }

    fn stream_bytes(&self) -> Option<u64> {
        self.file.bytes()
    }

    fn opened_words(&self, writes: bool) -> Option<OpenedWords> {
        let starts_over = if writes { ", and a copy that is cut starts over" } else { "" };
        let is_told = self.is_read_once() && self.file.bytes() != Some(0);
        is_told.then(|| OpenedWords::Notice(format!("'{}': {ONE_STREAM}{starts_over}", self.web)))
    }

    /// What came in one body has a time, or nothing.
    fn has_attributes(&self) -> bool {
        !self.is_read_once() || self.file.modified_ns().is_some()
    }

    fn reported(&self) -> Option<(&Meta, &Attributes)> {
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

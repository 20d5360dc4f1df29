//! A name of a folder that was not copied: the one place where it is found out whether it vanished, by a look at the name
//! whatever an error number says (a listing of FUSE may answer ENOENT of a folder that is where it was), and where its
//! problem is kept until it is known whether a further walk copies it.
//!
//! Must not know: why it was not copied, what is removed because of that.

use std::ffi::OsStr;

use datapump_core::walked::{NameNow, judge_missed};

use crate::folder::directory::Directory;
use crate::listed::Name;
use crate::problem::{Class, Problem};
use crate::run::ledger::Ledger;
use datapump_files::disk::{FileKind, Meta, names};
use datapump_files::identity::{FileId, id};

/// A name that was not copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotCopied<'name> {
    pub(crate) name: &'name OsStr,
    /// The file that was read under it, if it came that far.
    pub(crate) file: Option<FileId>,
    /// The kind that it was listed with.
    pub(crate) kind: Option<FileKind>,
    /// A folder listed it, or it was open: what a list of the user names may never have been.
    pub(crate) was_seen: bool,
    /// The copy that failed wrote over an existing file of the target.
    pub(crate) overwrites: bool,
}

impl NotCopied<'_> {
    /// A name of which no file was read.
    pub(crate) fn name(name: &OsStr) -> NotCopied<'_> {
        NotCopied { name, file: None, kind: None, was_seen: false, overwrites: false }
    }

    /// A folder that was walked.
    pub(crate) fn folder(name: &OsStr) -> NotCopied<'_> {
        NotCopied { kind: Some(FileKind::Folder), was_seen: true, ..NotCopied::name(name) }
    }

    /// Looks with the kind that the name was listed with.
    pub(crate) fn listed(name: &Name) -> NotCopied<'_> {
        NotCopied { kind: name.kind, was_seen: name.was_seen(), ..NotCopied::name(&name.name) }
    }
}

impl Directory {
    /// Reports a name that was not copied. A problem of one that changed or vanished is kept where the folder may be walked
    /// again before something is removed: it is reported if the name is not copied then.
    pub(crate) fn report(&self, ledger: &Ledger<'_>, missed: NotCopied<'_>, problem: Problem) {
        let problem = self.judge_by_source(missed, problem);
        if !matches!(problem.class, Class::Changed | Class::Missing) || !self.root.visited.keeps_all() {
            return self.root.report(ledger, problem);
        }
        let now = self.name_now(missed, &problem);
        // Something else is missing, of the target perhaps.
        if problem.class == Class::Missing && now != NameNow::Gone {
            return self.root.report(ledger, problem);
        }
        let (judged, problem) = (judge_missed(now, self.has_copy(missed)), problem.vanished());
        if let Some(problem) = self.root.visited.note_missed(self.folder_key, missed.name, judged, problem) {
            self.root.report_missed(ledger, problem);
        }
    }

    /// Changes the problem to vanished or replaced if the name in the source says so: an error number alone is no change. One
    /// of the target says nothing of the source.
    pub(crate) fn judge_by_source(&self, missed: NotCopied<'_>, problem: Problem) -> Problem {
        let is_of_source = problem.host.is_none() == self.source.is_here()
            && problem.path.as_ref() == Some(&self.source.path_of(missed.name));
        let was_there = missed.file.is_some() || missed.was_seen;
        let is_missing = problem.class == Class::Missing && was_there;
        if !is_of_source || !(is_missing || problem.may_be_gone()) {
            return problem;
        }
        match self.name_now(missed, &problem) {
            NameNow::Gone if is_missing => problem.vanished(),
            NameNow::Gone => problem.gone_by_now(),
            NameNow::OtherFile => problem.replaced_by_now(),
            NameNow::SameFile => problem,
        }
    }

    /// The folder itself could not be looked at.
    pub(crate) fn judged_above(&self, problem: Problem) -> Problem {
        match &self.parent {
            Some(above) => above.judge_by_source(NotCopied::folder(&self.source.name), problem),
            None => problem,
        }
    }

    /// The folder itself could not be opened or finished: one that vanished is a name of the folder above.
    pub(crate) fn report_own(&self, ledger: &Ledger<'_>, problem: Problem) {
        match &self.parent {
            Some(above) => above.report(ledger, NotCopied::folder(&self.source.name), problem),
            None => self.root.report(ledger, problem),
        }
    }

    /// Whatever was seen of a change: a file whose name is gone, or another's, has vanished.
    fn name_now(&self, missed: NotCopied<'_>, problem: &Problem) -> NameNow {
        let NotCopied { name, file, kind, .. } = missed;
        let is_other = |now: &Meta| {
            file.is_some_and(|file| file != id(now)) || kind.is_some_and(|kind| kind != now.kind)
        };
        if problem.is_vanished() {
            return NameNow::Gone;
        }
        let origin = self.source.origin();
        let found = origin.and_then(|origin| origin.metadata_if_exists(name, || self.source.path_of(name)));
        match found.map_err(Problem::vanished) {
            Ok(None) => NameNow::Gone,
            Ok(Some(now)) if is_other(&now) => NameNow::OtherFile,
            Err(problem) if problem.is_vanished() => NameNow::Gone,
            Ok(Some(_)) | Err(_) => NameNow::SameFile,
        }
    }

    /// Whether the target has an older copy of a file.
    fn has_copy(&self, NotCopied { name, overwrites, .. }: NotCopied<'_>) -> bool {
        let folder = self.target.as_ref().filter(|_| !overwrites).and_then(|target| target.file().ok());
        let found = folder.and_then(|folder| names::metadata(&folder, name).ok());
        found.is_some_and(|found| found.kind == FileKind::Regular)
    }
}

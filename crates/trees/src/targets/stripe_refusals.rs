//! Refuses stripes that make no sense, before anything is written.
//!
//! Must not know: how members are opened and written.

use std::sync::Arc;

use crate::place::Place;
use crate::place::stripe::Stripe;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::setup::options::{Choice, Options, Update};
use crate::targets::hosts::Hosts;
use crate::targets::item::Target;
use datapump_files::disk::Meta;

/// The stripe as the target of a source.
pub(crate) fn stripe_target(
    hosts: &Hosts<'_>,
    source: &Place,
    stripe: &Stripe,
    options: &Options,
) -> Result<Target, Problem> {
    if let Some(flag) = unfit_flag(options) {
        return Err(Problem::usage(format!(
            "{flag} is for files that stand by themselves, and '{stripe}' is written whole and in place; leave \
             {flag} out"
        )));
    }
    let found = stripe.target(hosts.disk)?;
    found.check_devices(options.place.devices)?;
    if let Place::Stripe(from) = source {
        let from = from.source(hosts.disk)?;
        let is_shared = |meta: &&Meta| from.holds(meta, hosts.disk);
        if let Some((at, _)) =
            found.ats.iter().find(|(_, meta)| meta.as_ref().is_some_and(|meta| is_shared(&meta)))
        {
            let words =
                format!("is a part of the source '{source}' too; copy to a stripe that has no member of it");
            return Err(Problem::new(Class::Usage, Operation::Copy, &at.path, words));
        }
    }
    Ok(Target::Stripe(Arc::new(found)))
}

/// The flag that asks for what a stripe cannot have.
fn unfit_flag(options: &Options) -> Option<&'static str> {
    let asked = [
        (options.tuning.reflink == Choice::Always, "--reflink=always"),
        (options.measuring.rehearsal_bytes.is_some(), "a rehearsal"),
        (options.comparison.update != Update::All, "--update"),
        (options.comparison.checksum, "--checksum"),
        (options.comparison.ignore_existing, "--ignore-existing"),
        (!options.links.link_dest.is_empty(), "--link-dest"),
        (options.attributes.permissions.is_some(), "--chmod"),
        (options.attributes.ownership.is_some(), "--chown"),
        (options.tuning.makes_holes, "--sparse=always"),
        (options.deletion.remove_sources, "--remove-source-files"),
    ];
    asked.into_iter().find(|(is_asked, _)| *is_asked).map(|(_, flag)| flag)
}

/// Refuses a source that is a part of the target, or the reverse: it would be written over while it is read.
pub(crate) fn check_members_apart(
    hosts: &Hosts<'_>,
    source: &Place,
    meta: Option<&Meta>,
    target: &Target,
) -> Result<(), Problem> {
    let words = match (source, target) {
        (Place::Path(path), Target::Stripe(stripe)) => {
            let is_part = meta.is_some_and(|meta| stripe.holds(meta, hosts.disk));
            is_part.then(|| (path.clone(), format!("is a part of '{}'", shown_path(&stripe.name))))
        }
        (Place::Stripe(stripe), Target::File(at) | Target::Device(at)) => {
            let from = stripe.source(hosts.disk)?;
            let is_part = at.metadata().is_ok_and(|there| from.holds(&there, hosts.disk));
            is_part.then(|| (at.path.clone(), format!("is a part of the source '{stripe}'")))
        }
        _ => None,
    };
    match words {
        Some((path, words)) => {
            let words = format!("{words}; copy to something else");
            Err(Problem::new(Class::Usage, Operation::Copy, &path, words))
        }
        None => Ok(()),
    }
}

/// Refuses several sources for one stripe.
pub(crate) fn check_single_source(sources: &[Place], target: &Place) -> Result<(), Problem> {
    match target {
        Place::Stripe(_) if sources.len() > 1 => {
            Err(Problem::usage(format!("several sources would become one file on '{target}'; copy one")))
        }
        _ => Ok(()),
    }
}

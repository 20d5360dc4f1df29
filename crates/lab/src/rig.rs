//! Prepares a run and clears up behind it: source, cache, name of the target, quiet disk, room.
//!
//! What it makes carries names of its own and is deleted when the rig goes, whatever happened. Must not know: what is
//! run, how it is measured.

pub(crate) mod cache;
pub(crate) mod files;
pub(crate) mod tree;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use anyhow::{Context, bail};
use datapump::Place;
use datapump::units::parse_bytes;

use crate::rig::tree::{Layout, TreeComparison, TreeFacts};
use crate::session::finished::{Finished, delete};
use crate::session::quiet::QuietDisk;
use crate::session::room::Need;
use crate::study::{
    Cell, JobTemplate, Level, PathKind, PathTemplate, RelayTemplate, Study, StudyStep, Template,
    TreeTemplate, fill,
};
use datapump_engine::sim::Random;
use datapump_netlab::emulator::PathStats;

mod host;
mod laid_path;
mod targets;
use host::RigHost;
pub use targets::Targets;

const CHUNK_BYTES: usize = 1 << 20;

/// Where the files of a study are made.
#[derive(Debug)]
pub struct Rig {
    folder: PathBuf,
    disk: QuietDisk,
    seed: u64,
    sources: BTreeMap<u64, PathBuf>,
    /// Trees that were made, which are deleted, and such that were there.
    trees: BTreeMap<PathBuf, Tree>,
    targets: Targets,
    target: Option<(PathBuf, TreeFacts)>,
    hosts: u64,
    host: Option<RigHost>,
    finished: Finished,
    stop: Arc<AtomicBool>,
}

/// A tree that is a source.
#[derive(Clone, Copy, Debug)]
struct Tree {
    facts: TreeFacts,
    is_ours: bool,
}

/// Runs a command line of a step, with what is prepared so far.
pub type RunStep<'run> = &'run dyn Fn(&str, &Prepared) -> anyhow::Result<()>;

/// What was prepared for one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The source, if there is one.
    pub source: Option<PathBuf>,
    /// Its size in bytes; of a tree, that of all its files.
    pub source_bytes: u64,
    /// What the source holds, if it is a tree.
    pub tree: Option<TreeFacts>,
    /// The target's name, if there is one. Nothing stands there.
    pub target: Option<PathBuf>,
    /// The folder for servers beside the command, if there is one, and a port for one of them.
    pub host: Option<(PathBuf, u16)>,
    /// The port of the relay in front of it, or that port itself if nothing is delayed.
    pub relay_port: Option<u16>,
    /// State of the source in the page cache.
    pub cache_state: CacheState,
    /// Whether the disk came to rest; `None` if nobody waited.
    pub quiet: Option<bool>,
}

/// State of the source in the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheState {
    /// There is no source file.
    #[default]
    None,
    /// As the run before left it.
    Unprepared,
    /// Taken out.
    Cold,
    /// Read in.
    Warm,
}

impl CacheState {
    /// The word in a row.
    pub fn name(self) -> &'static str {
        match self {
            CacheState::None => "none",
            CacheState::Unprepared => "unprepared",
            CacheState::Cold => "cold",
            CacheState::Warm => "warm",
        }
    }
}

impl Rig {
    /// A rig in this folder. Once `stop` is set, long steps end with an error.
    pub fn new(folder: &Path, seed: u64, stop: Arc<AtomicBool>) -> anyhow::Result<Rig> {
        let open = || format!("the folder {}", folder.display());
        // A command may change its folder: names are given from the root.
        let folder = std::fs::canonicalize(folder).with_context(open)?;
        if !folder.is_dir() {
            bail!("{} is not a directory; name one on the disk in question", folder.display());
        }
        let disk = QuietDisk::containing(&folder)?;
        Ok(Rig {
            targets: Targets::new(&folder),
            folder,
            disk,
            seed,
            sources: BTreeMap::new(),
            trees: BTreeMap::new(),
            target: None,
            hosts: 0,
            host: None,
            finished: Finished::default(),
            stop,
        })
    }

    /// The folder, from the root.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks that all sources of the study and the largest target fit, and says how much that is.
    pub fn check_room(&mut self, study: &Study, cells: &[Cell]) -> anyhow::Result<String> {
        let mut need = Need::default();
        for cell in cells {
            for step in &study.prepare {
                self.add_need(step, cell, &mut need)?;
            }
            if let Template::Job(job) = &study.template {
                need.add_target_file(from_nothing(job, cell));
            }
        }
        let room = need.check(&self.folder)?;
        self.finished.limit(room.left);
        Ok(room.words)
    }

    fn add_need(&mut self, step: &StudyStep, cell: &Cell, need: &mut Need) -> anyhow::Result<()> {
        match step {
            StudyStep::MakeSource { size } => {
                let size = size_in(size, cell)?;
                need.add_file(size, self.has_source(size));
            }
            StudyStep::MakeTree(template) => {
                let layout = self.layout(template, cell)?;
                need.add_tree(&layout, self.folder.join(layout.name()).is_dir());
            }
            StudyStep::UseTree { path } => {
                let path = self.use_tree(&word_in(path, cell)?)?;
                need.add_target_tree(self.trees[&path].facts);
            }
            _ => {}
        }
        Ok(())
    }

    fn has_source(&self, size: u64) -> bool {
        std::fs::metadata(self.source_path(size)).is_ok_and(|meta| meta.is_file() && meta.len() == size)
    }

    fn source_path(&self, size: u64) -> PathBuf {
        self.folder.join(format!("pump-lab-source-{size}-{}.bin", self.seed))
    }

    /// Performs the steps for a cell, in order.
    pub fn prepare(&mut self, study: &Study, cell: &Cell, run: RunStep<'_>) -> anyhow::Result<Prepared> {
        let mut prepared = Prepared::default();
        for step in &study.prepare {
            self.step(step, cell, &mut prepared, run)?;
            self.go_on()?;
        }
        Ok(prepared)
    }

    fn step(
        &mut self,
        step: &StudyStep,
        cell: &Cell,
        prepared: &mut Prepared,
        run: RunStep<'_>,
    ) -> anyhow::Result<()> {
        match step {
            StudyStep::MakeSource { size } => {
                prepared.source_bytes = size_in(size, cell)?;
                prepared.source = Some(self.make_source(prepared.source_bytes)?);
                prepared.cache_state = CacheState::Unprepared;
            }
            StudyStep::MakeTree(template) => {
                let path = self.make_tree(&self.layout(template, cell)?)?;
                self.give_tree(path, prepared);
            }
            StudyStep::UseTree { path } => {
                let path = self.use_tree(&word_in(path, cell)?)?;
                self.give_tree(path, prepared);
            }
            StudyStep::NewTarget {} => prepared.target = Some(self.new_target(prepared.tree)?),
            StudyStep::NewHost {} => {
                (prepared.host, prepared.relay_port) = (Some(self.new_host()?), None);
            }
            StudyStep::NewRelay(template) => prepared.relay_port = Some(self.new_relay(template, cell)?),
            StudyStep::NewPath(template) => self.new_path(template, cell)?,
            StudyStep::Run { command } => run(command, prepared)?,
            StudyStep::ColdSource {} => {
                prepared.source.as_deref().map_or(Ok(()), cache::cool)?;
                prepared.cache_state = CacheState::Cold;
            }
            StudyStep::WarmSource {} => {
                prepared.source.as_deref().map_or(Ok(()), |path| cache::warm(path, &self.stop))?;
                prepared.cache_state = CacheState::Warm;
            }
            StudyStep::WarmTarget {} => {
                prepared.target.as_deref().map_or(Ok(()), |path| cache::warm(path, &self.stop))?;
            }
            StudyStep::WaitQuiet {} => prepared.quiet = Some(self.disk.wait_quiet(&self.stop)),
        }
        Ok(())
    }

    fn give_tree(&self, path: PathBuf, prepared: &mut Prepared) {
        let facts = self.trees[&path].facts;
        prepared.source_bytes = facts.bytes;
        prepared.tree = Some(facts);
        prepared.source = Some(path);
        prepared.cache_state = CacheState::Unprepared;
    }

    fn layout(&self, template: &TreeTemplate, cell: &Cell) -> anyhow::Result<Layout> {
        let value = |name: &str| cell.levels.get(name).map(Level::to_string);
        let shape =
            template.filled(&value).map_err(|(key, wrong)| anyhow::anyhow!("make_tree.{key}: {wrong}"))?;
        Ok(Layout { shape, seed: self.seed })
    }

    /// The tree: made, or found from a run that was interrupted. It stands under its name only when it is whole and
    /// synced.
    fn make_tree(&mut self, layout: &Layout) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(layout.name());
        if self.trees.contains_key(&path) {
            return Ok(path);
        }
        if !path.is_dir() {
            let part = path.with_extension("part");
            delete(&part);
            let made = tree::make(layout, &part, &self.stop);
            let named = made.and_then(|()| Ok(std::fs::rename(&part, &path)?));
            if named.is_err() {
                delete(&part);
            }
            self.go_on()?;
            named.with_context(|| format!("make the tree {}", path.display()))?;
        }
        self.trees.insert(path.clone(), Tree { facts: TreeFacts::default(), is_ours: true });
        let facts = self.facts(&path)?;
        if facts.bytes != layout.files().map(|(_, size)| size).sum::<u64>() {
            bail!("{}: somebody has changed it; delete it, and it is made again", path.display());
        }
        self.trees.insert(path.clone(), Tree { facts, is_ours: true });
        Ok(path)
    }

    /// A folder that was there before, and stays.
    fn use_tree(&mut self, word: &str) -> anyhow::Result<PathBuf> {
        let open = || format!("the tree {word}");
        let path = std::fs::canonicalize(word).with_context(open)?;
        if !path.is_dir() || self.folder.starts_with(&path) {
            bail!(
                "the tree {word}: write a folder, and one in which the study's own {} is not",
                self.folder.display()
            );
        }
        if !self.trees.contains_key(&path) {
            let facts = self.facts(&path)?;
            self.trees.insert(path.clone(), Tree { facts, is_ours: false });
        }
        Ok(path)
    }

    fn facts(&self, path: &Path) -> anyhow::Result<TreeFacts> {
        let facts = tree::facts(path, &self.stop);
        self.go_on()?;
        facts.with_context(|| format!("walk the tree {}", path.display()))
    }

    /// The source of this size: made, or found from a run that was interrupted. It stands under its name only when it
    /// is whole and synced.
    fn make_source(&mut self, size: u64) -> anyhow::Result<PathBuf> {
        let path = self.source_path(size);
        if self.sources.insert(size, path.clone()).is_none() && !self.has_source(size) {
            let part = path.with_extension("part");
            let made = self.write_source(&part, size);
            let named = made.and_then(|()| Ok(std::fs::rename(&part, &path)?));
            if named.is_err() {
                let _ = std::fs::remove_file(&part);
            }
            named.with_context(|| format!("make the source {}", path.display()))?;
        }
        Ok(path)
    }

    fn write_source(&self, path: &Path, size: u64) -> anyhow::Result<()> {
        let mut file = File::create(path)?;
        let mut random = Random::seeded(self.seed, &format!("source {size}"));
        let mut bytes = vec![0; CHUNK_BYTES];
        let mut left = size;
        while left > 0 {
            self.go_on()?;
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(CHUNK_BYTES);
            random.fill(&mut bytes[..len]);
            file.write_all(&bytes[..len])?;
            left -= len as u64;
        }
        Ok(file.sync_all()?)
    }

    fn new_target(&mut self, tree: Option<TreeFacts>) -> anyhow::Result<PathBuf> {
        let ending = if tree.is_some() { "tree" } else { "bin" };
        let path = self.targets.next(ending).context("make a folder for targets")?;
        self.target = Some((path.clone(), tree.unwrap_or_default()));
        Ok(path)
    }

    /// A port is not used again: connections that have ended stay with the old one for a minute.
    fn new_host(&mut self) -> anyhow::Result<(PathBuf, u16)> {
        self.hosts += 1;
        let host = RigHost::new(self.hosts)?;
        let given = (host.folder().to_path_buf(), host.port());
        self.host = Some(host);
        Ok(given)
    }

    /// Starts a relay in front of the host's port.
    fn new_relay(&mut self, template: &RelayTemplate, cell: &Cell) -> anyhow::Result<u16> {
        let value = |name: &str| cell.levels.get(name).map(Level::to_string);
        let options =
            template.filled(&value).map_err(|(key, wrong)| anyhow::anyhow!("new_relay.{key}: {wrong}"))?;
        let host = self.host.as_mut().context("there is no host for a relay")?;
        host.put_at_distance(options, self.seed)
    }

    /// Lays a path whose right end is where the host's servers run.
    fn new_path(&mut self, template: &PathTemplate, cell: &Cell) -> anyhow::Result<()> {
        let value = |name: &str| cell.levels.get(name).map(Level::to_string);
        let mut kind =
            template.filled(&value).map_err(|(key, wrong)| anyhow::anyhow!("new_path.{key}: {wrong}"))?;
        if let PathKind::Box(settings) = &mut kind {
            // Random losses are others in each run.
            settings.link.seed = Random::seeded(self.seed, &format!("path {}", self.hosts)).next_u64();
        }
        self.host.as_mut().context("there is no host for a path")?.lay_path(kind, self.hosts)
    }

    /// Ends the path of a run, and gives what went over it.
    pub fn end_path(&mut self) -> Option<anyhow::Result<PathStats>> {
        self.host.as_mut()?.end_path()
    }

    /// Compares the target with the source: trees entry by entry, `exact` with modes and times; files byte by byte.
    /// The error says the first difference.
    pub fn compare(&self, prepared: &Prepared, exact: bool) -> Result<(), (&'static str, String)> {
        let (Some(source), Some(target)) = (&prepared.source, &prepared.target) else { return Ok(()) };
        match prepared.tree {
            Some(_) => TreeComparison { source, target, exact, seed: self.seed }.check(&self.stop),
            None => self.compare_files(source, target),
        }
    }

    /// Whether nothing at the target was written since the moment; the error names what was.
    pub fn unwritten(&self, prepared: &Prepared, moment: SystemTime) -> Result<(), (&'static str, String)> {
        prepared.target.as_deref().map_or(Ok(()), |path| tree::changed_since(path, moment, &self.stop))
    }

    fn compare_files(&self, source: &Path, target: &Path) -> Result<(), (&'static str, String)> {
        let trouble = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => ("missing", format!("there is no target: {error}")),
            _ => ("io", format!("compare source and target: {error}")),
        };
        let (one, other) = (File::open(source).map_err(trouble)?, File::open(target).map_err(trouble)?);
        let mut at = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let ours = chunk(&one).map_err(trouble)?;
            let theirs = chunk(&other).map_err(trouble)?;
            if ours != theirs {
                let same = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
                return Err((
                    "mismatch",
                    format!("the target differs from the source at byte {}", at + same as u64),
                ));
            }
            if ours.is_empty() {
                return Ok(());
            }
            at += ours.len() as u64;
        }
        Ok(())
    }

    /// Deletes the target of the last run; a tree together with others. What a folder holds that is no copy of a tree
    /// is not known, so that it does not wait: devices of a stripe filled a disk of memory.
    pub fn delete_target(&mut self) {
        match self.target.take() {
            Some((path, facts)) if facts.entries > 1 && path.is_dir() => self.finished.add(path, facts),
            Some((path, _)) => delete(&path),
            None => {}
        }
    }

    /// An error once the user asked to stop.
    pub fn go_on(&self) -> anyhow::Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            bail!("interrupted; the same command goes on with the runs that are left")
        } else {
            Ok(())
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.delete_target();
        self.finished.delete();
        self.sources.values().for_each(|path| delete(path));
        self.trees.iter().filter(|(_, tree)| tree.is_ours).for_each(|(path, _)| delete(path));
    }
}

fn size_in(size: &Level, cell: &Cell) -> anyhow::Result<u64> {
    parse_bytes(&word_in(size, cell)?).map_err(anyhow::Error::msg)
}

fn word_in(level: &Level, cell: &Cell) -> anyhow::Result<String> {
    let value = |name: &str| cell.levels.get(name).map(Level::to_string);
    fill(&level.to_string(), &value).map_err(|name| anyhow::anyhow!("{{{name}}} has no value"))
}

/// What a job writes to its target that no source holds.
fn from_nothing(job: &JobTemplate, cell: &Cell) -> u64 {
    let writes = job.target.to_string().contains("{target}");
    let place = word_in(&job.source, cell).ok().and_then(|word| Place::parse(OsStr::new(&word)).ok());
    match place {
        Some(Place::Null { bytes: Some(bytes), .. }) if writes => bytes,
        _ => 0,
    }
}

/// The next bytes of a file; none at its end.
fn chunk(file: &File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(CHUNK_BYTES);
    file.take(CHUNK_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;

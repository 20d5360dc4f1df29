//! Mirrors of a source whose files move while it is walked, seed by seed: a file that exists all the time, and of which
//! the target has a copy, has one afterwards, wherever it is by then. Some files are written to while they are copied,
//! and some each time.

use std::collections::BTreeMap;

use datapump_core::walked::{
    FolderNames, FolderOfTree, LooksFound, MissedName, MovingNames, NameNow, NextPass, Passes, WalkedName,
    judge_missed, judge_staying,
};

const SEEDS: u64 = 20_000;
/// So often one file moves while a mirror runs.
const MOVES_OF_A_FILE: u32 = 2;

/// A generator of numbers (splitmix64, Steele et al., 2014).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// A file of the source.
#[derive(Clone, Copy, Debug)]
struct File {
    folder: u64,
    name: u64,
    inode: u64,
    moves: u32,
    is_removed: bool,
    /// So many copies of it fail, because it is written to.
    writes: u32,
}

/// The source, and how often each folder changed.
struct Source {
    files: Vec<File>,
    changes: BTreeMap<u64, u64>,
    folders: u64,
    /// One move in so many steps; 0: none.
    one_in: u64,
    next_name: u64,
    /// Files move among these first folders alone.
    busy: u64,
}

impl Source {
    /// Time passes: a file may move, get another name, or go.
    fn step(&mut self, chance: &mut Chance) {
        if self.one_in == 0 || chance.below(self.one_in) > 0 {
            return;
        }
        let at = chance.below(self.files.len() as u64) as usize;
        let (to, kind) = (chance.below(self.busy), chance.below(20));
        self.next_name += 1;
        let name = self.next_name;
        let file = &mut self.files[at];
        if file.is_removed || file.moves >= MOVES_OF_A_FILE {
            return;
        }
        file.moves += 1;
        *self.changes.entry(file.folder).or_default() += 1;
        match kind {
            0 => file.is_removed = true,
            1..4 => file.name = name,
            _ => file.folder = to,
        }
        *self.changes.entry(file.folder).or_default() += 1;
    }

    fn names(&self, folder: u64) -> FolderNames {
        let mut names = FolderNames::default();
        let here = self.files.iter().filter(|file| file.folder == folder && !file.is_removed);
        names.add(here.map(|file| WalkedName { key: file.name, inode: file.inode }));
        names.end();
        names
    }

    /// Whether a file is written to while it is copied.
    fn is_written(&mut self, inode: u64) -> bool {
        let file = self.files.iter_mut().find(|file| file.inode == inode).expect("it was listed");
        let is_written = file.writes > 0;
        file.writes = file.writes.saturating_sub(u32::from(file.writes < u32::MAX));
        is_written
    }

    fn change(&self, folder: u64) -> u64 {
        self.changes.get(&folder).copied().unwrap_or(0)
    }

    fn shuffled(&self, chance: &mut Chance) -> Vec<u64> {
        let mut folders: Vec<u64> = (0..self.folders).collect();
        for at in (1..folders.len()).rev() {
            folders.swap(at, chance.below(at as u64 + 1) as usize);
        }
        folders
    }
}

/// The record of the walk, and the target: which inode each name of a folder is a copy of.
#[derive(Default)]
struct Mirror {
    walked: BTreeMap<u64, (u64, FolderNames)>,
    target: BTreeMap<(u64, u64), u64>,
    /// Names of folders that changed while they were copied.
    missed: BTreeMap<u64, BTreeMap<u64, MissedName>>,
}

impl Mirror {
    /// Walks a folder and copies names that are new to it, those that vanish meanwhile excepted.
    fn walk(&mut self, source: &mut Source, folder: u64, chance: &mut Chance) -> (FolderNames, FolderNames) {
        let change = source.change(folder);
        let now = source.names(folder);
        let before =
            self.walked.insert(folder, (change, now.clone())).map(|(_, names)| names).unwrap_or_default();
        self.missed.remove(&folder);
        for name in now.names().iter().filter(|name| !before.has_same(**name)) {
            let is_written = source.is_written(name.inode);
            source.step(chance);
            let has_name = source.names(folder).has_same(*name);
            if has_name && !is_written {
                self.target.insert((folder, name.key), name.inode);
                continue;
            }
            let now = if has_name { NameNow::SameFile } else { NameNow::Gone };
            let missed = judge_missed(now, self.target.contains_key(&(folder, name.key)));
            self.missed.entry(folder).or_default().insert(name.key, missed);
            self.walked.get_mut(&folder).expect("it was walked").1.miss(name.key);
        }
        (before, now)
    }

    /// Folders with files that changed while they were copied, and those of them that keep all.
    fn missed(&self) -> LooksFound {
        let mut found = LooksFound::default();
        for (&key, names) in &self.missed {
            let folder = FolderOfTree { tree: 0, key };
            for missed in names.values() {
                match missed {
                    MissedName::Vanished => {}
                    MissedName::Changed { keeps_all: true } => drop(found.uncopied.insert(folder)),
                    MissedName::Changed { keeps_all: false } => drop(found.changed.insert(folder)),
                }
            }
        }
        found
    }

    fn too_much(&self) -> Vec<(u64, u64)> {
        let is_extra = |(folder, key): &&(u64, u64)| self.walked[folder].1.has(*key) == Some(false);
        self.target.keys().filter(is_extra).copied().collect()
    }

    fn run(&mut self, source: &mut Source, chance: &mut Chance) -> NextPass {
        for folder in source.shuffled(chance) {
            source.step(chance);
            self.walk(source, folder, chance);
        }
        let (mut passes, mut met) = (Passes::default(), MovingNames::default());
        loop {
            let mut found = self.missed();
            for folder in source.shuffled(chance) {
                source.step(chance);
                if source.change(folder) != self.walked[&folder].0 {
                    found.changed.insert(FolderOfTree { tree: 0, key: folder });
                }
            }
            let next = passes.handle_looks(found, true);
            match &next {
                NextPass::WalkAgain(folders) => {
                    for folder in folders {
                        source.step(chance);
                        let (before, now) = self.walk(source, folder.key, chance);
                        met.handle_walked(&before, &now);
                    }
                }
                NextPass::Remove(restless) => {
                    let keeps_moving = !restless.is_empty();
                    for (folder, key) in self.too_much() {
                        let tree_folder = FolderOfTree { tree: 0, key: folder };
                        let is_on_its_way = || met.may_have(key);
                        if judge_staying(tree_folder, restless, keeps_moving, is_on_its_way).is_none() {
                            self.target.remove(&(folder, key));
                        }
                    }
                    return next;
                }
                NextPass::Nothing(_) | NextPass::Uncopied(_) => return next,
            }
        }
    }
}

#[test]
fn what_only_moved_has_a_copy_whatever_moved_when() {
    let (mut quiet, mut restless, mut nothing, mut uncopied) = (0, 0, 0, 0);
    for seed in 0..SEEDS {
        let mut chance = Chance(seed);
        let (folders, is_written) = (3 + chance.below(5), chance.below(3) == 0);
        let files = (0..4 + chance.below(20))
            .map(|at| File {
                folder: chance.below(folders),
                name: at,
                inode: at + 1,
                moves: 0,
                is_removed: false,
                writes: [0, 0, 0, 0, 1, 4, u32::MAX][chance.below(if is_written { 7 } else { 1 }) as usize],
            })
            .collect();
        let one_in = [0, 1, 2, 5, 20][chance.below(5) as usize];
        let mut source = Source {
            files,
            changes: BTreeMap::new(),
            folders,
            one_in,
            next_name: 1000,
            busy: 1 + chance.below(folders),
        };
        let mut mirror = Mirror::default();
        // The mirror of yesterday, then a night.
        for folder in 0..folders {
            source.names(folder).names().iter().for_each(|name| {
                mirror.target.insert((folder, name.key), name.inode);
            });
        }
        (0..20).for_each(|_| source.step(&mut chance));
        source.files.iter_mut().for_each(|file| file.moves = 0);
        match mirror.run(&mut source, &mut chance) {
            NextPass::Remove(kept) if kept.is_empty() => {
                quiet += 1;
                assert_eq!(mirror.too_much(), [], "seed {seed}: all that is too much went");
            }
            NextPass::Remove(_) => restless += 1,
            NextPass::Uncopied(_) => uncopied += 1,
            _ => nothing += 1,
        }
        for file in source.files.iter().filter(|file| !file.is_removed) {
            let is_kept = mirror.target.values().any(|inode| *inode == file.inode);
            assert!(is_kept, "seed {seed}: {file:?} has no copy: {:?}", mirror.target);
        }
    }
    // All ends were met.
    assert!(
        quiet > SEEDS / 4 && restless > SEEDS / 20 && nothing < SEEDS / 20 && uncopied > SEEDS / 200,
        "{quiet} {restless} {nothing} {uncopied}"
    );
}

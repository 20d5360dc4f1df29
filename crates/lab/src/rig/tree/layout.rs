//! The files of a made tree: name and size of each, from its number and the seed.
//!
//! Must not know: file systems.

use std::path::PathBuf;

use crate::study::TreeShape;
use datapump_engine::sim::Random;

/// Folders stand in folders of this many, as people have them: a wide and flat tree would be a case of its own.
const FOLDERS_PER_FOLDER: u64 = 25;

/// What a file takes on the disk is a whole number of these.
const BLOCK_BYTES: u64 = 4096;

/// A tree that can be made.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Its numbers.
    pub shape: TreeShape,
    /// Decides the sizes and the bytes.
    pub seed: u64,
}

impl Layout {
    /// The name of its folder: another tree has another name.
    pub fn name(&self) -> String {
        let TreeShape { files, smallest, largest, per_folder, levels, large_files, large_size } = self.shape;
        let levels = levels.map(|levels| format!("-{levels}deep")).unwrap_or_default();
        format!(
            "pump-lab-tree-{files}-{smallest}-{largest}-{per_folder}-{large_files}-{large_size}{levels}-{}",
            self.seed
        )
    }

    /// All files, folder by folder, then the large ones.
    pub fn files(&self) -> impl Iterator<Item = (PathBuf, u64)> {
        let layout = *self;
        let mut random = Random::seeded(self.seed, "sizes");
        let small = (0..self.shape.files)
            .map(move |index| (layout.folder(index).join(format!("f{index:07}")), layout.size(&mut random)));
        let large = (0..self.shape.large_files)
            .map(move |index| (PathBuf::from(format!("large{index:03}")), layout.shape.large_size));
        small.chain(large)
    }

    /// The folder of a file, below the tree's own.
    fn folder(&self, index: u64) -> PathBuf {
        if self.shape.per_folder >= self.shape.files || self.shape.levels == Some(1) {
            return PathBuf::new();
        }
        let folder = index / self.shape.per_folder;
        match self.shape.levels {
            None => format!("d{:04}/d{:02}", folder / FOLDERS_PER_FOLDER, folder % FOLDERS_PER_FOLDER).into(),
            Some(levels) => self.nested(folder, levels as u32 - 1),
        }
    }

    /// A folder this deep below the tree's own: the digits of its number, to the least base that has room for all.
    fn nested(&self, folder: u64, depth: u32) -> PathBuf {
        let folders = self.shape.files.div_ceil(self.shape.per_folder);
        let holds_all = |base: &u64| base.checked_pow(depth).is_none_or(|room| room >= folders);
        let base = (2..).find(holds_all).unwrap_or(folders);
        let digit = |place: u32| base.checked_pow(place).map_or(0, |weight| folder / weight % base);
        (0..depth).rev().map(|place| format!("d{:02}", digit(place))).collect()
    }

    /// Log-uniform: as many files between 1 and 2 KiB as between 32 and 64.
    fn size(&self, random: &mut Random) -> u64 {
        let TreeShape { smallest, largest, .. } = self.shape;
        let part = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let size = smallest as f64 * (largest as f64 / smallest.max(1) as f64).powf(part);
        (size as u64).clamp(smallest, largest)
    }

    /// Bytes that it takes on the disk, without its folders.
    pub fn room_bytes(&self) -> u64 {
        self.files().map(|(_, size)| size.next_multiple_of(BLOCK_BYTES)).sum()
    }

    /// Number of its files.
    pub fn file_count(&self) -> u64 {
        self.shape.files + self.shape.large_files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(seed: u64) -> Layout {
        let shape = TreeShape {
            files: 6000,
            smallest: 1 << 10,
            largest: 1 << 16,
            per_folder: 100,
            levels: None,
            large_files: 2,
            large_size: 1 << 20,
        };
        Layout { shape, seed }
    }

    #[test]
    fn sizes_are_spread_over_the_orders_of_magnitude() {
        let files: Vec<(PathBuf, u64)> = layout(1).files().collect();
        assert_eq!(files.len() as u64, layout(1).file_count());
        let (small, large) = files.split_at(6000);
        for power in 10..16 {
            let count = small.iter().filter(|(_, size)| (1 << power..2 << power).contains(size)).count();
            assert!((850..1150).contains(&count), "{count} of 6000 files from 2^{power}");
        }
        assert_eq!(large[1], (PathBuf::from("large001"), 1 << 20));
        assert!(small.iter().all(|(_, size)| (1 << 10..=1 << 16).contains(size)));
    }

    #[test]
    fn the_seed_decides_the_sizes_and_folders_are_filled_in_order() {
        let files = |seed| layout(seed).files().collect::<Vec<_>>();
        assert!(files(1) == files(1) && files(1) != files(2));
        let names: Vec<String> = files(1).iter().map(|(path, _)| path.display().to_string()).collect();
        assert_eq!((&*names[0], &*names[5999]), ("d0000/d00/f0000000", "d0002/d09/f0005999"));
    }

    #[test]
    fn files_lie_as_deep_as_is_said() {
        for (levels, folders, first, last) in [
            (1, 1, "f0000000", "f0005999"),
            (2, 60, "d00/f0000000", "d59/f0005999"),
            (4, 60, "d00/d00/d00/f0000000", "d03/d02/d03/f0005999"),
            (8, 60, "d00/d00/d00/d00/d00/d00/d00/f0000000", "d00/d01/d01/d01/d00/d01/d01/f0005999"),
        ] {
            let shape = TreeShape { levels: Some(levels), large_files: 0, ..layout(1).shape };
            let deep = Layout { shape, seed: 1 };
            let paths: Vec<PathBuf> = deep.files().map(|(path, _)| path).collect();
            let own: std::collections::BTreeSet<_> = paths.iter().filter_map(|path| path.parent()).collect();
            assert_eq!(own.len(), folders, "{levels} levels");
            assert!(paths.iter().all(|path| path.components().count() as u64 == levels), "{levels} levels");
            assert_eq!((&*paths[0], &*paths[5999]), (first.as_ref(), last.as_ref()), "{levels} levels");
            assert_ne!(deep.name(), layout(1).name());
        }
    }

    #[test]
    fn files_may_be_empty_and_all_in_one_folder() {
        let shape = TreeShape { files: 10, per_folder: 10, ..TreeShape::default() };
        let empty = Layout { shape, seed: 1 };
        assert!(empty.files().all(|(path, size)| path.components().count() == 1 && size == 0));
        assert_eq!(empty.room_bytes(), 0);
        assert_ne!(empty.name(), layout(1).name());
    }
}

//! A file system in memory with two images: what programs see, and what would survive a power loss.
//!
//! # Fault model
//! - **Power loss** ([`SimDisk::after_power_loss`]): of the data written since a file's last sync each 512-byte sector
//!   survives or not, at random; names made, moved or removed since their folder's last sync survive up to a random
//!   point in their order. A file whose length was not synced may be short.
//! - **Kill** ([`SimDisk::after_kill`]): everything written stays, locks are gone.
//! - **Stop at the n-th change** ([`SimDisk::stop_at`]): from then on every operation fails with `EIO` and changes
//!   nothing, as if the process had died there.
//! - **Full** ([`SimDisk::set_capacity`]): what exceeds it fails with `ENOSPC`.
//!
//! Must not know: requests, jobs, what the files mean.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Device, Random};
use crate::Errno;

const ENOENT: Errno = Errno(2);
const EIO: Errno = Errno(5);
const EEXIST: Errno = Errno(17);
const EINVAL: Errno = Errno(22);
const ENOSPC: Errno = Errno(28);
const SECTOR_BYTES: usize = 512;

/// What `stat(2)` would say of a simulated file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimMeta {
    /// Number of the file.
    pub inode: u64,
    /// Length in bytes.
    pub size_bytes: u64,
    /// Permission bits.
    pub mode: u32,
    /// Last change of the data: set, or counted in changes of the disk.
    pub mtime_ns: i64,
    /// Counts every change of the file.
    pub ctime_ns: i64,
}

#[derive(Clone, Debug, Default)]
struct Inode {
    seen: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors written since the last sync.
    dirty: BTreeSet<usize>,
    mode: u32,
    mtime_ns: i64,
    ctime_ns: i64,
    locked: bool,
    /// It lies on a device of its own.
    device: Option<Device>,
}

/// A change of the names: what a name refers to from then on.
type NameChange = (Vec<u8>, Option<usize>);

#[derive(Clone, Debug, Default)]
struct DiskInner {
    inodes: Vec<Inode>,
    names: BTreeMap<Vec<u8>, usize>,
    durable_names: BTreeMap<Vec<u8>, usize>,
    /// Changes of names since the last sync of the folder, in order; a rename is one entry of two changes.
    unsynced_names: Vec<Vec<NameChange>>,
    capacity_bytes: Option<u64>,
    /// Power losses so far.
    boots: u64,
    changes: u64,
    stop_at: Option<u64>,
}

/// The file system. Clones of the `Arc` share it; all names lie in one folder.
#[derive(Debug, Default)]
pub struct SimDisk(Mutex<DiskInner>);

/// An open file of a [`SimDisk`].
#[derive(Clone, Debug)]
pub struct SimFile {
    disk: Arc<SimDisk>,
    inode: usize,
    stream_at: Arc<Mutex<u64>>,
    lock: Arc<Lock>,
}

/// The lock of an open file, which ends when it is closed.
#[derive(Debug)]
struct Lock {
    disk: Arc<SimDisk>,
    inode: usize,
    is_held: AtomicBool,
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.is_held.load(Ordering::Relaxed) {
            self.disk.inner().inodes[self.inode].locked = false;
        }
    }
}

impl SimFile {
    /// The device of its own, if it lies on one, and the number that tells it from others.
    pub(crate) fn device(&self) -> Option<(usize, Device)> {
        self.disk.inner().inodes[self.inode].device.map(|device| (self.inode, device))
    }
}

impl SimDisk {
    /// An empty disk.
    pub fn new() -> Arc<SimDisk> {
        Arc::default()
    }

    /// From now on the file lies on a device of its own, with one channel for reads and writes.
    pub fn put_on(&self, name: &[u8], device: Device) {
        let mut inner = self.inner();
        if let Some(&inode) = inner.names.get(name) {
            inner.inodes[inode].device = Some(device);
        }
    }

    fn inner(&self) -> MutexGuard<'_, DiskInner> {
        self.0.lock().expect("no panic while the disk is locked")
    }

    /// Makes or replaces a file with this content, already durable.
    pub fn put(&self, name: &[u8], content: &[u8]) {
        let mut inner = self.inner();
        let inode =
            Inode { seen: content.to_vec(), durable: content.to_vec(), mode: 0o644, ..Inode::default() };
        inner.inodes.push(inode);
        let number = inner.inodes.len() - 1;
        inner.names.insert(name.to_vec(), number);
        inner.durable_names.insert(name.to_vec(), number);
    }

    /// What a program would read under this name.
    pub fn content(&self, name: &[u8]) -> Option<Vec<u8>> {
        let inner = self.inner();
        inner.names.get(name).map(|&inode| inner.inodes[inode].seen.clone())
    }

    /// All names, in order.
    pub fn names(&self) -> Vec<Vec<u8>> {
        self.inner().names.keys().cloned().collect()
    }

    /// Number of changes made so far: writes, names, lengths, attributes, syncs.
    pub fn changes(&self) -> u64 {
        self.inner().changes
    }

    /// How often the power failed: each time it is another run of the system.
    pub fn boots(&self) -> u64 {
        self.inner().boots
    }

    /// From the n-th change on (counted from now, the first is 1), everything fails with `EIO`.
    pub fn stop_at(&self, change: u64) {
        let mut inner = self.inner();
        inner.changes = 0;
        inner.stop_at = Some(change);
    }

    /// The disk is full when its files take more than this.
    pub fn set_capacity(&self, bytes: u64) {
        self.inner().capacity_bytes = Some(bytes);
    }

    /// The disk as another process finds it after this one was killed.
    pub fn after_kill(&self) -> Arc<SimDisk> {
        let mut inner = self.inner().clone();
        inner.stop_at = None;
        inner.inodes.iter_mut().for_each(|inode| inode.locked = false);
        Arc::new(SimDisk(Mutex::new(inner)))
    }

    /// The disk after the power failed: only what was synced is certain to be there.
    pub fn after_power_loss(&self, random: &mut Random) -> Arc<SimDisk> {
        let mut inner = self.inner().clone();
        inner.stop_at = None;
        inner.boots += 1;
        let kept = random.below(inner.unsynced_names.len() as u64 + 1) as usize;
        let changes: Vec<NameChange> = inner.unsynced_names.drain(..).take(kept).flatten().collect();
        changes.into_iter().for_each(|(name, inode)| apply(&mut inner.durable_names, name, inode));
        inner.names = inner.durable_names.clone();
        inner.inodes.iter_mut().for_each(|inode| inode.lose_power(random));
        Arc::new(SimDisk(Mutex::new(inner)))
    }

    /// Opens an existing file.
    pub fn open(self: &Arc<Self>, name: &[u8]) -> Result<SimFile, Errno> {
        let inode = *self.inner().names.get(name).ok_or(ENOENT)?;
        Ok(self.file(inode))
    }

    /// Makes a new, empty file; `EEXIST` when the name is taken.
    pub fn create_new(self: &Arc<Self>, name: &[u8], mode: u32) -> Result<SimFile, Errno> {
        let mut inner = self.inner();
        if inner.names.contains_key(name) {
            return Err(EEXIST);
        }
        inner.change()?;
        inner.inodes.push(Inode { mode, ..Inode::default() });
        let number = inner.inodes.len() - 1;
        inner.rename_all(vec![(name.to_vec(), Some(number))]);
        drop(inner);
        Ok(self.file(number))
    }

    fn file(self: &Arc<Self>, inode: usize) -> SimFile {
        let lock = Lock { disk: Arc::clone(self), inode, is_held: AtomicBool::new(false) };
        SimFile { disk: Arc::clone(self), inode, stream_at: Arc::default(), lock: Arc::new(lock) }
    }

    /// What a name refers to.
    pub fn metadata(&self, name: &[u8]) -> Result<SimMeta, Errno> {
        let inner = self.inner();
        let number = *inner.names.get(name).ok_or(ENOENT)?;
        Ok(inner.meta(number))
    }

    /// Removes a name.
    pub fn remove(&self, name: &[u8]) -> Result<(), Errno> {
        let mut inner = self.inner();
        inner.names.get(name).ok_or(ENOENT)?;
        inner.change()?;
        inner.rename_all(vec![(name.to_vec(), None)]);
        Ok(())
    }

    /// Moves a name, replacing what stood under the new one.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> Result<(), Errno> {
        let mut inner = self.inner();
        let number = *inner.names.get(from).ok_or(ENOENT)?;
        inner.change()?;
        inner.rename_all(vec![(from.to_vec(), None), (to.to_vec(), Some(number))]);
        Ok(())
    }

    /// Makes all names durable.
    pub fn sync_folder(&self) -> Result<(), Errno> {
        let mut inner = self.inner();
        inner.change()?;
        inner.unsynced_names.clear();
        inner.durable_names = inner.names.clone();
        Ok(())
    }
}

impl SimFile {
    /// Reads at an offset, or where the stream stands.
    pub fn read(&self, at: Option<u64>, into: &mut [u8]) -> Result<usize, Errno> {
        let inner = self.disk.inner();
        let seen = &inner.inodes[self.inode].seen;
        let mut stream_at = self.stream_at.lock().expect("no panic while locked");
        let start = (at.unwrap_or(*stream_at) as usize).min(seen.len());
        let count = into.len().min(seen.len() - start);
        into[..count].copy_from_slice(&seen[start..start + count]);
        if at.is_none() {
            *stream_at += count as u64;
        }
        Ok(count)
    }

    /// Writes at an offset, or where the stream stands; the file grows as needed.
    pub fn write(&self, at: Option<u64>, from: &[u8]) -> Result<usize, Errno> {
        let mut inner = self.disk.inner();
        let mut stream_at = self.stream_at.lock().expect("no panic while locked");
        let start = at.unwrap_or(*stream_at) as usize;
        let end = start + from.len();
        inner.room_for(self.inode, end)?;
        inner.change()?;
        let now_ns = inner.changes as i64;
        let inode = &mut inner.inodes[self.inode];
        if inode.seen.len() < end {
            inode.seen.resize(end, 0);
        }
        inode.seen[start..end].copy_from_slice(from);
        inode.dirty.extend(start / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES));
        (inode.mtime_ns, inode.ctime_ns) = (now_ns, now_ns);
        if at.is_none() {
            *stream_at = end as u64;
        }
        Ok(from.len())
    }

    /// Sets the length; new bytes are zero.
    pub fn set_len(&self, bytes: u64) -> Result<(), Errno> {
        self.changed(|inode| {
            inode.seen.resize(bytes as usize, 0);
            inode.dirty.retain(|&sector| sector * SECTOR_BYTES < bytes as usize);
        })
    }

    /// Sets permission bits and modification time.
    pub fn set_attributes(&self, mode: u32, mtime_ns: i64) -> Result<(), Errno> {
        self.changed(|inode| {
            inode.mode = mode;
            inode.mtime_ns = mtime_ns;
        })
    }

    /// Makes the content and its length durable.
    pub fn sync(&self) -> Result<(), Errno> {
        self.changed(|inode| {
            inode.durable = inode.seen.clone();
            inode.dirty.clear();
        })
    }

    /// Locks the file against other processes; false when it is locked.
    pub fn try_lock(&self) -> Result<bool, Errno> {
        let mut inner = self.disk.inner();
        let is_free = !std::mem::replace(&mut inner.inodes[self.inode].locked, true);
        self.lock.is_held.fetch_or(is_free, Ordering::Relaxed);
        Ok(is_free)
    }

    /// What `fstat(2)` would say.
    pub fn metadata(&self) -> SimMeta {
        self.disk.inner().meta(self.inode)
    }

    fn changed(&self, change: impl FnOnce(&mut Inode)) -> Result<(), Errno> {
        let mut inner = self.disk.inner();
        inner.change()?;
        let now_ns = inner.changes as i64;
        let inode = inner.inodes.get_mut(self.inode).ok_or(EINVAL)?;
        change(inode);
        inode.ctime_ns = now_ns;
        Ok(())
    }
}

impl DiskInner {
    /// Counts a change, or refuses it because the process is dead.
    fn change(&mut self) -> Result<(), Errno> {
        self.changes += 1;
        match self.stop_at {
            Some(stop) if self.changes >= stop => Err(EIO),
            _ => Ok(()),
        }
    }

    fn rename_all(&mut self, changes: Vec<NameChange>) {
        changes.iter().cloned().for_each(|(name, inode)| apply(&mut self.names, name, inode));
        self.unsynced_names.push(changes);
    }

    fn room_for(&self, inode: usize, end: usize) -> Result<(), Errno> {
        let Some(capacity) = self.capacity_bytes else { return Ok(()) };
        let others: usize = self
            .names
            .values()
            .filter(|&&number| number != inode)
            .map(|&number| self.inodes[number].seen.len())
            .sum();
        let own = self.inodes[inode].seen.len().max(end);
        if (others + own) as u64 > capacity { Err(ENOSPC) } else { Ok(()) }
    }

    fn meta(&self, number: usize) -> SimMeta {
        let inode = &self.inodes[number];
        let size_bytes = inode.seen.len() as u64;
        SimMeta {
            inode: number as u64,
            size_bytes,
            mode: inode.mode,
            mtime_ns: inode.mtime_ns,
            ctime_ns: inode.ctime_ns,
        }
    }
}

impl Inode {
    fn lose_power(&mut self, random: &mut Random) {
        self.locked = false;
        if self.seen.len() != self.durable.len() && random.chance(2) {
            self.durable.resize(self.seen.len(), 0);
        }
        for sector in std::mem::take(&mut self.dirty) {
            let start = sector * SECTOR_BYTES;
            let end = (start + SECTOR_BYTES).min(self.durable.len()).min(self.seen.len());
            if start < end && random.chance(2) {
                self.durable[start..end].copy_from_slice(&self.seen[start..end]);
            }
        }
        self.seen = self.durable.clone();
    }
}

fn apply(names: &mut BTreeMap<Vec<u8>, usize>, name: Vec<u8>, inode: Option<usize>) {
    match inode {
        Some(inode) => names.insert(name, inode),
        None => names.remove(&name),
    };
}

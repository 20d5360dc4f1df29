//! Network namespaces by name, as ip-netns(8) has them: made, entered, removed; and the loopback interface of one.
//!
//! Must not know: who lives there, what names mean.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{
    MountPropagationFlags, UnmountFlags, mount_bind, mount_bind_recursive, mount_change, unmount,
};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// Makes a namespace that lives as long as this file, which must not be there: the file is a mount of it.
pub fn make_net_space(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        share(folder)?;
    }
    File::options().write(true).create_new(true).open(file)?;
    let made = on_a_thread(|| {
        // SAFETY: the table of descriptors stays shared.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET)? };
        raise_loopback()?;
        Ok(mount_bind("/proc/thread-self/ns/net", file)?)
    });
    if made.is_err() {
        let _ = std::fs::remove_file(file);
    }
    made
}

/// A mount in the folder is to come and go in every mount namespace, as ip-netns(8) has it: a mount that stays in one
/// of them keeps the file for ever.
fn share(folder: &Path) -> io::Result<()> {
    let shared = || mount_change(folder, MountPropagationFlags::SHARED | MountPropagationFlags::REC);
    if shared() == Err(Errno::INVAL) {
        mount_bind_recursive(folder, folder)?;
        shared()?;
    }
    Ok(())
}

/// Removes one: what still uses it keeps it alive, without a name.
pub fn remove_net_space(file: &Path) -> io::Result<()> {
    unmount(file, UnmountFlags::DETACH)?;
    std::fs::remove_file(file)
}

/// Runs something in a namespace, on a thread of its own.
pub fn in_net_space<T: Send>(file: &Path, run: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let space = File::open(file)?;
    on_a_thread(move || {
        move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))?;
        run()
    })
}

fn on_a_thread<T: Send>(run: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(run);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread of a network namespace panicked")))
    })
}

/// In a new namespace not even a host reaches itself: netdevice(7), `SIOCSIFFLAGS`.
fn raise_loopback() -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: all of the structure may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (into, letter) in request.ifr_name.iter_mut().zip(b"lo") {
        *into = *letter as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the kernel reads the structure, which lives.
    let result =
        unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&socket), libc::SIOCSIFFLAGS as _, &request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

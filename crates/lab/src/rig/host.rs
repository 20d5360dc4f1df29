//! A folder that makes this host two: settings and keys for servers on loopback, a port for one of them, and the few
//! functions of a shell that start and end it.
//!
//! Must not know: which programs a study compares.

use std::fs::{self, DirBuilder};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use super::laid_path::{self, LaidPath};
use super::targets::{own_name, sweep};
use crate::perform::quoted;
use crate::session::finished::delete;
use crate::study::PathKind;
use datapump_netlab::emulator::PathStats;
use datapump_netlab::{Relay, RelayOptions};

const KIND: &str = "host";
const FUNCTIONS: &str = include_str!("host.sh");
/// What else commands may read: each reads the one before it.
const DISK: &str = include_str!("disk.sh");
const CABLE: &str = include_str!("cable.sh");
const PATH: &str = include_str!("path.sh");
const REAL: &str = include_str!("real.sh");
const ON: &str = include_str!("on.sh");
/// The name under which ssh looks up the host's key, whichever port it connects to.
const ALIAS: &str = "pump-lab";

/// The folder goes when this is dropped.
#[derive(Debug)]
pub struct RigHost {
    folder: PathBuf,
    port: u16,
    relay: Option<Relay>,
    path: Option<LaidPath>,
}

impl RigHost {
    /// Makes the folder, of this number in this process. It is that of temporary files: its path has no spaces, which
    /// some programs split their settings at, and none of it is on the disk that is measured.
    pub fn new(number: u64) -> anyhow::Result<RigHost> {
        let parent = std::env::temp_dir();
        sweep(&parent, KIND);
        let folder = parent.join(format!("{}-{number}", own_name(KIND)));
        // One from a process of this number that was killed.
        delete(&folder);
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.with_context(|| format!("make the folder {}", folder.display()))?;
        let port = free_port().context("find a free port on loopback")?;
        let host = RigHost { folder, port, relay: None, path: None };
        host.fill().with_context(|| format!("write settings to {}", host.folder.display()))?;
        Ok(host)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A port on loopback at which nobody listened when the folder was made.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts a relay in front of the port and returns the relay's port. `ssh_config` names it from now on. If nothing
    /// is to be delayed, no relay is started and the port itself is returned.
    pub fn put_at_distance(&mut self, options: RelayOptions, seed: u64) -> anyhow::Result<u16> {
        if !options.is_needed() {
            return Ok(self.port);
        }
        let relay = Relay::start(SocketAddr::from(([127, 0, 0, 1], self.port)), options, seed);
        let relay = relay.context("start a relay on loopback")?;
        let port = relay.address().port();
        self.relay = Some(relay);
        self.write("ssh_config", &self.ssh(port)).context("write settings of ssh")?;
        Ok(port)
    }

    /// Lays a path, of this number in this process, and writes what commands read of it. Where none can be laid, the
    /// commands are told why.
    pub fn lay_path(&mut self, kind: PathKind, number: u64) -> anyhow::Result<()> {
        let real = if matches!(kind, PathKind::Hosts(_)) { REAL } else { "" };
        let ends = match kind {
            PathKind::Loopback => laid_path::ends_on_loopback(),
            PathKind::Hosts(name) => {
                self.write("on", ON).context("write the program that runs others there")?;
                laid_path::ends_on_hosts(&name, &self.folder)
            }
            PathKind::Box(settings) => match LaidPath::lay(*settings, number) {
                Ok(path) => laid_path::ends_in_spaces(self.path.insert(path)),
                Err(error) => format!("unavailable {}\n", quoted(Path::new(&format!("{error:#}")))),
            },
        };
        let text = format!(". {}/disk.sh\n{ends}{PATH}{real}", self.folder.display());
        self.write("path.sh", &text).context("write the ends of the path")
    }

    /// Ends the path, if one was laid.
    pub fn end_path(&mut self) -> Option<anyhow::Result<PathStats>> {
        self.path.take().map(LaidPath::end)
    }

    fn fill(&self) -> anyhow::Result<()> {
        let functions = format!("HOST={}\nPORT_IN_HEX={:04X}\n{FUNCTIONS}", self.folder.display(), self.port);
        self.write("host.sh", &functions)?;
        self.write("disk.sh", &format!(". {}/host.sh\n{DISK}", self.folder.display()))?;
        self.write("cable.sh", &format!(". {}/disk.sh\n{CABLE}", self.folder.display()))?;
        self.write("rsyncd.conf", &self.rsync())?;
        self.write("sshd_config", &self.sshd())?;
        self.write("ssh_config", &self.ssh(self.port))?;
        if rustix::process::geteuid().is_root() {
            // The system's own service makes it before it starts sshd.
            fs::create_dir_all("/run/sshd")?;
        }
        if self.key("host_key")? && self.key("key")? {
            let public = fs::read_to_string(self.folder.join("host_key.pub"))?;
            self.write("known_hosts", &format!("{ALIAS} {public}"))?;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> std::io::Result<()> {
        fs::write(self.folder.join(name), text)
    }

    /// Everything there is, as the user who runs the study.
    fn rsync(&self) -> String {
        let owner = if rustix::process::geteuid().is_root() { "uid = 0\ngid = 0\n" } else { "" };
        let (folder, port) = (self.folder.display(), self.port);
        format!(
            "port = {port}\naddress = 127.0.0.1\nuse chroot = no\nreverse lookup = no\nlog file = {folder}/rsyncd.log\n\
             {owner}[all]\npath = /\nread only = no\nmunge symlinks = no\n"
        )
    }

    /// Only the key of this folder opens it.
    fn sshd(&self) -> String {
        let (folder, port) = (self.folder.display(), self.port);
        format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\nAuthorizedKeysFile {folder}/key.pub\n\
             AuthenticationMethods publickey\nPermitRootLogin prohibit-password\nStrictModes no\nUsePAM no\n\
             PidFile none\nLogLevel ERROR\nSubsystem sftp internal-sftp\n"
        )
    }

    /// Nothing of the user's own settings, keys and agent.
    fn ssh(&self, port: u16) -> String {
        let folder = self.folder.display();
        format!(
            "Host *\nPort {port}\nHostKeyAlias {ALIAS}\nIdentityFile {folder}/key\nIdentitiesOnly yes\n\
             IdentityAgent none\nBatchMode yes\nUserKnownHostsFile {folder}/known_hosts\n\
             GlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\nLogLevel ERROR\n"
        )
    }

    /// Makes a pair of keys; `false` where there is no ssh, whose commands the study then leaves out.
    fn key(&self, name: &str) -> anyhow::Result<bool> {
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-t", "ed25519", "-N", "", "-C", "pump lab", "-f"]).arg(self.folder.join(name));
        match command.stdin(Stdio::null()).output() {
            Ok(made) if made.status.success() => Ok(true),
            Ok(made) => bail!("ssh-keygen: {}", String::from_utf8_lossy(&made.stderr).trim()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).context("ssh-keygen"),
        }
    }
}

impl Drop for RigHost {
    fn drop(&mut self) {
        delete(&self.folder);
    }
}

/// The kernel chooses among tens of thousands, so that hardly anybody is given the same one before it is used.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    use crate::perform::CommandLine;

    fn run(host: &RigHost, line: &str) -> Option<String> {
        let line = format!(". {}/host.sh; {line}", host.folder().display());
        let measured = CommandLine(line).run(&AtomicBool::new(false)).expect("a shell");
        measured.problem.map(|(class, words)| format!("{class}: {words}"))
    }

    /// A server that a test can have everywhere: `python3` is not there on every host.
    fn listener(host: &RigHost) -> String {
        format!("nc -l 127.0.0.1 {}", host.port())
    }

    #[test]
    fn the_folder_is_private_and_goes() {
        use std::os::unix::fs::PermissionsExt;
        let host = RigHost::new(1000).expect("a folder");
        let folder = host.folder().to_path_buf();
        let mode = fs::metadata(&folder).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_ne!(RigHost::new(1001).expect("another").port(), host.port());
        drop(host);
        assert!(!folder.exists());
    }

    #[test]
    fn what_is_started_is_ended_and_the_status_is_that_of_the_command() {
        let host = RigHost::new(1002).expect("a folder");
        if run(&host, "command -v nc > /dev/null").is_some() {
            eprintln!("not tested: nc is not installed");
            return;
        }
        let start = format!("start {}", listener(&host));
        assert_eq!(run(&host, &format!("{start} > /dev/null && true")), None);
        let failed = run(&host, &format!("{start} > /dev/null && echo why >&2 && exit 3"));
        assert_eq!(failed.as_deref(), Some("io: exit status: 3: why"));
        let shown = format!("{}/process", host.folder().display());
        assert_eq!(run(&host, &format!("{start} > /dev/null && echo $STARTED > {shown}")), None);
        let process = fs::read_to_string(&shown).expect("it was started");
        assert!(!Path::new("/proc").join(process.trim()).exists(), "{process} still runs");
    }

    #[test]
    fn a_host_at_a_distance_is_called_through_its_relay() {
        let mut host = RigHost::new(1004).expect("a folder");
        let ssh_port = |host: &RigHost| {
            let text = fs::read_to_string(host.folder().join("ssh_config")).expect("it was written");
            text.lines().find_map(|line| line.strip_prefix("Port ")?.parse::<u16>().ok())
        };
        let none = host.put_at_distance(RelayOptions::default(), 1).expect("nothing to do");
        assert_eq!((none, ssh_port(&host)), (host.port(), Some(host.port())));
        let far = RelayOptions { delay: std::time::Duration::from_millis(5), ..RelayOptions::default() };
        let port = host.put_at_distance(far, 1).expect("a relay");
        assert_eq!(ssh_port(&host), Some(port));
        // The server starts after the relay.
        let server = TcpListener::bind(("127.0.0.1", host.port())).expect("it is free");
        let client = std::net::TcpStream::connect(("127.0.0.1", port)).expect("the relay listens");
        server.accept().expect("it was called");
        drop(client);
    }

    #[test]
    fn a_relay_goes_with_its_host() {
        let is_gone = |number: u64| {
            let mut host = RigHost::new(1010 + number).expect("a folder");
            let far = RelayOptions { delay: std::time::Duration::from_millis(5), ..RelayOptions::default() };
            let port = host.put_at_distance(far, 1).expect("a relay");
            std::net::TcpStream::connect(("127.0.0.1", port)).expect("the relay listens");
            drop(host);
            std::net::TcpStream::connect(("127.0.0.1", port)).is_err()
        };
        // Another program may listen there as soon as the port is free; not each time.
        assert!((0..10).any(is_gone), "it went with the host");
    }

    #[test]
    fn a_server_that_ends_or_is_not_there_is_no_server() {
        let host = RigHost::new(1003).expect("a folder");
        assert!(run(&host, "start true").is_some());
        let missing = run(&host, "start no-such-program-anywhere").expect("a failure");
        assert_eq!(missing, "missing: exit status: 127: no-such-program-anywhere is not installed");
    }
}

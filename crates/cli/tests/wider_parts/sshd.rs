//! A real sshd on loopback with keys, configuration and known hosts of its own, as whoever runs the tests.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::program;
use crate::support::running::eventually;
use crate::support::{Home, is_root};

/// It must be called by its whole path.
const SSHD: &str = "/usr/sbin/sshd";

/// The server, until dropped. Its files are `sshd/` in the home of the test; the home folder of who logs in is `far/`.
pub struct Sshd {
    child: Child,
}

impl Sshd {
    /// Lets in who holds `key`, as `loop` does and `stranger` does not. With `forced`, a shell runs that instead of
    /// what the caller wants (which is in SSH_ORIGINAL_COMMAND), as login scripts do before it.
    pub fn new(home: &Home, forced: Option<&str>) -> Sshd {
        let folder = home.path("sshd");
        let _ = std::fs::create_dir(home.path("far"));
        std::fs::create_dir(&folder).expect("room");
        for name in ["host_key", "key", "other_key"] {
            let path = folder.join(name).display().to_string();
            program(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", &path]);
        }
        if is_root() {
            // Where sshd locks itself in; packages make it at boot.
            std::fs::create_dir_all("/run/sshd").expect("root may");
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
        configure(home, &folder, port, forced);
        let child = Command::new(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(folder.join("sshd_config"))
            .stdin(Stdio::null())
            .stderr(std::fs::File::create(folder.join("log")).expect("room"))
            .spawn()
            .unwrap_or_else(|error| panic!("{SSHD}: {error}: `cargo xtask wider` installs it"));
        let sshd = Sshd { child };
        eventually("sshd listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        sshd
    }

    /// ssh with its configuration, and more options.
    pub fn ssh(home: &Home, more: &str) -> String {
        format!("ssh -F {} {more}", home.path("sshd/config").display())
    }
}

fn configure(home: &Home, folder: &Path, port: u16, forced: Option<&str>) {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("ssh-keygen made it");
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).expect("room");
    let (here, far) = (folder.display(), home.path("far"));
    let has_six = TcpListener::bind("[::1]:0").is_ok();
    let six = if has_six { format!("ListenAddress [::1]:{port}\n") } else { String::new() };
    let forced = forced.map(|command| format!("ForceCommand {command}\n")).unwrap_or_default();
    write(
        "sshd_config",
        format!(
            "ListenAddress 127.0.0.1:{port}\n{six}HostKey {here}/host_key\nAuthorizedKeysFile {here}/key.pub\n\
             PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin yes\nSubsystem sftp internal-sftp\nSetEnv HOME={}\n{forced}",
            far.display()
        ),
    );
    let key = read("host_key.pub");
    write("known_hosts", format!("[127.0.0.1]:{port} {key}[::1]:{port} {key}"));
    write(
        "config",
        format!(
            "Host loop stranger\n  HostName 127.0.0.1\nHost stranger\n  IdentityFile {here}/other_key\n\
             Host * !stranger\n  IdentityFile {here}/key\nHost *\n  Port {port}\n  IdentitiesOnly yes\n\
             \x20 IdentityAgent none\n  UserKnownHostsFile {here}/known_hosts\n  GlobalKnownHostsFile none\n\
             \x20 StrictHostKeyChecking yes\n  BatchMode yes\n"
        ),
    );
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! Link-local addresses with their zones, in every place that has an address.

use std::process::Command;

use crate::support::{Home, PUMP, expect, has_content, is_root, make_folder, noise_file, outcome};

/// In a network namespace: a link-local address of loopback; a server that is called by it; a web server, where there is
/// a python3 for it.
const SCRIPT: &str = r#"
ip link set lo up && ip -6 addr add fe80::1/64 dev lo nodad || exit 99
"$PUMP" serve served --ticket-file ticket --listen '[fe80::1%lo]:4000' >listening 2>err & s=$!
for _ in $(seq 100); do grep -q listening listening && break; sleep 0.1; done
cat listening
for zone in %lo %25lo; do
  "$PUMP" copy -q --ticket-file ticket "pump://[fe80::1$zone]:4000/file" "pump$zone" || exit 1
done
"$PUMP" copy -q --ticket-file ticket "pump://[fe80::1]:4000/file" none; echo "without: $?"
kill $s
python3 -c 'import http.server' || exit 98
cat >web.py <<'P'
import http.server, socket
class Web(http.server.HTTPServer): address_family = socket.AF_INET6
class Answer(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        print(self.headers['Host'], file=open('hosts', 'a'))
        super().do_GET()
Web(('::', 8000), Answer).serve_forever()
P
python3 web.py 2>web & w=$!
for _ in $(seq 100); do "$PUMP" copy -q 'http://[::1]:8000/file' there 2>no && break; sleep 0.1; done
for zone in %lo %25lo; do
  "$PUMP" copy -q "http://[fe80::1$zone]:8000/file" "http$zone" || exit 1
done
kill $w
"#;

#[test]
fn zones_are_taken_in_every_place() {
    if !is_root() {
        return eprintln!("not tested: only root gives addresses to interfaces");
    }
    let home = Home::new();
    make_folder(&home, "served");
    let content = noise_file(&home, "served/file", 100_000, 1);
    std::fs::copy(home.path("served/file"), home.path("file")).expect("room");
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", SCRIPT]).env("PUMP", PUMP).current_dir(home.path(""));
    let run = outcome(command, b"");
    if run.status == 99 {
        return eprintln!("not tested: this kernel has no IPv6: {}", run.err);
    }
    assert!(run.out.contains("listening: [fe80::1%lo]:4000"), "{run:?}");
    assert!(run.out.contains("without: 10"), "{run:?}");
    let mut names = vec!["pump%lo", "pump%25lo"];
    if run.status == 98 {
        eprintln!("not tested: zones of http: there is no python3");
    } else {
        expect(&run, 0, &["needs its interface"], "zones");
        names.extend(["http%lo", "http%25lo"]);
        let hosts = std::fs::read_to_string(home.path("hosts")).expect("it was asked");
        assert!(hosts.contains("[fe80::1]:8000") && !hosts.contains('%'), "no server gets a zone: {hosts}");
    }
    names.iter().for_each(|name| has_content(&home.path(name), &content, name));
}

//! A server of HTTP/1.1 on loopback, as real as a test needs: kept connections, ranges, and whatever goes wrong.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What was asked.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    headers: Vec<(String, String)>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// First byte and the one behind the last.
    pub fn range(&self) -> Option<(usize, usize)> {
        let (first, last) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some((first.parse().ok()?, last.parse::<usize>().ok()? + 1))
    }
}

/// The answer to a request.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// The connection is cut behind so many bytes of the body.
    pub cut_at: Option<usize>,
    /// The length is not told: the body is sent in chunks.
    pub is_chunked: bool,
    /// Nothing more is said behind so many bytes of the body, and the connection stays.
    pub silent_at: Option<usize>,
    /// Bytes per second.
    pub rate: Option<usize>,
    /// What `headers` say is all that is told of the body, which is sent as it stands; the connection is closed behind.
    pub is_unframed: bool,
    /// The connection is reset, and not closed.
    pub resets: bool,
    /// Comes before the head: informational answers.
    pub before: &'static str,
    /// Lives until the answer has been sent.
    pub held: Option<Arc<()>>,
}

impl Answer {
    pub fn status(status: u16) -> Answer {
        Answer { status, ..Answer::default() }
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Answer {
        self.headers.push((name, value.to_string()));
        self
    }

    /// The same with nothing told of its length, but for what `headers` say.
    pub fn unframed(self) -> Answer {
        Answer { is_unframed: true, ..self }
    }

    /// The same with a connection that is reset behind it.
    pub fn reset(self) -> Answer {
        Answer { resets: true, ..self }
    }

    /// The whole of it.
    pub fn whole(content: &[u8]) -> Answer {
        Answer { status: 200, body: content.to_vec(), ..Answer::default() }
    }

    /// The part that was asked for.
    pub fn part(request: &Request, content: &[u8]) -> Answer {
        match request.range() {
            Some((first, end)) if first < content.len() => {
                let end = end.min(content.len());
                let range = format!("bytes {first}-{}/{}", end - 1, content.len());
                let body = content[first..end].to_vec();
                Answer { status: 206, body, ..Answer::default() }.with("Content-Range", &range)
            }
            Some(_) => Answer::status(416).with("Content-Range", &format!("bytes */{}", content.len())),
            None => Answer::whole(content),
        }
    }
}

type Answers = Arc<dyn Fn(&Request, usize) -> Answer + Send + Sync>;
type Asked = Arc<Mutex<Vec<Request>>>;

pub struct WebServer {
    address: SocketAddr,
    asked: Asked,
}

impl WebServer {
    /// `answers` gets each request and how many came before it.
    pub fn new(answers: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> WebServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let (asked, answers): (Asked, Answers) = (Arc::default(), Arc::new(answers));
        let asked_of = Arc::clone(&asked);
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, answers) = (Arc::clone(&asked_of), Arc::clone(&answers));
                std::thread::spawn(move || serve(&stream, &asked, &*answers));
            }
        });
        WebServer { address, asked }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn asked(&self) -> Vec<Request> {
        self.asked.lock().expect("no panic while it is held").clone()
    }
}

/// Serves one connection until it ends, whoever ends it.
fn serve(
    stream: &TcpStream,
    asked: &Mutex<Vec<Request>>,
    answers: &dyn Fn(&Request, usize) -> Answer,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let request = read_request(&mut reader)?;
        let before = {
            let mut asked = asked.lock().expect("no panic while it is held");
            asked.push(request.clone());
            asked.len() - 1
        };
        send(stream, answers(&request, before))?;
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Request> {
    let line = |reader: &mut dyn BufRead| {
        let mut line = String::new();
        (reader.read_line(&mut line).ok()? > 0).then(|| line.trim_end().to_string())
    };
    let first = line(reader)?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
    let mut headers = Vec::new();
    loop {
        let header = line(reader)?;
        match header.split_once(':') {
            Some((name, value)) => headers.push((name.to_lowercase(), value.trim().to_string())),
            None => return Some(Request { method, path, headers }),
        }
    }
}

fn send(mut stream: &TcpStream, answer: Answer) -> Option<()> {
    let mut head = format!("{}HTTP/1.1 {} Test\r\n", answer.before, answer.status);
    answer.headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    if answer.is_unframed {
        head.push_str("\r\n");
    } else if answer.is_chunked {
        head.push_str("Transfer-Encoding: chunked\r\n\r\n");
    } else {
        head.push_str(&format!("Content-Length: {}\r\n\r\n", answer.body.len()));
    }
    stream.write_all(head.as_bytes()).ok()?;
    let end = [answer.cut_at, answer.silent_at].into_iter().flatten().min().unwrap_or(answer.body.len());
    for chunk in answer.body[..end.min(answer.body.len())].chunks(64 << 10) {
        if answer.is_chunked {
            write!(stream, "{:x}\r\n", chunk.len()).ok()?;
        }
        stream.write_all(chunk).ok()?;
        if answer.is_chunked {
            stream.write_all(b"\r\n").ok()?;
        }
        if let Some(rate) = answer.rate {
            std::thread::sleep(Duration::from_secs_f64(chunk.len() as f64 / rate as f64));
        }
    }
    if answer.silent_at.is_some() {
        std::thread::sleep(Duration::from_secs(600));
    }
    if answer.cut_at.is_some() {
        let _ = stream.shutdown(Shutdown::Both);
        return None;
    }
    if answer.is_chunked {
        stream.write_all(b"0\r\n\r\n").ok()?;
    }
    if answer.resets {
        // What was sent is on its way before that.
        std::thread::sleep(Duration::from_millis(100));
        rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)).ok()?;
    }
    drop(answer.held);
    (!answer.is_unframed && !answer.resets).then_some(())
}

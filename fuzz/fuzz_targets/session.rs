//! A whole session: whatever the other side sends, in whatever pieces, this one refuses it or goes on, and takes
//! nothing for the end that is none.
#![no_main]

use datapump_core::wire::frame::{Messages, framed};
use datapump_core::wire::session::{Message, Session};
use libfuzzer_sys::fuzz_target;

// Bodies come in whole frames, whose sums no fuzzer finds; what is no frame comes behind them.
fuzz_target!(|input: (bool, u8, Vec<Vec<u8>>, Vec<u8>)| {
    let (is_caller, piece, bodies, rest) = input;
    let frames = bodies.iter().map(|body| framed(body, 0).expect("a short message"));
    let bytes: Vec<u8> = frames.flatten().chain(rest).collect();
    let mut session = if is_caller { Session::caller() } else { Session::called() };
    let mut messages = Messages::default();
    let mut was_reported = false;
    for bytes in bytes.chunks(usize::from(piece).max(1)) {
        messages.handle_bytes(bytes);
        loop {
            match messages.poll_message() {
                Ok(Some((_, body))) => match session.handle_message(&body) {
                    Ok(message) => {
                        was_reported |= matches!(message, Message::Report(_) | Message::Refused(_));
                        // The called side answers what is wanted.
                        let _ = session.send(Message::Begun {
                            receives: None,
                            reads_on: None,
                            sends_ahead: None,
                            host: None,
                            datagrams: None,
                            places: None,
                            has_links: None,
                            holds_events: None,
                        });
                    }
                    Err(_) => return,
                },
                Ok(None) => break,
                Err(_) => return,
            }
        }
        while session.poll_message().is_some() {}
        assert!(!session.is_over() || was_reported);
    }
});

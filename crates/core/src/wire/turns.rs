//! Requests and replies over one connection: replies come in the order of the requests, and each says which it answers.
//!
//! [`RequestTurns`] is the side that requests, [`ReplyTurns`] the side that replies. Both keep what is under way and
//! nothing else.
//!
//! Must not know: sockets, what is asked, how an answer is made.

use std::collections::VecDeque;

use super::WireError;
use super::frame::Head;

/// What was asked over a connection and is not answered yet.
#[derive(Debug)]
pub struct RequestTurns<What> {
    asked: VecDeque<(u64, What)>,
    /// The number of the last request.
    last: u64,
}

impl<What> Default for RequestTurns<What> {
    fn default() -> RequestTurns<What> {
        RequestTurns { asked: VecDeque::new(), last: 0 }
    }
}

impl<What> RequestTurns<What> {
    /// Something is asked. Gives its number.
    pub fn ask(&mut self, what: What) -> u64 {
        self.last += 1;
        self.asked.push_back((self.last, what));
        self.last
    }

    /// The first of those that are under way for which this holds.
    pub fn find(&mut self, mut is_it: impl FnMut(&What) -> bool) -> Option<&mut What> {
        self.asked.iter_mut().map(|(_, what)| what).find(|what| is_it(what))
    }

    /// Number of those that are under way.
    pub fn len(&self) -> usize {
        self.asked.len()
    }

    /// The request whose answer comes next, if there is one.
    pub fn next(&self) -> Option<&What> {
        self.asked.front().map(|(_, what)| what)
    }

    /// A head came. It belongs to what is answered next.
    ///
    /// Errors: it belongs to something else, or nothing was asked.
    pub fn handle_head(&self, head: &Head) -> Result<(), WireError> {
        match self.asked.front() {
            Some((number, _)) if *number == head.number => Ok(()),
            _ => Err(WireError::Unexpected("an answer that nobody asked for")),
        }
    }

    /// All of the next answer has come.
    pub fn handle_end(&mut self) -> Option<What> {
        self.asked.pop_front().map(|(_, what)| what)
    }

    /// The connection is lost: what will not be answered any more.
    pub fn forget(&mut self) -> impl Iterator<Item = What> + use<What> {
        std::mem::take(&mut self.asked).into_iter().map(|(_, what)| what)
    }

    /// Whether all that was asked is answered.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }
}

/// What was asked of this side over a connection and is not answered yet.
#[derive(Debug)]
pub struct ReplyTurns<Turn> {
    asked: VecDeque<(u64, Turn)>,
    most: usize,
}

impl<Turn> ReplyTurns<Turn> {
    /// So much is taken before the first of it is answered; the rest stays in the connection.
    pub fn new(most: usize) -> ReplyTurns<Turn> {
        ReplyTurns { asked: VecDeque::new(), most }
    }

    /// Whether more is taken.
    pub fn has_room(&self) -> bool {
        self.asked.len() < self.most
    }

    /// Whether all that was asked is answered.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// Something was asked under this number.
    pub fn handle_ask(&mut self, number: u64, turn: Turn) {
        self.asked.push_back((number, turn));
    }

    /// The request to be answered next, if it is ready.
    pub fn poll_answer(&mut self, is_ready: impl FnOnce(&Turn) -> bool) -> Option<(u64, Turn)> {
        self.asked.pop_front_if(|(_, turn)| is_ready(turn))
    }

    /// The first of those that are under way for which this holds.
    pub fn find(&mut self, mut is_it: impl FnMut(&Turn) -> bool) -> Option<&mut Turn> {
        self.asked.iter_mut().map(|(_, turn)| turn).find(|turn| is_it(turn))
    }

    /// Those that are under way.
    pub fn iter(&self) -> impl Iterator<Item = &Turn> {
        self.asked.iter().map(|(_, turn)| turn)
    }

    /// The connection is lost.
    pub fn forget(&mut self) {
        self.asked.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_asking() {
        let mut requests = RequestTurns::default();
        assert!(requests.handle_head(&Head::block(1, 0)).is_err(), "nothing was asked");
        let numbers: Vec<u64> = ["a", "b"].into_iter().map(|what| requests.ask(what)).collect();
        assert!(requests.handle_head(&Head::block(1, numbers[1])).is_err(), "b before a");
        for (number, what) in numbers.iter().zip(["a", "b"]) {
            assert_eq!(requests.next(), Some(&what));
            // A message, then a block: both are of the same request.
            assert_eq!(requests.handle_head(&Head::block(1, *number)), Ok(()));
            assert_eq!(requests.handle_head(&Head::block(1, *number)), Ok(()));
            assert_eq!(requests.handle_end(), Some(what));
            assert!(requests.handle_head(&Head::block(1, *number)).is_err(), "it was answered");
        }
        assert!(requests.is_empty());
        requests.ask("c");
        assert_eq!(requests.forget().collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn what_is_ready_early_waits_for_its_turn() {
        let mut answering = ReplyTurns::new(2);
        answering.handle_ask(7, ("slow", false));
        answering.handle_ask(8, ("quick", true));
        assert!(!answering.has_room());
        assert_eq!(answering.poll_answer(|turn| turn.1), None);
        answering.find(|turn| turn.0 == "slow").expect("it is under way").1 = true;
        assert_eq!(answering.poll_answer(|turn| turn.1), Some((7, ("slow", true))));
        assert_eq!(answering.poll_answer(|turn| turn.1), Some((8, ("quick", true))));
        assert!(answering.is_empty());
    }
}

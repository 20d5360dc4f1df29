//! Maps the bytes of a stripe to its members: RAID-0. Its chunks are dealt to the members in turn, so that chunk `c` is
//! chunk `c / members` of member `c % members`.
//!
//! A request never crosses the edge of a chunk: what is beyond it lies on another member. So requests are a part of a
//! chunk, and so many are under way that each member has two.
//!
//! Must not know: what the members are, how they are opened, read and written.

/// Requests that each member has under way: one that it performs, one that waits for it.
const DEPTH: u32 = 2;
/// The unit of chunks and requests: a page, which is a multiple of what direct I/O asks for.
const UNIT_BYTES: u32 = 4096;
/// Requests shrink to an even part of a chunk by at most this factor: below it, a short one at each edge costs less.
const SHRINKS_MAX: u32 = 4;
/// What all requests of an end hold at most: a stripe of large chunks is read and written by fewer members at a time.
const WINDOW_BYTES_MAX: u64 = 512 << 20;

/// Where a byte of the stripe lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripePlace {
    /// Which member.
    pub member: usize,
    /// Offset in it.
    pub at: u64,
    /// Bytes from here on that lie behind each other on this member.
    pub run_bytes: u64,
}

/// The map of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripeMap {
    chunk_bytes: u32,
    members: usize,
}

impl StripeMap {
    /// The smallest chunk.
    pub const CHUNK_BYTES_MIN: u64 = 4 << 10;
    /// The largest chunk: the largest request.
    pub const CHUNK_BYTES_MAX: u64 = 64 << 20;
    /// The most members: each is an open file, and has requests of its own.
    pub const MEMBERS_MAX: usize = 256;

    /// A stripe of chunks of this size over so many members; words if there is none such.
    pub fn new(chunk_bytes: u64, members: usize) -> Result<StripeMap, String> {
        let is_size = (Self::CHUNK_BYTES_MIN..=Self::CHUNK_BYTES_MAX).contains(&chunk_bytes);
        if !is_size || !chunk_bytes.is_multiple_of(UNIT_BYTES.into()) {
            return Err(format!(
                "a chunk has 4 KiB to 64 MiB and is a multiple of 4 KiB, and {chunk_bytes} bytes are not"
            ));
        }
        match members {
            0 => Err("it has no members; name one or more files or devices".into()),
            1..=Self::MEMBERS_MAX => Ok(StripeMap { chunk_bytes: chunk_bytes as u32, members }),
            _ => Err(format!("it has {members} members; {} are the most", Self::MEMBERS_MAX)),
        }
    }

    /// Size of a chunk.
    pub fn chunk_bytes(&self) -> u32 {
        self.chunk_bytes
    }

    /// How many members there are.
    pub fn members(&self) -> usize {
        self.members
    }

    /// Where the byte at this offset of the stripe lies.
    pub fn place(&self, at: u64) -> StripePlace {
        let (chunk_bytes, members) = (u64::from(self.chunk_bytes), self.members as u64);
        let (chunk, inside) = (at / chunk_bytes, at % chunk_bytes);
        StripePlace {
            member: (chunk % members) as usize,
            at: chunk / members * chunk_bytes + inside,
            run_bytes: chunk_bytes - inside,
        }
    }

    /// The offset in the stripe of a byte of a member; `u64::MAX` where no stripe is so long.
    pub fn offset(&self, member: usize, at: u64) -> u64 {
        let (chunk_bytes, members) = (u64::from(self.chunk_bytes), self.members as u64);
        let chunk = (at / chunk_bytes).saturating_mul(members).saturating_add(member as u64);
        chunk.saturating_mul(chunk_bytes).saturating_add(at % chunk_bytes)
    }

    /// Bytes that a member holds of a stripe of so many bytes.
    pub fn member_bytes(&self, total_bytes: u64, member: usize) -> u64 {
        let (chunk_bytes, members) = (u64::from(self.chunk_bytes), self.members as u64);
        let (chunks, rest) = (total_bytes / chunk_bytes, total_bytes % chunk_bytes);
        let (rows, more) = (chunks / members, chunks % members);
        let last = match (member as u64).cmp(&more) {
            std::cmp::Ordering::Less => chunk_bytes,
            std::cmp::Ordering::Equal => rest,
            std::cmp::Ordering::Greater => 0,
        };
        rows * chunk_bytes + last
    }

    /// The length of the stripe whose members have these sizes. If there is none: the first member that has another
    /// size than it would have, and that size.
    pub fn total_bytes(&self, sizes: &[u64]) -> Result<u64, (usize, u64)> {
        let total = sizes.iter().fold(0u64, |sum, &bytes| sum.saturating_add(bytes));
        let wanted = |member| self.member_bytes(total, member);
        match (0..sizes.len()).find(|&member| wanted(member) != sizes[member]) {
            Some(member) => Err((member, wanted(member))),
            None => Ok(total),
        }
    }

    /// The request size of a stripe where so many bytes were asked: the largest part of a chunk that is not larger and
    /// a multiple of 4 KiB. Where only far smaller ones are, what was asked, and requests end at edges.
    pub fn request_bytes(&self, asked_bytes: u32) -> u32 {
        let parts = 1..=self.chunk_bytes / UNIT_BYTES;
        let is_part = |parts: &u32| (self.chunk_bytes / UNIT_BYTES).is_multiple_of(*parts);
        let fits = |bytes: &u32| *bytes <= asked_bytes;
        let largest = parts.filter(is_part).map(|parts| self.chunk_bytes / parts).find(fits);
        let most = asked_bytes.min(self.chunk_bytes);
        largest.filter(|&bytes| bytes >= most / SHRINKS_MAX).unwrap_or(most)
    }

    /// Requests of this size at a time with which each member has two, as far as there is memory for them: those of one
    /// row of chunks, or of two where a chunk has less than two.
    pub fn depth(&self, request_bytes: u32) -> u32 {
        let request_bytes = u64::from(request_bytes.max(1));
        let rows = if self.chunk_bytes >= DEPTH * request_bytes as u32 { 1 } else { 2 };
        let row_bytes = self.members as u64 * u64::from(self.chunk_bytes);
        let depth = (rows * row_bytes).div_ceil(request_bytes);
        depth.min(WINDOW_BYTES_MAX / request_bytes).max(DEPTH.into()) as u32
    }
}

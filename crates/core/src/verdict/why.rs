//! Why a move was bounded as it was: the closed list of the schema.
//!
//! Must not know: how that is found out.

crate::closed_list! {
    /// Why a move was bounded as it was.
    Why {
        Untold ""
        Device "device"
        SharedDevice "shared device"
        PageCache "page cache"
        NamesAndAttributes "names and attributes"
        Listing "listing"
        Deleting "deleting"
        StableStorage "stable storage"
        RateLimit "rate limit"
        ServerLimit "rate limit of the server"
        Outage "outage"
        Hashing "hashing"
        Copying "copying"
        PostingRequests "posting requests"
        Encryption "encryption"
        ReceiveWindow "receive window"
        SendBuffer "send buffer"
        CongestionWindow "congestion window"
        Loss "loss"
        RoundTrips "round trips"
        NoStage "no stage stands out"
        EqualStages "two stages take equal time"
        NothingMoved "nothing was moved"
        SlowestPart "slowest part"
        RunsDisagree "the runs disagree"
        CgroupLimit "cgroup limit"
        MemoryLimit "memory limit"
        Pipe "pipe"
        CpuQuota "cpu quota"
        NotScheduled "waiting for a cpu"
        Computing "computing"
        Peer "peer"
        Server "server or path"
        Idle "idle"
        TooShortToTell "too short to tell"
        NotPermitted "not permitted"
    }
}

unknown_is!(Why::Untold);

impl Why {
    /// A limit of a rate, which was set for the copy or for the server.
    pub fn is_rate_limit(self) -> bool {
        matches!(self, Why::RateLimit | Why::ServerLimit)
    }

    /// A limit of a control group, which was set.
    pub fn is_group_limit(self) -> bool {
        matches!(self, Why::CgroupLimit | Why::MemoryLimit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_known_by_its_words_alone_and_a_later_one_is_untold() {
        for why in Why::ALL {
            let json = serde_json::to_string(why).expect("JSON");
            assert_eq!(serde_json::from_str::<Why>(&json).expect("a reason"), *why);
        }
        assert_eq!(serde_json::from_str::<Why>("\"moonlight\"").expect("a reason"), Why::Untold);
    }
}

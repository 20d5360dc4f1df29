//! The operation that failed: a closed list, with the words before the name in a message.
//!
//! Must not know: which of these fail, how.

use crate::closed_list;

closed_list! {
    /// What was being done: `open`, `read`, `set the attributes of`, …
    Operation {
        Access "access"
        Allocate "allocate"
        Arguments "arguments"
        Close "close"
        Compare "compare"
        Connect "connect"
        Copy "copy"
        Create "create"
        Delete "delete"
        Enter "enter"
        Finish "finish"
        Fit "fit"
        Follow "follow"
        Link "link"
        LinkDest "--link-dest"
        List "list"
        ListAttributes "list the attributes of"
        Listen "listen"
        Lock "lock"
        LookAt "look at"
        LookForLeftovers "look for leftovers of"
        Make "make"
        MakeDevice "make the device"
        MakeLink "make the link"
        MakePipe "make the pipe"
        MakeTemporaryFolder "make a temporary folder in"
        Map "map"
        Measure "measure"
        Mirror "mirror"
        Open "open"
        OpenAgain "open again"
        OpenDirectly "open directly"
        OpenFolder "open the folder of"
        OpenLeftover "open the leftover of"
        OpenMade "open what was made for"
        OpenToCompareAttributes "open to compare the attributes of"
        OpenToLink "open to link"
        OpenToSetAttributes "open to set the attributes of"
        OpenUp "open up"
        Predict "predict"
        Reach "reach"
        Read "read"
        ReadAttributes "read the attributes of"
        ReadBack "read back"
        ReadLink "read the link"
        ReadMap "read the map of"
        ReadOwners "read the owners of"
        Receive "receive"
        Reflink "reflink"
        Rehearse "rehearse"
        Remove "remove"
        RemoveLeftover "remove the leftover of"
        BackUp "back up"
        Rename "rename"
        Replace "replace"
        Reserve "reserve"
        Sample "sample"
        Scrub "scrub"
        SetAttributes "set the attributes of"
        SetLength "set the length of"
        SetMode "set the mode of"
        SetTimes "set the times of"
        Simulate "simulate"
        Stat "stat"
        Study "study"
        Sync "sync"
        SyncFileSystem "sync the file system of"
        SyncFolder "sync the folder"
        SyncFolderOf "sync the folder of"
        Verify "verify"
        Wait "wait"
        Watch "watch"
        Write "write"
        WriteTicket "write the ticket to"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_is_known_by_its_words_alone() {
        for operation in Operation::ALL {
            assert_eq!(Operation::named(operation.words()), Some(*operation));
        }
        assert_eq!(Operation::named("fly"), None);
    }
}

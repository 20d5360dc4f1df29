//! Names of one file, with a folder in the place of one.
//!
//! Must not know: how names are linked.

use super::{NameEnd, over};
use crate::FileKind;
use crate::name::action::{Awaited, NameAction};

/// Another of its names is copied meanwhile, and it is linked to that.
#[test]
fn a_name_of_several_lets_the_others_go_first_where_a_folder_is_in_its_place() {
    for links in [1, 2] {
        let mut world = over(FileKind::Regular, FileKind::Folder).flags(|flags| flags.delete = true);
        world.facts.is_copied_first = Some(true);
        world.source().links = links;
        let NameEnd { action, performed, .. } = world.run();
        assert_eq!(action, NameAction::Copy { replaces: false, awaits_deletion: true }, "{links}");
        let waits = performed.contains(&NameAction::Wait(Awaited::EndOfTrees));
        assert_eq!(waits, links > 1, "{links}: {performed:?}");
    }
}

//! Flags of `pump copy`.
//!
//! Must not know: how a copy is made.

pub(crate) mod backup;
pub(crate) mod choose;
pub(crate) mod given;
pub(crate) mod habits;
pub(crate) mod links;
pub(crate) mod mirror;
pub(crate) mod operands;
pub(crate) mod read;
pub(crate) mod relative;
pub(crate) mod sync;
pub(crate) mod tree;
pub(crate) mod tuning;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, ArgMatches, Args, ValueEnum};
use datapump::{Choice, FollowLinks, Options};

use crate::args::copy::backup::BackupArguments;
use crate::args::copy::given::GivenArguments;
use crate::args::copy::habits::HabitArguments;
use crate::args::copy::links::LinkArguments;
use crate::args::copy::operands::OperandArguments;
use crate::args::copy::sync::SyncArguments;
use crate::args::copy::tree::TreeArguments;
use crate::args::copy::tuning::{OutputArguments, TuningArguments, choice};
use crate::args::net::HostArguments;
use crate::args::trace::TraceArguments;
use crate::args::tune::TuneArguments;
use crate::args::{HOW, OUTPUT, WHAT};

/// Copy files and folders
///
/// The last word is the target, as with cp: an existing folder receives each source under its own name, and of a folder
/// with a slash at its end (DIR/) what is in it; anything else is the name of the copy. The copy appears under its name
/// whole or not at all, with mode, times, owner, extended attributes and holes of the source, and is on stable storage
/// when the command ends with status 0.
///
/// A folder is copied with all that is in it: files with their holes, symbolic and hard links, pipes and devices, names
/// as bytes, attributes of all of them; sockets are left out with a line. A source that is itself a symbolic link is
/// followed unless -a or -d is given, and a pipe is read. `DIR/` (or `DIR/.`) stands for what is in DIR: the same
/// command copies to the same place again and again, where `DIR` goes below a target that meanwhile exists.
///
/// A pattern behind a host that ssh reaches (host:'*.log') stands for the names that it matches there, as a shell there
/// would have it; a file of that very name wins. Other places are taken as they are written.
///
/// A file with the name of a temporary file (.pump- and 16 digits) is copied like any other. It is left out, with a
/// line, while a running pump uses it and where a later one can resume it, as are the journal beside it and the
/// .pump-job of an unfinished copy. Files that are left out are counted (`skipped` in the report of --json).
///
/// A source that changes while it is copied is told, and its target stays as it was. What a program stores through a
/// mapping (mmap) is noticed in files of 1 MiB and more; in smaller ones, and on tmpfs, it may not be.
///
/// A large file that is cut goes on where it was when the same command is given again; so does a folder: it leaves
/// .pump-job in its target. A copy to a new folder in which something failed leaves it too. What counts there: files
/// that were written directly, and what went through the cache up to the last good sync, one every 5 s or 256 MiB; all
/// of it only for the same options, in the same boot and mount, and of a list that this user alone can have made.
///
/// While .pump-job stands, what changed in that folder since it started may not be on the disk: --update, --checksum,
/// --ignore-existing and --link-dest take none of it for right, in folders above and below, too. It goes behind a copy
/// of all names (those that the cut one had) that ended well, unless files stand there that changed since and are not
/// of that copy: what the source had then may be damaged when it comes back. A line names them. Through a bind mount of
/// a folder below it, or when that was moved elsewhere, .pump-job is not seen.
///
/// Where others can write to the target (mode 0777, or 0775 with others in the group, NTFS mounted without umask=, FUSE
/// with allow_other) nothing counts, and a warning says so: the same command copies all of it again, and into a new
/// folder it goes below what the cut copy made, as with cp -r. SRC/ goes on in it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES, override_usage = USAGE)]
pub struct CopyArguments {
    #[command(flatten)]
    pub operands: OperandArguments,

    /// Print what would be copied to where, and how; copy nothing
    ///
    /// The plan goes to standard output, a line for each file. Default: off.
    ///
    /// Example: pump copy -n a.bin b.bin folder/
    #[arg(short = 'n', long, env = "PUMP_DRY_RUN", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub dry_run: bool,

    /// Read and write block devices as data
    ///
    /// Without it a block device is refused, because writing to one destroys the file system on it. Rsync calls this
    /// copy-devices and write-devices. To keep device nodes as they are (rsync's --devices) needs no flag: pump does
    /// so in folders where it runs as root. Not with another host. Default: off.
    ///
    /// Example: pump copy --devices /dev/sdb backup.img
    #[arg(long, env = "PUMP_DEVICES", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub devices: bool,

    /// Read the target back from the device and compare before it gets its name
    ///
    /// Costs a second read of every byte. Parts of 256 KiB that differ are taken from the source and written again,
    /// three times at most; what differs then ends with status 26 and leaves an old target as it was, unless --inplace
    /// wrote over it. Devices and streams cannot be read back. Default: off.
    ///
    /// Example: pump copy --verify big.bin /backup/
    #[arg(long, env = "PUMP_VERIFY", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub verify: bool,

    #[command(flatten)]
    pub sync: SyncArguments,

    /// Whether the copy shares the source's blocks where the file system can
    ///
    /// A shared copy moves no bytes: it is instant, takes no room until one side changes, and is no second copy on
    /// the device. `always` fails where that cannot be had. Default: auto, which tries it.
    ///
    /// Example: pump copy --reflink=never image.raw second.raw
    #[arg(long, value_name = "WHEN", env = "PUMP_REFLINK", help_heading = HOW)]
    #[arg(value_parser = choice::<Choice>(), default_value_t)]
    pub reflink: Choice,

    /// Whether another host sends names and small files before they are requested
    ///
    /// Over a long path that saves a round trip for each folder and each few files. `auto` does so where a handshake
    /// takes 5 ms and more, or nothing tells how long the path is (--insecure, through ssh). What comes and is not
    /// wanted is dropped and counted in the report. With `never` blocks, too, are requested only when there is room for
    /// them. Default: auto.
    ///
    /// Example: pump copy --read-ahead=never photos/ host:photos
    #[arg(long, value_name = "WHEN", env = "PUMP_READ_AHEAD", help_heading = HOW)]
    #[arg(value_parser = choice::<Choice>(), default_value_t)]
    pub read_ahead: Choice,

    /// Whether holes of the source stay holes
    ///
    /// With `auto` a hole is what ext2 to ext4, xfs, btrfs and tmpfs call so; on every other file system what is called
    /// a hole is read, and copied as data unless it is zero. `always` makes holes of zeros, too, where a page of 4 KiB
    /// or more holds nothing else: every byte is looked at, and no room is reserved. `never` reads and writes every byte.
    /// Default: auto.
    ///
    /// Example: pump copy --sparse=always full.img disk.img
    #[arg(long, value_name = "WHEN", env = "PUMP_SPARSE", help_heading = HOW)]
    #[arg(value_enum, default_value_t = Sparse::Auto)]
    pub sparse: Sparse,

    /// Let the target grow as it is written, instead of reserving its room first
    ///
    /// A full disk is then found when it is full. For file systems that reserve slowly, by writing zeros. Where the file
    /// system compresses, or may do so, nothing is reserved in any case.
    /// Default: off.
    ///
    /// Example: pump copy --no-reserve in.bin /mnt/exfat/out.bin
    #[arg(long, env = "PUMP_NO_RESERVE", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub no_reserve: bool,

    /// Leave nothing of what is read and written in the page cache
    ///
    /// Requests go through the cache and their pages leave it behind them (RWF_DONTCACHE: Linux 6.14, and a file system
    /// that has it): other programs keep what they have there. Instead of direct I/O. Default: off.
    ///
    /// Example: pump copy --uncached big.bin /backup/
    #[arg(long, env = "PUMP_UNCACHED", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub uncached: bool,

    /// Put each write on stable storage before it is complete
    ///
    /// As dd's oflag=dsync: every request waits for the device (RWF_DSYNC). For studies of a device's write cache.
    /// Default: off.
    ///
    /// Example: pump copy --dsync --request-size 64KiB null:1GiB out.bin
    #[arg(long, env = "PUMP_DSYNC", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub dsync: bool,

    /// Write into the existing target instead of replacing it
    ///
    /// Keeps links to the target and needs no room for a second copy; but a copy that is cut leaves the target half
    /// old and half new. Holes of the source over old data are written as zeros. Has no environment variable, because
    /// it gives up that safety. Default: off.
    ///
    /// Example: pump copy --inplace new.img disk.img
    #[arg(long, help_heading = HOW)]
    pub inplace: bool,

    /// Start large files over that an earlier run left unfinished, and leave none to go on with
    ///
    /// A file of 64 MiB or more that is cut or killed leaves what was written beside its target, as .pump- with 16
    /// digits and a journal of that name, and the same command goes on where it was, if the source is the same. After
    /// a restart of the system what came from another host goes on, but for its last second (not with --sync=none);
    /// of a copy on one host only what goes through the cache is synced before its end (every 5 s or 256 MiB), and a
    /// direct one starts over. So does every copy before Linux 6.8, but for what was synced, and any with --verify or
    /// --inplace or inside the kernel. With this flag leftovers are removed; what .pump-job lists of a folder is not
    /// copied again. Default: off.
    ///
    /// Example: pump copy --no-resume big.bin /mnt/disk/
    #[arg(long, env = "PUMP_NO_RESUME", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub no_resume: bool,

    /// Say where CPU time went: by stage and host, per GiB and per request
    ///
    /// Stages are those of the threads that move blocks, by their own clocks; `workers` are io_uring's, which serve
    /// what would have blocked, such as writes through the cache; `other threads` is the rest of the process; `kernel
    /// threads` are the system's own, whatever else they did meanwhile. Between two hosts each tells its own; what ssh
    /// takes itself is in none. Requests of the two ends are handed to the system one after the other instead of
    /// together, so that they can be told apart. With --json it is the report's `bill`. Default: off.
    ///
    /// Example: pump copy --bill big.bin /mnt/disk/
    #[arg(long, env = "PUMP_BILL", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub bill: bool,

    #[command(flatten)]
    pub habits: HabitArguments,

    #[command(flatten)]
    pub backup: BackupArguments,

    #[command(flatten)]
    pub given: GivenArguments,

    #[command(flatten)]
    pub links: LinkArguments,

    #[command(flatten)]
    pub tree: TreeArguments,

    #[command(flatten)]
    pub host: HostArguments,

    #[command(flatten)]
    pub tuning: TuningArguments,

    #[command(flatten)]
    pub tune: TuneArguments,

    #[command(flatten)]
    pub trace: TraceArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// All options stand anywhere.
const USAGE: &str = "pump copy [OPTIONS] SRC… DST";

const EXAMPLES: &str = "\
Examples:
  pump copy big.bin /mnt/disk/            into a folder
  pump copy --verify a.bin b.bin          read back from the device
  pump copy photos/ /backup/photos        a folder; the same command again copies to the same place
  pump copy photos /backup/               into an existing folder, as /backup/photos
  pump copy --update a/ b                 what is newer in b stays (to make b the same as a: pump mirror a b)
  pump copy null:10GiB null: --depth 8    what this host's pump can do without a disk
  tar c folder | pump copy - /mnt/a.tar   from a pipe
  pump copy photos/ user@host:backup/     to another host over ssh, where pump is installed, too
  pump copy photos/ pump://host:4000/p    to a folder that `pump serve` serves

Exit status: 0 done, 1 failed, 2 usage, 5 refused, 10 connection lost, 20 interrupted, 23 some files failed
or lost an attribute, 24 a source changed, 26 mismatch.";

/// What becomes of holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sparse {
    /// Holes stay holes
    Auto,
    /// Zeros become holes
    Always,
    /// Every byte is read and written
    Never,
}

impl CopyArguments {
    /// Takes what was typed, and in which order, from what clap found.
    pub fn take_typed(&mut self, matches: &ArgMatches) {
        self.tree.take_order(matches);
        self.operands.take_typed(matches);
        self.backup.take_typed(matches);
    }

    /// Whether a link that is named stays one. What a list is of is a folder, and so is what is mirrored.
    fn keeps_links(&self, follow: FollowLinks) -> bool {
        let is_list = self.tree.patterns.files_from.is_some() && !self.tree.patterns.list_is_default;
        // Devices are named by links (/dev/disk/by-id): what is asked for there is the content.
        let is_content = is_list || self.devices || self.tree.is_mirror;
        self.habits.keeps_links() && follow == FollowLinks::Never && !is_content
    }

    /// What the library is asked for.
    pub fn options(&self) -> Result<Options, String> {
        let options = self.tuning.options().with(|it| {
            it.tuning.reflink = self.reflink;
            it.network.read_ahead = self.read_ahead;
            it.tuning.uncached = self.uncached;
            it.measuring.dsync = self.dsync;
            it.durability.sync = self.sync.choice();
            it.durability.verify = self.verify;
            it.durability.inplace = self.inplace;
            it.durability.no_resume = self.no_resume;
            it.tuning.no_reserve = self.no_reserve;
            it.place.target_is_name = self.operands.no_target_directory;
            it.place.target_is_folder = self.operands.folder().is_some();
            it.place.make_path = self.operands.mkpath;
            it.place.devices = self.devices;
            it.tuning.ignore_holes = self.sparse == Sparse::Never;
            it.tuning.makes_holes = self.sparse == Sparse::Always;
            it.reporting.notes = self.output.verbose;
            it.dry_run = self.dry_run;
            it.reporting.bill = self.bill;
            it.network.sockets = self.host.sockets.options();
        });
        let options = self.links.apply(options);
        let (keep_links, keep_pipes) = (self.keeps_links(options.links.follow), self.habits.archive);
        let options = options.with(|it| {
            it.place.keep_links = keep_links;
            it.place.keep_pipes = keep_pipes;
        });
        self.given.apply(self.backup.apply(self.tree.apply(options)?)?)
    }
}

//! Flags that give copies other permissions and owners than the source has.
//!
//! Must not know: how a copy is made.

use clap::Args;
use datapump::{Options, Ownership, Permissions};

use crate::args::HOW;

/// What copies get.
#[derive(Debug, Args)]
pub struct GivenArguments {
    /// Change the permissions of copies, as chmod does
    ///
    /// MODES are chmod's, separated by commas: u=rwX,go-w or 644. As with rsync, D before one means folders alone, F
    /// all else: D755,F644. X is x for folders and for files that the source lets somebody run. Bits are not copied
    /// from one to another (g=u). Where several are given, each changes what the ones before made. On existing files it
    /// acts where they are copied, or with --update. An access control list is cut to what the group may. Has no
    /// environment variable. Default: the source's.
    ///
    /// Example: pump copy --chmod D755,F644 site/ /var/www/site
    #[arg(long, value_name = "MODES", help_heading = HOW, value_parser = permissions, allow_hyphen_values = true)]
    pub chmod: Vec<String>,

    /// Give copies to another user and group, as chown does
    ///
    /// OWNER is USER, USER:GROUP or :GROUP, by names or numbers of the host that the copy is written on. Only root may
    /// give files to other users; others may name a group that they are in. Set-user-id and set-group-id bits are
    /// dropped where the owner changes, unless --chmod sets them. Has no environment variable. Default: the source's.
    ///
    /// Example: pump copy --chown www-data:www-data site/ /var/www/site
    #[arg(long, value_name = "OWNER", help_heading = HOW, value_parser = Ownership::parse)]
    pub chown: Option<Ownership>,
}

impl GivenArguments {
    /// What the library is asked for.
    pub fn apply(&self, options: Options) -> Result<Options, String> {
        let words = (!self.chmod.is_empty()).then(|| self.chmod.join(","));
        let permissions = words.as_deref().map(Permissions::typed).transpose()?;
        Ok(options.with(|it| {
            it.attributes.permissions = permissions;
            it.attributes.ownership = self.chown.clone();
        }))
    }
}

fn permissions(words: &str) -> Result<String, String> {
    Permissions::typed(words).map(|_| words.to_string())
}

//! Backups: what a copy replaces or removes is kept (`--backup`, `--backup-dir`, `--link-dest`).

mod folder_links;
mod kept;
mod link_dest;
mod of_copies;
mod of_links;
mod of_sources;
mod places;

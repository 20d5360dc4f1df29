//! What a host forbids, and pages for its administrators.

mod backup_page;
mod limits;

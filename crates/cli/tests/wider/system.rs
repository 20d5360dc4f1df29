//! Limits of a host, pages for its administrators, and schemas as others read them.

mod backup_page;
mod limits;
mod validators;

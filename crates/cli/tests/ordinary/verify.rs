//! `pump verify`.

mod attributes;
mod sees_all;
mod two_hosts;

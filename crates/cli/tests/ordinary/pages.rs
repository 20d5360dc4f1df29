//! Pages for users, word by word: what they say is what the program does.

mod comparing;
mod differences;
mod from_rsync;
mod names_page;
mod readme;
mod troubleshooting;

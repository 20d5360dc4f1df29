//! The tests of the program that need nothing but it, by subject. They are one program: each test program is linked by
//! itself, and cargo runs one after the other, while most of these wait for something (`RUST_TEST_THREADS`).

#[path = "../web_parts/server.rs"]
mod server;
#[path = "../support/mod.rs"]
mod support;

mod attributes;
mod backups;
mod command;
mod content;
mod guard;
mod hosts;
mod lab;
mod links;
mod mirrors;
mod names;
mod pages;
mod printed;
mod resume;
mod selection;
mod ssh;
mod system;
mod verify;
mod web;

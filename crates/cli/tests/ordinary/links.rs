//! Hard links and symbolic links.

mod hard;
mod pulled;
mod symbolic;

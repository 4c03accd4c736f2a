//! Links with packed relocations (RELR) where the C library of this system can load them. They make the program half a
//! megabyte smaller and start with fewer instructions.

use std::env;
use std::process::Command;

/// The first glibc that loads packed relocations.
const FIRST_GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A program for another system must not follow the library of this one.
    let is_native = env::var_os("HOST").is_some_and(|host| env::var_os("TARGET") == Some(host));
    if is_native && glibc().is_some_and(|version| version >= FIRST_GLIBC) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this system's glibc, where it has one.
fn glibc() -> Option<(u32, u32)> {
    let answer = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

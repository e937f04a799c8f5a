//! Programs of this checkout for images: static, so that an image holds nothing else. Named by the sources, which are known
//! before anything is built.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::content;
use crate::machine;
use crate::paths;
use crate::verify::{cargo, quietly};

/// Changes when the way of building changes, so that old images are not taken for new ones.
const RECIPE: &str = "static, profile image; 1";
const TARGET: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-musl" } else { "x86_64-unknown-linux-musl" };
/// The lab itself is in no image.
const NOT_IN_IMAGES: &str = "lab";

/// A program of a package of the same name.
#[derive(Debug)]
pub(crate) struct OwnProgram {
    package: String,
    /// Names the sources it is built from.
    pub(crate) key: String,
}

impl OwnProgram {
    pub(crate) fn load(package: &str) -> Result<Self> {
        Ok(Self { package: package.to_owned(), key: name_of_sources()? })
    }

    /// Builds it. Cargo knows what of it is done already.
    pub(crate) fn build(&self) -> Result<()> {
        machine::can_build_static()?;
        add_target()?;
        let mut build = cargo(&["build", "--locked", "--profile", "image", "--target", TARGET]);
        build.args(["--package", &self.package, "--bin", &self.package, "--target-dir"]).arg(target_folder());
        // The name that Debian gives it on every architecture; cc would guess another one on some.
        build.env(format!("CC_{}", TARGET.replace('-', "_")), machine::MUSL_COMPILER);
        // Asked to say what it built, so that an old program is never taken for this one.
        let output = build.arg("--message-format=json-render-diagnostics").output();
        let output = output.with_context(|| format!("failed to run {build:?}"))?;
        let (said, complained) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let package = &self.package;
        ensure!(output.status.success(), "failed to build {package} for {TARGET}: {build:?}:\n{complained}");
        let place = place_of(package).display().to_string();
        ensure!(said.contains(&format!("\"executable\":\"{place}\"")), "{build:?} built no {place}");
        ensure!(
            name_of_sources()? == self.key,
            "the sources of {} changed while it was built; run it again",
            self.package
        );
        Ok(())
    }
}

/// Builds a package's program as it is released, and tells where it is.
pub(crate) fn build_release(package: &str) -> Result<PathBuf> {
    machine::can_build_static()?;
    add_target()?;
    let mut build = cargo(&["build", "--locked", "--release", "--target", TARGET]);
    build.args(["--package", package, "--bin", package, "--target-dir"]).arg(target_folder());
    build.env(format!("CC_{}", TARGET.replace('-', "_")), machine::MUSL_COMPILER);
    quietly(build).with_context(|| format!("failed to build {package} for {TARGET}"))?;
    Ok(target_folder().join(TARGET).join("release").join(package))
}

fn target_folder() -> PathBuf {
    paths::workspace().join("target")
}

/// Where cargo puts the program of a package.
pub(crate) fn place_of(package: &str) -> PathBuf {
    target_folder().join(TARGET).join("image").join(package)
}

/// Everything that may become part of a program: a file too many costs a build that finds nothing to do, one too few
/// would leave an old program in a new image.
fn name_of_sources() -> Result<String> {
    let root = paths::workspace();
    let mut parts = vec![RECIPE.as_bytes().to_vec(), TARGET.as_bytes().to_vec()];
    for file in ["Cargo.toml", "Cargo.lock"] {
        parts.push(fs::read(root.join(file)).with_context(|| format!("failed to read {file}"))?);
    }
    let mut crates: Vec<PathBuf> =
        fs::read_dir(root.join("crates"))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    crates.retain(|folder| !folder.ends_with(NOT_IN_IMAGES));
    crates.sort();
    for folder in &crates {
        parts.push(folder.file_name().unwrap_or_default().as_encoded_bytes().to_vec());
        parts.push(content::name_of_folder(folder)?.into_bytes());
    }
    Ok(content::name_of(parts.iter().map(Vec::as_slice)))
}

/// The compiler's libraries for static programs, installed on first use.
fn add_target() -> Result<()> {
    let mut rustc = Command::new("rustc");
    rustc.current_dir(paths::workspace()).args(["--print", "target-libdir", "--target", TARGET]);
    let said = rustc.output().context("failed to run rustc")?;
    let folder = PathBuf::from(String::from_utf8_lossy(&said.stdout).trim());
    if said.status.success() && folder.is_dir() {
        return Ok(());
    }
    eprintln!("lab: installing Rust's libraries for {TARGET}");
    let mut rustup = Command::new("rustup");
    rustup.current_dir(paths::workspace()).args(["target", "add", TARGET]);
    quietly(rustup).with_context(|| format!("failed to install Rust's libraries for {TARGET}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_sources_have_the_same_name() {
        let [one, other] = ["vworkspace-operator", "vworkspace-operator"].map(OwnProgram::load);
        assert_eq!(one.expect("sources").key, other.expect("sources").key);
    }
}

//! The two small images that every node needs: pause, which holds a pod together, and busybox, which scenarios are made of.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::content;
use crate::image::{self, Image};
use crate::paths::{self, Paths};

pub(crate) const PAUSE: &str = "lab.local/pause:1";
pub(crate) const BUSYBOX: &str = "lab.local/busybox:1";

pub(crate) fn pause(paths: &Paths) -> Result<Image> {
    let source = paths::source("images/pause.c");
    let program = paths
        .cache
        .join("images")
        .join(format!("pause-{}", content::name_of([fs::read(&source)?.as_slice()])));
    if !program.exists() {
        image::compile_pause(&source, &program)?;
    }
    Ok(Image {
        reference: PAUSE.to_owned(),
        files: [("/pause".to_owned(), program)].into(),
        entrypoint: vec!["/pause".to_owned()],
        user: "65535".to_owned(),
        ..Image::default()
    })
}

/// Debian's static busybox under the names of its programs that scenarios use.
pub(crate) fn busybox() -> Image {
    let names =
        ["sh", "cat", "echo", "false", "httpd", "ls", "mkdir", "nslookup", "sleep", "test", "true", "wget"];
    Image {
        reference: BUSYBOX.to_owned(),
        files: [("/bin/busybox".to_owned(), PathBuf::from("/bin/busybox"))].into(),
        links: names.iter().map(|name| (format!("/bin/{name}"), "busybox".to_owned())).collect(),
        dirs: vec!["/tmp".to_owned()],
        command: vec!["/bin/sh".to_owned()],
        user: "65532:65532".to_owned(),
        ..Image::default()
    }
}

/// The image's tar file, written once per content.
pub(crate) fn tar_of(paths: &Paths, image: &Image) -> Result<PathBuf> {
    let tar = paths.cache.join("images").join(format!("{}.tar", image_key(image)?));
    if !tar.exists() {
        image.write(&tar)?;
    }
    Ok(tar)
}

/// Names what is in the image, so that a changed program or definition makes another file.
fn image_key(image: &Image) -> Result<String> {
    let mut parts = vec![format!("{image:?}").into_bytes()];
    for program in image.files.values() {
        parts.push(fs::read(program).with_context(|| format!("failed to read {}", program.display()))?);
    }
    Ok(content::name_of(parts.iter().map(Vec::as_slice)))
}

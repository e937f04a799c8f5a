//! Container images without a container engine: an OCI layout in a tar file, written by ourselves, one layer, not
//! compressed (compressing takes half a minute, importing one second).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::content;
use crate::node::Node;
use crate::unmet::Unmet;

/// What goes into an image.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    /// Full reference: `lab.local/name:tag`.
    pub(crate) reference: String,
    /// Path in the image to a program on this machine.
    pub(crate) files: BTreeMap<String, PathBuf>,
    /// Path in the image to a folder on this machine, copied with its modes and links.
    pub(crate) folders: BTreeMap<String, PathBuf>,
    /// Path in the image to what it links to.
    pub(crate) links: BTreeMap<String, String>,
    /// Folders that anyone may write to.
    pub(crate) dirs: Vec<String>,
    pub(crate) entrypoint: Vec<String>,
    pub(crate) command: Vec<String>,
    /// Numeric, because upstream manifests demand a user that is known not to be root.
    pub(crate) user: String,
}

impl Image {
    /// Writes the image's tar file; it appears whole or not at all.
    pub(crate) fn write(&self, to: &Path) -> Result<()> {
        let folder = to.parent().context("an image needs a folder to be written to")?;
        fs::create_dir_all(folder)?;
        let draft =
            folder.join(format!(".{}-{}", std::process::id(), content::name_of([self.reference.as_bytes()])));
        let layer = draft.with_extension("layer");
        let written = self.write_layer(&layer).and_then(|blob| self.write_layout(&draft, &layer, &blob));
        // The layer is in the tar now, or nowhere.
        drop(fs::remove_file(&layer));
        written.with_context(|| format!("failed to write image {}", self.reference))?;
        fs::rename(&draft, to)?;
        Ok(())
    }

    fn write_layer(&self, to: &Path) -> Result<Blob> {
        let mut layer = tar::Builder::new(Hashing::new(File::create(to)?));
        // A folder keeps its modes; programs and links get headers of their own.
        layer.mode(tar::HeaderMode::Complete);
        layer.follow_symlinks(false);
        for (path, folder) in &self.folders {
            let inside = path.trim_start_matches('/');
            let inside = if inside.is_empty() { "." } else { inside };
            layer
                .append_dir_all(inside, folder)
                .with_context(|| format!("failed to add {}", folder.display()))?;
        }
        for dir in &self.dirs {
            append_folder(&mut layer, dir)?;
        }
        for (path, program) in &self.files {
            append_program(&mut layer, path, program)?;
        }
        for (path, target) in &self.links {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_size(0);
            header.set_mode(0o777);
            layer.append_link(&mut header, path.trim_start_matches('/'), target)?;
        }
        Ok(layer.into_inner()?.finish())
    }

    fn write_layout(&self, to: &Path, layer: &Path, layer_blob: &Blob) -> Result<()> {
        let config = serde_json::to_vec(&self.configuration(layer_blob))?;
        let config_blob = Blob::of(&config);
        let manifest = serde_json::to_vec(&json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config_blob.descriptor("application/vnd.oci.image.config.v1+json"),
            "layers": [layer_blob.descriptor("application/vnd.oci.image.layer.v1.tar")],
        }))?;
        let manifest_blob = Blob::of(&manifest);
        let index = serde_json::to_vec(&json!({"schemaVersion": 2, "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": manifest_blob.name(),
            "size": manifest_blob.size,
            "platform": {"architecture": ARCHITECTURE, "os": "linux"},
            "annotations": {"io.containerd.image.name": self.reference},
        }]}))?;

        let mut tar = tar::Builder::new(File::create(to)?);
        append_bytes(&mut tar, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        append_bytes(&mut tar, "index.json", &index)?;
        append_bytes(&mut tar, &config_blob.path(), &config)?;
        append_bytes(&mut tar, &manifest_blob.path(), &manifest)?;
        tar.append_file(layer_blob.path(), &mut File::open(layer)?)?;
        tar.finish()?;
        Ok(())
    }

    fn configuration(&self, layer: &Blob) -> Value {
        json!({
            "architecture": ARCHITECTURE,
            "os": "linux",
            "created": "1970-01-01T00:00:00Z",
            "config": {
                "User": self.user,
                "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
                "Entrypoint": self.entrypoint,
                "Cmd": self.command,
            },
            "rootfs": {"type": "layers", "diff_ids": [layer.name()]},
            "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "cargo lab"}],
        })
    }
}

const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };

/// Content that is named by its hash.
struct Blob {
    digest: String,
    size: u64,
}

impl Blob {
    fn of(bytes: &[u8]) -> Self {
        Self { digest: content::hexadecimal(&Sha256::digest(bytes)), size: bytes.len() as u64 }
    }

    fn descriptor(&self, media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": self.name(), "size": self.size})
    }

    fn name(&self) -> String {
        format!("sha256:{}", self.digest)
    }

    fn path(&self) -> String {
        format!("blobs/sha256/{}", self.digest)
    }
}

/// Hashes what passes through.
struct Hashing {
    file: File,
    hash: Sha256,
    size: u64,
}

impl Hashing {
    fn new(file: File) -> Self {
        Self { file, hash: Sha256::new(), size: 0 }
    }

    fn finish(self) -> Blob {
        Blob { digest: content::hexadecimal(&self.hash.finalize()), size: self.size }
    }
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or(bytes));
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn append_bytes<W: Write>(tar: &mut tar::Builder<W>, path: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, path, bytes)
}

fn append_folder<W: Write>(tar: &mut tar::Builder<W>, path: &str) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_size(0);
    header.set_mode(0o1777);
    tar.append_data(&mut header, path.trim_start_matches('/'), io::empty())
}

fn append_program<W: Write>(tar: &mut tar::Builder<W>, path: &str, program: &Path) -> Result<()> {
    let mut file = File::open(program).with_context(|| format!("failed to open {}", program.display()))?;
    let mut header = tar::Header::new_gnu();
    header.set_size(file.metadata()?.len());
    header.set_mode(0o755);
    tar.append_data(&mut header, path.trim_start_matches('/'), &mut file)?;
    Ok(())
}

/// References of the images that the node has.
pub(crate) async fn list(node: &Node) -> Result<Vec<String>> {
    let said = ctr(node, &["images", "list", "--quiet"]).await.context("failed to list images")?;
    Ok(said.lines().map(str::to_owned).collect())
}

/// Loads an image's tar file into the node.
pub(crate) async fn import(node: &Node, tar: &Path) -> Result<()> {
    let path = tar.display().to_string();
    ctr(node, &["images", "import", &path]).await.with_context(|| format!("failed to import {path}"))?;
    Ok(())
}

async fn ctr(node: &Node, arguments: &[&str]) -> Result<String> {
    let mut command = tokio::process::Command::new("ctr");
    command.arg("--address").arg(node.containerd()).args(["--namespace", "k8s.io"]).args(arguments);
    let output =
        command.kill_on_drop(true).output().await.context("failed to run ctr (Debian package containerd)")?;
    ensure!(output.status.success(), "ctr: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}

/// A full reference from what the user calls the image.
pub(crate) fn reference(name: &str) -> Result<String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-/:".contains(c);
    if name.is_empty() || !name.chars().all(is_plain) {
        let text = format!(
            "'{name}' is no name for an image; use lower-case letters, digits and . _ - and give it with --image"
        );
        return Err(Unmet::new(text).into());
    }
    let tagged = if name.rsplit('/').next().unwrap_or(name).contains(':') {
        name.to_owned()
    } else {
        format!("{name}:1")
    };
    let has_registry = tagged.split_once('/').is_some_and(|(first, _)| first.contains(['.', ':']));
    Ok(if has_registry { tagged } else { format!("lab.local/{tagged}") })
}

/// The image that `image load` makes of what the user names: a folder is the root file system, a file the program.
pub(crate) fn from_path(path: &Path, reference: &str, entrypoint: Vec<String>, user: &str) -> Result<Image> {
    let mut image =
        Image { reference: reference.to_owned(), entrypoint, user: user.to_owned(), ..Image::default() };
    if path.is_dir() {
        image.folders.insert("/".to_owned(), path.to_path_buf());
    } else if path.is_file() {
        warn_if_dynamic(path)?;
        let name = path.file_name().and_then(|name| name.to_str()).context("the program needs a name")?;
        let inside = format!("/usr/local/bin/{name}");
        if image.entrypoint.is_empty() {
            image.entrypoint = vec![inside.clone()];
        }
        image.files.insert(inside, path.to_path_buf());
        image.dirs.push("/tmp".to_owned());
    } else {
        return Err(Unmet::new(format!("{} is neither a folder nor a file", path.display())).into());
    }
    Ok(image)
}

/// A program that needs a loader which the image has not ends with a puzzling "no such file or directory".
fn warn_if_dynamic(program: &Path) -> Result<()> {
    let mut start = Vec::new();
    File::open(program)?.take(4096).read_to_end(&mut start)?;
    if start.windows(8).any(|bytes| bytes == b"/ld-linu" || bytes == b"/lib/ld-") {
        eprintln!(
            "lab: {} is dynamically linked, and the image holds nothing else; build it for x86_64-unknown-linux-musl, \
             or load a root folder that has its libraries",
            program.display()
        );
    }
    Ok(())
}

/// The pause image's program, compiled from the repository's few lines of C.
pub(crate) fn compile_pause(source: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().context("the program needs a folder")?;
    fs::create_dir_all(folder)?;
    let draft = folder.join(format!(".pause-{}", std::process::id()));
    let mut command = Command::new("cc");
    command.args(["-Os", "-static", "-s", "-o"]).arg(&draft).arg(source);
    let output = command.output().context("failed to run cc (Debian packages gcc and libc6-dev)")?;
    ensure!(
        output.status.success(),
        "failed to compile pause: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    fs::rename(&draft, to)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_becomes_a_full_reference() {
        let full = |name| reference(name).expect("a reference");
        assert_eq!(full("tool"), "lab.local/tool:1");
        assert_eq!(full("tool:2"), "lab.local/tool:2");
        assert_eq!(full("team/tool"), "lab.local/team/tool:1");
        assert_eq!(full("example.org:5000/tool"), "example.org:5000/tool:1");
        assert!(reference("Tool").is_err());
    }

    #[test]
    fn an_image_holds_its_program_and_names_itself() {
        let folder = std::env::temp_dir().join(format!("lab-image-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let program = folder.join("hello");
        fs::write(&program, "#!/bin/sh\n").expect("a program");
        let image = from_path(&program, "lab.local/hello:1", vec![], "65532").expect("an image");
        let tar = folder.join("hello.tar");
        image.write(&tar).expect("written");

        let mut blobs = BTreeMap::new();
        for entry in tar::Archive::new(File::open(&tar).expect("open")).entries().expect("entries") {
            let mut entry = entry.expect("entry");
            let path = entry.path().expect("path").display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("read");
            blobs.insert(path, bytes);
        }
        fs::remove_dir_all(&folder).expect("removed");

        let index: Value = serde_json::from_slice(&blobs["index.json"]).expect("index");
        let entry = &index["manifests"][0];
        assert_eq!(entry["annotations"]["io.containerd.image.name"], "lab.local/hello:1");
        let blob = |digest: &Value| {
            let bytes = &blobs[&format!("blobs/{}", digest.as_str().expect("digest").replace(':', "/"))];
            assert_eq!(*digest, format!("sha256:{}", Blob::of(bytes).digest), "content matches its name");
            bytes
        };
        let manifest: Value = serde_json::from_slice(blob(&entry["digest"])).expect("manifest");
        let config: Value = serde_json::from_slice(blob(&manifest["config"]["digest"])).expect("config");
        assert_eq!(config["config"]["Entrypoint"], json!(["/usr/local/bin/hello"]));
        let mut layer = tar::Archive::new(blob(&manifest["layers"][0]["digest"]).as_slice());
        let paths: Vec<String> = layer
            .entries()
            .expect("layer")
            .map(|e| e.expect("e").path().expect("p").display().to_string())
            .collect();
        assert_eq!(paths, ["tmp", "usr/local/bin/hello"]);
    }
}

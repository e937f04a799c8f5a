//! Names made from content: the same bytes give the same name, whatever they are called and wherever they lie.

use std::fs;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

/// A name of 16 hexadecimal digits for these parts; where a part ends matters.
pub(crate) fn name_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut name = hexadecimal(&hash.finalize());
    name.truncate(16);
    name
}

/// A name for a folder: all files below it with their relative paths.
pub(crate) fn name_of_folder(folder: &Path) -> io::Result<String> {
    let mut parts = Vec::new();
    for file in files_below(folder)? {
        parts.push(file.strip_prefix(folder).unwrap_or(&file).display().to_string().into_bytes());
        parts.push(fs::read(&file)?);
    }
    Ok(name_of(parts.iter().map(Vec::as_slice)))
}

/// All files below a folder, sorted.
pub(crate) fn files_below(folder: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Copies a file, or a folder with all below it; read-only sources give writable copies.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_file() {
        fs::create_dir_all(to.parent().unwrap_or(to))?;
        return fs::write(to, fs::read(from)?);
    }
    fs::create_dir_all(to)?;
    for file in files_below(from)? {
        let target = to.join(file.strip_prefix(from).unwrap_or(&file));
        copy(&file, &target)?;
    }
    Ok(())
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_part_ends_matters() {
        let whole: [&[u8]; 1] = [b"ab"];
        let split: [&[u8]; 2] = [b"a", b"b"];
        assert_ne!(name_of(whole), name_of(split));
        assert_eq!(name_of(whole), name_of(whole));
        assert_eq!(name_of(whole).len(), 16);
    }
}

//! The copies of the tree: only files that differ are written, so that little is built again.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// All files that git tracks, or would.
pub fn tracked(root: &Path) -> io::Result<Vec<String>> {
    let git = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = Command::new("git").args(git).current_dir(root).output()?;
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    let there = |name: &&str| !name.is_empty() && root.join(name).is_file();
    Ok(names.split('\0').filter(there).map(str::to_owned).collect())
}

/// Writes a file, unless it has these bytes already.
pub fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, bytes)
}

/// Removes what is in the copy and not in `files`.
pub fn prune(copy: &Path, files: &[String]) -> io::Result<()> {
    let kept: std::collections::HashSet<_> = files.iter().map(|name| copy.join(name)).collect();
    let mut folders = vec![copy.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if !kept.contains(&path) && !path.ends_with("mutant.rs") {
                fs::remove_file(path)?;
            }
        }
    }
    Ok(())
}

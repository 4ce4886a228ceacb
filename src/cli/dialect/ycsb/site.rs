//! Finds the settings file of a binding, such as `hbase-site.xml`, where Java would: in the folders
//! of the class path.

use crate::driver::{Binding, SiteFile};
use crate::plan::Invalid;
use crate::properties::Properties;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 20;
/// The most characters of a value that are printed.
const MOST_SHOWN: usize = 200;

#[derive(Debug, Default)]
pub(super) struct FoundSite {
    pub(super) properties: Properties,
    pub(super) notes: Vec<String>,
}

/// Reads the first such file: from the class path, then from where YCSB's launcher looks.
///
/// # Errors
/// Fails if the file cannot be read.
pub(super) fn settings(
    binding: &Binding,
    name: &str,
    class_path: Option<&OsStr>,
) -> Result<FoundSite, Invalid> {
    let Some(site) = &binding.site else {
        let ignored = "-cp is ignored: there is no Java".to_owned();
        let given = class_path.filter(|_| !binding.takes_any_class());
        let notes = given.map(|_| ignored).into_iter().collect();
        return Ok(FoundSite { notes, ..FoundSite::default() });
    };
    let mut notes = Vec::new();
    let own: Vec<_> = class_path.map(|it| std::env::split_paths(it).collect()).unwrap_or_default();
    let given = own.iter().find_map(|entry| file_in(entry, site));
    if class_path.is_some() && given.is_none() {
        notes.push(format!("-cp: there is no {} in its folders", site.name));
    }
    let launcher = || ["conf".to_owned(), format!("{name}-binding/conf"), format!("{name}/conf")];
    let found = given.or_else(|| launcher().iter().find_map(|it| file_in(Path::new(it), site)));
    let Some(path) = found else { return Ok(FoundSite { notes, ..FoundSite::default() }) };
    let properties = read(&path)
        .and_then(|bytes| (site.read)(&bytes, binding.properties))
        .map_err(|problem| {
            let cure = format!("fix it, or leave out its folder and give {}=HOST", binding.flag);
            Invalid::new(path.display().to_string(), problem, cure)
        })?;
    let shown = |value: &str| value.escape_debug().take(MOST_SHOWN).collect::<String>();
    let pairs: Vec<_> =
        properties.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect();
    let read = if pairs.is_empty() { "nothing useful".to_owned() } else { pairs.join(", ") };
    notes.push(format!("{}: {read}", path.display()));
    Ok(FoundSite { properties, notes })
}

/// The file in this entry of the class path, which is a folder or the file itself.
fn file_in(entry: &Path, site: &SiteFile) -> Option<PathBuf> {
    if entry.as_os_str().is_empty() {
        return None;
    }
    let itself = entry.file_name() == Some(OsStr::new(site.name));
    let path = if itself { entry.to_owned() } else { entry.join(site.name) };
    // A file of any kind counts: one that cannot be read is a mistake, not a missing file.
    path.symlink_metadata().is_ok().then_some(path)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let message = |error: std::io::Error| error.to_string();
    if !path.metadata().map_err(message)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(message)?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(message)?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it is larger than {LARGEST} bytes"));
    }
    Ok(bytes)
}

//! Design documents in a folder, as CouchDB's own tools lay them out.

use crate::plan::Invalid;
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// Reads the design documents in a folder: each `NAME.json`, and each folder `NAME` with files such
/// as `views/by_date/map.js`. A folder that has `views` itself is one design document.
///
/// # Errors
/// Fails if something cannot be read.
pub(in crate::cli) fn read(folder: &Path) -> Result<Vec<Value>, Invalid> {
    let wrong = |problem: String| {
        Invalid::new("--ddocs", problem, "give a folder laid out as in docs/operations.md")
    };
    if folder.join("views").is_dir() {
        return Ok(vec![design(folder).map_err(wrong)?]);
    }
    let mut designs = Vec::new();
    for path in members(folder).map_err(wrong)? {
        if path.is_dir() {
            designs.push(design(&path).map_err(wrong)?);
        } else if path.extension().is_some_and(|it| it == "json") {
            designs.push(whole(&path).map_err(wrong)?);
        }
    }
    if designs.is_empty() {
        return Err(wrong(format!("{} has no design documents", folder.display())));
    }
    Ok(designs)
}

/// The entries of a folder, sorted by name, without hidden files.
fn members(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let message = |error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(message)? {
        let entry = entry.map_err(message)?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// The name of a file without its extension, or of a folder.
fn stem(path: &Path) -> String {
    let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// A file with a design document, or with the definition of a Mango index. A name that it omits is
/// taken from the file name.
fn whole(path: &Path) -> Result<Value, String> {
    let parsed = serde_json::from_str(&text(path)?);
    let mut design: Map<String, Value> =
        parsed.map_err(|error| format!("{}: {error}", path.display()))?;
    let own: &[&str] = if design.contains_key("index") { &["ddoc", "name"] } else { &["_id"] };
    for member in own {
        let name = stem(path);
        let name = if *member == "_id" { format!("_design/{name}") } else { name };
        design.entry(*member).or_insert_with(|| name.into());
    }
    design.shift_remove("_rev");
    Ok(design.into())
}

fn design(folder: &Path) -> Result<Value, String> {
    let mut design = object(folder)?;
    let id = format!("_design/{}", stem(&folder.canonicalize().unwrap_or(folder.to_owned())));
    design.entry("_id").or_insert_with(|| id.into());
    design.shift_remove("_rev");
    Ok(design.into())
}

/// A folder as an object: folders and JSON files become what they contain, other files become
/// strings.
fn object(folder: &Path) -> Result<Map<String, Value>, String> {
    let mut members_of = Map::new();
    for path in members(folder)? {
        let value = if path.is_dir() {
            object(&path)?.into()
        } else if path.extension().is_some_and(|it| it == "json") {
            let parsed = serde_json::from_str(&text(&path)?);
            parsed.map_err(|error| format!("{}: {error}", path.display()))?
        } else {
            text(&path)?.trim().into()
        };
        members_of.insert(stem(&path), value);
    }
    Ok(members_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (place, text) in files {
            let path = folder.path().join(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn files_and_folders_become_design_documents() {
        let files = folder(&[
            ("app/views/by_city/map.js", "function (doc) { emit(doc.city, 1); }\n"),
            ("app/views/by_city/reduce.js", "_sum"),
            ("app/language", "javascript\n"),
            ("app/options.json", "{\"partitioned\": false}"),
            ("plain.json", "{\"_rev\": \"1-a\", \"views\": {}}"),
            ("city.json", "{\"index\": {\"fields\": [\"city\"]}}"),
            (".hidden.json", "{"),
            ("README.md", "not a design document"),
        ]);
        let app = json!({
            "language": "javascript",
            "options": { "partitioned": false },
            "views": { "by_city": {
                "map": "function (doc) { emit(doc.city, 1); }", "reduce": "_sum",
            } },
            "_id": "_design/app",
        });
        let city = json!({ "index": { "fields": ["city"] }, "ddoc": "city", "name": "city" });
        let plain = json!({ "views": {}, "_id": "_design/plain" });
        assert_eq!(read(files.path()).unwrap(), [app.clone(), city, plain]);
        assert_eq!(read(&files.path().join("app")).unwrap(), [app], "one alone");
    }

    #[test]
    fn what_cannot_be_read_is_reported_by_its_place() {
        let message_for = |files: &[(&str, &str)]| {
            let files = folder(files);
            read(files.path()).unwrap_err().to_string()
        };
        assert!(message_for(&[]).contains("has no design documents"));
        assert!(message_for(&[("a.json", "{")]).contains("a.json: EOF"));
        assert!(
            message_for(&[("app/views/v/map.js", "f"), ("app/x.json", "[")])
                .contains("x.json: EOF")
        );
        let missing = read(Path::new("/no/such/folder")).unwrap_err().to_string();
        assert!(missing.contains("/no/such/folder: No such file"), "{missing}");
    }
}

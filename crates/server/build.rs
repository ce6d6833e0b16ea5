//! Puts the files of the page into the program: `ui/dist` if it was built, else a page that says how to build it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let ui = here.join("../../ui");
    let built = ui.join("dist");
    let is_placeholder = !built.join("index.html").is_file();
    let folder = if is_placeholder { here.join("placeholder") } else { built.clone() };
    // As long as there is no built page, its appearance must be noticed; a path that is not there would always be new.
    for watched in [&folder, if built.is_dir() { &built } else { &ui }] {
        if watched.is_dir() {
            println!("cargo:rerun-if-changed={}", watched.display());
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
    let mut files = Vec::new();
    collect(&folder, "", &mut files)?;
    files.sort();
    let mut code = format!("const IS_PLACEHOLDER: bool = {is_placeholder};\n");
    let _ = writeln!(code, "static FILES: [(&str, &[u8]); {}] = [", files.len());
    for (name, path) in files {
        let _ = writeln!(code, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    code.push_str("];\n");
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("files.rs"), code)
}

fn collect(folder: &Path, before: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        let path = fs::canonicalize(entry.path())?;
        if path.is_dir() { collect(&path, &format!("{name}/"), files)? } else { files.push((name, path)) }
    }
    Ok(())
}

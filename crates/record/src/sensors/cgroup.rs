//! The memory limit of the control groups that this process is in, of version 1 and 2.

use std::path::{Component, Path, PathBuf};

use super::kernel_file::{KernelFile, number_behind};
use super::{NotMeasured, Sources};

/// A limit, and how near the group is to it.
pub(super) struct MemoryLimit {
    pub(super) limit_bytes: u64,
    usage: KernelFile,
    stat: KernelFile,
    names: &'static Names,
}

/// What the files of a version are called.
struct Names {
    limit: &'static str,
    usage: &'static str,
    inactive_file: &'static str,
}

static VERSION_1: Names =
    Names { limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", inactive_file: "total_inactive_file" };
static VERSION_2: Names = Names { limit: "memory.max", usage: "memory.current", inactive_file: "inactive_file" };

impl MemoryLimit {
    /// Bytes in use, without the cached files that the kernel drops first.
    pub(super) fn used_bytes(&mut self) -> Result<u64, NotMeasured> {
        let usage_bytes: u64 = self.usage.number()?;
        let word = self.names.inactive_file;
        let cached_bytes = number_behind(word, self.stat.text()?).ok_or_else(|| self.stat.lacks(word))?;
        Ok(usage_bytes.saturating_sub(cached_bytes))
    }
}

/// The smallest limit of the group and those around it, as it is now. None if nothing limits this process.
pub(super) fn tightest_limit(sources: &Sources) -> Option<MemoryLimit> {
    let groups = std::fs::read_to_string(sources.proc.join("self/cgroup")).ok()?;
    let mounts = sources.sys.join("fs/cgroup");
    let (mount, group, names) = match group_of(&groups, "memory") {
        Some(group) => (mounts.join("memory"), group, &VERSION_1),
        None => (mounts, group_of(&groups, "")?, &VERSION_2),
    };
    let mut folders = folders(&mount, group);
    // Of equal limits the outermost binds first, as more counts toward it.
    folders.reverse();
    let limits = folders.into_iter().filter_map(|folder| {
        // No limit is the word `max` in version 2, and more than any machine has in version 1.
        let limit_bytes = KernelFile::open(folder.join(names.limit)).number().ok()?;
        Some((limit_bytes, folder))
    });
    let (limit_bytes, folder) = limits.min_by_key(|(limit_bytes, _)| *limit_bytes)?;
    let usage = KernelFile::open(folder.join(names.usage));
    Some(MemoryLimit { limit_bytes, usage, stat: KernelFile::open(folder.join("memory.stat")), names })
}

/// The path of the group that has a controller, by lines like `4:cpu,memory:/path`.
fn group_of<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

/// The folder of a group and of those around it. In a container the path may be one of the host: then folders of that
/// name are missing, and the mount itself is the group.
fn folders(mount: &Path, group: &str) -> Vec<PathBuf> {
    let mut inside = PathBuf::new();
    for component in Path::new(group).components() {
        match component {
            Component::Normal(name) => inside.push(name),
            Component::ParentDir => return vec![mount.to_path_buf()],
            _ => {}
        }
    }
    inside.ancestors().map(|folder| mount.join(folder)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{folders, group_of};

    #[test]
    fn the_group_with_the_controller_is_found() {
        let check = |groups: &str, controller: &str, path: Option<&str>| assert_eq!(group_of(groups, controller), path);
        check("0::/user.slice\n", "", Some("/user.slice"));
        check("0::/user.slice\n", "memory", None);
        check("5:cpu,memory:/a:b\n4:memorylike:/c\n", "memory", Some("/a:b"));
        check("nonsense\n\n", "memory", None);
    }

    #[test]
    fn folders_stay_below_the_mount() {
        let check = |group: &str, expected: &[&str]| {
            let expected: Vec<_> = expected.iter().map(|path| Path::new(path).to_path_buf()).collect();
            assert_eq!(folders(Path::new("/m"), group), expected);
        };
        check("/a/b", &["/m/a/b", "/m/a", "/m"]);
        check("/", &["/m"]);
        check("/../../etc", &["/m"]);
    }
}

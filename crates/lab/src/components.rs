//! The programs that the lab runs, built from pinned module files. A component is a folder: `go.mod` and `go.sum` say what,
//! `component.yaml` how. Its cache entry is named after the folder's content, so an entry is either right or absent.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::content;
use crate::lock;
use crate::paths::{self, Paths};
use crate::progress::Step;
use crate::unmet::Unmet;

/// Changes when the way of building changes, so that old entries are not taken for new ones.
const RECIPE: &str = "static, trimmed, no debug information; 2";

/// `component.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    title: String,
    /// Told to the user before a first build.
    minutes: u32,
    /// Built name to the name we use.
    #[serde(default)]
    rename: BTreeMap<String, String>,
    /// Version stamps.
    #[serde(default)]
    ldflags: Vec<String>,
    #[serde(default)]
    assets: Vec<Asset>,
    /// Files that a module's archive lacks: build from vendored sources, with these copied first.
    #[serde(default)]
    vendor_copy: Vec<VendorCopy>,
}

/// A file or folder of a module's source that the lab needs besides its programs: charts, CRDs, roles.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asset {
    module: String,
    path: String,
    to: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VendorCopy {
    from: String,
    to: String,
}

/// A component, built or not.
#[derive(Debug)]
pub(crate) struct Component {
    pub(crate) name: String,
    recipe: Recipe,
    source: PathBuf,
    /// Where it is once it is built.
    pub(crate) built: PathBuf,
    /// The content's name.
    pub(crate) key: String,
}

impl Component {
    pub(crate) fn load(name: &str, paths: &Paths) -> Result<Self> {
        let source = paths::source("components").join(name);
        let file = source.join("component.yaml");
        let text = fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
        let recipe =
            serde_saphyr::from_str(&text).with_context(|| format!("failed to read {}", file.display()))?;
        let key = content::name_of([RECIPE.as_bytes(), content::name_of_folder(&source)?.as_bytes()]);
        let built = paths.cache.join("components").join(format!("{name}-{key}"));
        Ok(Self { name: name.to_owned(), recipe, source, built, key })
    }

    pub(crate) fn is_built(&self) -> bool {
        self.built.is_dir()
    }

    pub(crate) fn minutes(&self) -> u32 {
        self.recipe.minutes
    }

    pub(crate) fn title(&self) -> &str {
        &self.recipe.title
    }

    pub(crate) fn bin(&self) -> PathBuf {
        self.built.join("bin")
    }

    pub(crate) fn assets(&self) -> PathBuf {
        self.built.join("assets")
    }

    /// Program name to the version of the module it comes from.
    pub(crate) fn versions(&self) -> BTreeMap<String, String> {
        versions_in(&self.built)
    }

    /// Builds it unless the cache has it. Only one process builds; another one that wants the same waits for it.
    pub(crate) fn build(&self, paths: &Paths, step: &Step<'_>) -> Result<()> {
        let folder = paths.cache.join("components");
        fs::create_dir_all(&folder)?;
        let lock = File::create(folder.join(format!("{}.lock", self.name)))?;
        let title = &self.recipe.title;
        lock::take(&lock, &format!("another command that is building {title}"))
            .with_context(|| format!("failed to wait for another build of {title}"))?;
        if self.is_built() {
            return Ok(());
        }
        // Nobody else holds the lock, so what lies here was left by a build that was killed. Its compiler may live on and
        // write; never into the folder of this build.
        for entry in fs::read_dir(&folder)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&format!("{}.", self.name)) && name.ends_with(".draft") {
                fs::remove_dir_all(entry.path())?;
            }
        }
        let now = jiff::Timestamp::now().as_nanosecond();
        let draft = folder.join(format!("{}.{}-{now}.draft", self.name, self.key));
        let work = draft.join("work");
        fs::create_dir_all(draft.join("bin"))?;
        content::copy(&self.source, &work)?;
        let build = Build { component: self, work: &work, draft: &draft };
        build.run(step).with_context(|| format!("failed to build {} ({})", self.name, self.recipe.title))?;
        fs::remove_dir_all(&work)?;
        fs::rename(&draft, &self.built)?;
        Ok(())
    }
}

/// Program name to version, of the component built in this folder.
pub(crate) fn versions_in(built: &Path) -> BTreeMap<String, String> {
    let text = fs::read(built.join("versions.json")).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// One build under way, in a copy of the component's folder.
struct Build<'a> {
    component: &'a Component,
    work: &'a Path,
    draft: &'a Path,
}

impl Build<'_> {
    fn run(&self, step: &Step<'_>) -> Result<()> {
        step.ticking("downloading modules", || Self::output(self.go(&["mod", "download"])))?;
        if self.has_programs()? {
            self.programs(step)?;
        }
        self.assets()
    }

    fn has_programs(&self) -> Result<bool> {
        let module = fs::read_to_string(self.work.join("go.mod"))?;
        Ok(module.lines().any(|line| line.starts_with("tool ")))
    }

    fn programs(&self, step: &Step<'_>) -> Result<()> {
        let recipe = &self.component.recipe;
        if !recipe.vendor_copy.is_empty() {
            step.ticking("copying modules", || Self::output(self.go(&["mod", "vendor"])))?;
            for copy in &recipe.vendor_copy {
                let vendor = self.work.join("vendor");
                content::copy(&vendor.join(&copy.from), &vendor.join(&copy.to))?;
            }
        }
        self.compile(step)?;
        let bin = self.draft.join("bin");
        for (built, ours) in &recipe.rename {
            fs::rename(bin.join(built), bin.join(ours))?;
        }
        fs::write(self.draft.join("versions.json"), serde_json::to_vec_pretty(&self.versions(&bin)?)?)?;
        Ok(())
    }

    /// `-v` names each package as it is compiled: that is our progress.
    fn compile(&self, step: &Step<'_>) -> Result<()> {
        let total = Self::output(self.go(&["list", "-deps", "tool"]))?.lines().count();
        let ldflags = format!("-s -w {}", self.component.recipe.ldflags.join(" "));
        let mut build =
            self.go(&["build", "-v", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-o"]);
        build.arg(self.draft.join("bin")).arg("-ldflags").arg(ldflags.trim()).arg("tool");
        let mut child =
            build.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(|error| no_go(&error))?;
        let said = child.stderr.take().context("go says nothing")?;
        let (mut compiled, mut last) = (0, Vec::new());
        for line in BufReader::new(said).lines() {
            let line = line?;
            if is_package(&line) {
                compiled += 1;
                step.note(&format!("{compiled} of at most {total} packages"));
            } else {
                last.push(line);
            }
        }
        ensure!(child.wait()?.success(), "go build failed:\n{}", last.join("\n"));
        Ok(())
    }

    fn assets(&self) -> Result<()> {
        for asset in &self.component.recipe.assets {
            let listed = Self::output(self.go(&["mod", "download", "-json", &asset.module]))?;
            let module: serde_json::Value = serde_json::from_str(&listed)?;
            let folder = module.get("Dir").and_then(|dir| dir.as_str());
            let folder = folder.with_context(|| format!("module {} has no folder", asset.module))?;
            content::copy(&Path::new(folder).join(&asset.path), &self.draft.join("assets").join(&asset.to))
                .with_context(|| format!("failed to copy {} of {}", asset.path, asset.module))?;
        }
        Ok(())
    }

    /// The version of the module that holds each program's package.
    fn versions(&self, bin: &Path) -> Result<BTreeMap<String, String>> {
        let mut versions = BTreeMap::new();
        for program in fs::read_dir(bin)? {
            let program = program?;
            let mut command = self.go(&["version", "-m"]);
            command.arg(program.path());
            let version = version_of_program(&Self::output(command)?).unwrap_or_else(|| "unknown".to_owned());
            versions.insert(program.file_name().to_string_lossy().into_owned(), version);
        }
        Ok(versions)
    }

    fn go(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("go");
        let module_mode = if self.work.join("vendor").is_dir() { "-mod=vendor" } else { "-mod=readonly" };
        command.current_dir(self.work).args(arguments);
        // Settings of the user's own that would change what is built.
        command.env("CGO_ENABLED", "0").env("GOWORK", "off").env_remove("GOOS").env_remove("GOARCH");
        let for_build = matches!(arguments.first(), Some(&"build" | &"list"));
        command.env("GOFLAGS", if for_build { module_mode } else { "" });
        command
    }

    fn output(mut command: Command) -> Result<String> {
        let output = command.output().map_err(|error| no_go(&error))?;
        if !output.status.success() {
            bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

fn no_go(error: &std::io::Error) -> anyhow::Error {
    Unmet::new(format!("failed to run go: {error}; install Go 1.25.7 or newer and put it on the PATH")).into()
}

/// A package path, and not one of go's remarks (`go: downloading ...`, `# package` and the errors below it).
fn is_package(line: &str) -> bool {
    !line.is_empty() && !line.contains([' ', '\t', ':'])
}

/// From `go version -m`: the version of the module that the program's package is in.
fn version_of_program(said: &str) -> Option<String> {
    said.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["mod", _, version, ..] => Some(version.trim_start_matches('v').to_owned()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_program_is_that_of_its_own_module() {
        let said = "bin/kubelet: go1.26\n\tpath\tk8s.io/kubernetes/cmd/kubelet\n\
                    \tmod\tk8s.io/kubernetes\tv1.34.4\th1:y=\n\tdep\tk8s.io/api\tv0.34.4\th1:x=\n";
        assert_eq!(version_of_program(said).as_deref(), Some("1.34.4"));
    }

    #[test]
    fn remarks_of_go_are_not_counted_as_packages() {
        let lines =
            ["k8s.io/api/core/v1", "go: downloading x v1", "# k8s.io/api", "x.go:1:2: undefined: y", "fmt"];
        assert_eq!(lines.map(is_package), [true, false, false, false, true]);
    }

    #[test]
    fn every_component_in_the_repository_can_be_read() {
        let paths = Paths::of("test").expect("a home folder");
        for folder in fs::read_dir(paths::source("components")).expect("components") {
            let name = folder.expect("a folder").file_name().display().to_string();
            Component::load(&name, &paths).expect("a readable component");
        }
    }
}

//! What can be installed on a cluster: one folder per add-on, `addon.yaml` and manifests. Manifests are rendered once per
//! content and kept in the cache; a marker in the cluster says what is installed, so a second `up` touches nothing.

mod installation;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use kube::api::DynamicObject;
use serde::Deserialize;

pub(crate) use installation::Installed;

use crate::cluster;
use crate::components::Component;
use crate::content;
use crate::image::{self, Image};
use crate::node::Node;
use crate::own_program::{self, OwnProgram};
use crate::paths::{self, Paths};
use crate::readiness::Expected;
use crate::unmet::Unmet;

/// Changes when the way of rendering manifests or writing images changes, so that old ones are not taken for new ones.
const RECIPE: &str = "kustomize or helm; one layer; 2";

/// Stands for a component in the name of a file that is a program of this checkout.
const CHECKOUT: &str = "checkout";
/// Images of this checkout's programs change with every change of the sources; older ones than these are not kept.
const IMAGES_KEPT: usize = 4;

/// `addon.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    title: String,
    /// Part of what `up` installs when nothing is said.
    default: bool,
    /// Part of a cluster that somebody else made: never installed on an existing one.
    #[serde(default)]
    own_cluster_only: bool,
    /// Installed when all others are ready, because it asks for the kinds there are when it starts.
    #[serde(default)]
    last: bool,
    /// Not offered to `up --with`.
    #[serde(default)]
    hidden: bool,
    namespace: String,
    components: Vec<String>,
    #[serde(default)]
    images: Vec<ImageDefinition>,
    /// A chart of this checkout, installed by helm itself and not as rendered manifests.
    chart: Option<String>,
    /// Files of a chart that are upstream's.
    #[serde(default)]
    chart_templates: Vec<Upstream>,
    #[serde(default)]
    ready: Vec<Expected>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ImageDefinition {
    name: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    folders: BTreeMap<String, String>,
    #[serde(default)]
    dirs: Vec<String>,
    entrypoint: Vec<String>,
    user: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Upstream {
    from: String,
    to: String,
}

/// An add-on with the components it is made of.
#[derive(Debug)]
pub(crate) struct Addon {
    pub(crate) name: String,
    definition: Definition,
    folder: PathBuf,
    pub(crate) components: Vec<Component>,
    /// Programs of this checkout that its images hold.
    programs: Vec<OwnProgram>,
    /// Names its content; also the tag of its images.
    pub(crate) key: String,
}

impl Addon {
    pub(crate) fn load(name: &str, paths: &Paths) -> Result<Self> {
        let folder = paths::source("addons").join(name);
        let file = folder.join("addon.yaml");
        let text = fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
        let definition: Definition =
            serde_saphyr::from_str(&text).with_context(|| format!("failed to read {}", file.display()))?;
        let components = definition
            .components
            .iter()
            .map(|name| Component::load(name, paths))
            .collect::<Result<Vec<_>>>()?;
        let programs = definition.own_programs().map(OwnProgram::load).collect::<Result<Vec<_>>>()?;
        let mut keys = vec![RECIPE.to_owned(), content::name_of_folder(&folder)?];
        keys.extend(components.iter().map(|component| component.key.clone()));
        keys.extend(programs.iter().map(|program| program.key.clone()));
        if let Some(chart) = &definition.chart {
            keys.push(content::name_of_folder(&paths::workspace().join(chart))?);
        }
        let key = content::name_of(keys.iter().map(String::as_bytes));
        Ok(Self { name: name.to_owned(), definition, folder, components, programs, key })
    }

    /// Everything in the repository, in the order of its names.
    pub(crate) fn all(paths: &Paths) -> Result<Vec<Self>> {
        let mut names: Vec<String> = fs::read_dir(paths::source("addons"))?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<Result<_>>()?;
        names.sort();
        names.iter().map(|name| Self::load(name, paths)).collect()
    }

    /// The default set and what the user asks for.
    pub(crate) fn selected(with: &[String], paths: &Paths) -> Result<Vec<Self>> {
        let offered: Vec<Self> =
            Self::all(paths)?.into_iter().filter(|addon| !addon.definition.hidden).collect();
        if let Some(unknown) = with.iter().find(|name| offered.iter().all(|addon| addon.name != **name)) {
            let names: Vec<&str> = offered.iter().map(|addon| addon.name.as_str()).collect();
            return Err(Unmet::new(format!(
                "there is no set named '{unknown}'; there are {}",
                names.join(", ")
            ))
            .into());
        }
        Ok(offered.into_iter().filter(|addon| addon.is_default() || with.contains(&addon.name)).collect())
    }

    pub(crate) fn is_own_cluster_only(&self) -> bool {
        self.definition.own_cluster_only
    }

    pub(crate) fn is_default(&self) -> bool {
        self.definition.default
    }

    /// Whether it is installed when all others are ready.
    pub(crate) fn is_last(&self) -> bool {
        self.definition.last
    }

    pub(crate) fn title(&self) -> &str {
        &self.definition.title
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.definition.namespace
    }

    /// Its Deployments and DaemonSets, and those that a chart makes for it: where there are logs to read.
    pub(crate) fn workloads(&self, paths: &Paths, tools: &Path) -> Result<Vec<Expected>> {
        let of_charts = self.definition.ready.iter().filter(|expected| expected.is_workload()).cloned();
        Ok(self.manifests(paths, tools)?.iter().filter_map(Expected::workload).chain(of_charts).collect())
    }

    /// The version of the program of that name, or of whatever the add-on is made of.
    pub(crate) fn version_of(&self, workload: &str) -> String {
        if !self.programs.is_empty() {
            // The checkout's crates have one version.
            return env!("CARGO_PKG_VERSION").to_owned();
        }
        let versions = self.components.first().map(Component::versions).unwrap_or_default();
        versions.get(workload).or_else(|| versions.values().next()).cloned().unwrap_or_default()
    }

    /// References of its images.
    pub(crate) fn image_references(&self) -> Vec<String> {
        self.definition.images.iter().map(|image| self.reference(&image.name)).collect()
    }

    fn reference(&self, image: &str) -> String {
        format!("lab.local/{image}:{}", self.key)
    }

    /// Loads its images into the node.
    pub(crate) async fn load_images(&self, node: &Node, paths: &Paths) -> Result<()> {
        for (_, tar) in self.image_files(paths)? {
            image::import(node, &tar).await?;
        }
        Ok(())
    }

    /// The image's tar file, written once per content.
    fn tar(&self, definition: &ImageDefinition, paths: &Paths) -> Result<PathBuf> {
        let tar = self.tar_file(definition, paths);
        if !tar.exists() {
            for program in &self.programs {
                program.build()?;
            }
            self.image(definition)?.write(&tar)?;
            if !self.programs.is_empty() {
                forget_older(&tar, &definition.name)?;
            }
        }
        Ok(tar)
    }

    fn tar_file(&self, definition: &ImageDefinition, paths: &Paths) -> PathBuf {
        paths.cache.join("images").join(format!("{}-{}.tar", definition.name, self.key))
    }

    fn image(&self, definition: &ImageDefinition) -> Result<Image> {
        let files = definition.files.iter();
        let folders = definition.folders.iter();
        Ok(Image {
            reference: self.reference(&definition.name),
            files: files
                .map(|(to, from)| Ok((to.clone(), self.built(from, Component::bin)?)))
                .collect::<Result<_>>()?,
            folders: folders.map(|(to, from)| Ok((to.clone(), self.asset(from)?))).collect::<Result<_>>()?,
            dirs: definition.dirs.clone(),
            links: BTreeMap::new(),
            entrypoint: definition.entrypoint.clone(),
            command: Vec::new(),
            user: definition.user.clone(),
        })
    }

    /// An asset of one of its components, `component/path`.
    pub(crate) fn asset(&self, reference: &str) -> Result<PathBuf> {
        self.built(reference, Component::assets)
    }

    /// `component/path` as a path on this machine.
    fn built(&self, reference: &str, place: fn(&Component) -> PathBuf) -> Result<PathBuf> {
        let (component, path) =
            reference.split_once('/').with_context(|| format!("'{reference}' names no component"))?;
        if component == CHECKOUT {
            return Ok(own_program::place_of(path));
        }
        let component = self.components.iter().find(|one| one.name == component);
        Ok(place(component.with_context(|| format!("'{reference}' is of no component of {}", self.name))?)
            .join(path))
    }

    /// Its objects, rendered by kustomize or helm on first use.
    pub(crate) fn manifests(&self, paths: &Paths, tools: &Path) -> Result<Vec<DynamicObject>> {
        let folder = paths.cache.join("manifests");
        let cached = folder.join(format!("{}-{}.json", self.name, self.key));
        if let Ok(text) = fs::read(&cached) {
            return Ok(serde_json::from_slice(&text)?);
        }
        fs::create_dir_all(&folder)?;
        let work = folder.join(format!(".{}-{}", self.name, std::process::id()));
        let rendered = self.render(&work, tools);
        if work.exists() {
            fs::remove_dir_all(&work)?;
        }
        let objects = cluster::parse(&rendered?)
            .with_context(|| format!("failed to read the manifests of {}", self.name))?;
        fs::write(&work, serde_json::to_vec(&objects)?)?;
        fs::rename(&work, &cached)?;
        Ok(objects)
    }

    fn render(&self, work: &Path, tools: &Path) -> Result<String> {
        let overlay = work.join("overlay");
        content::copy(&self.folder, &overlay)?;
        for component in &self.components {
            if component.assets().is_dir() {
                content::copy(&component.assets(), &work.join("upstream").join(&component.name))?;
            }
        }
        for file in &self.definition.chart_templates {
            content::copy(&work.join("upstream").join(&file.from), &overlay.join(&file.to))?;
        }
        let mut command = if let Some(arguments) = self.release() {
            let mut helm = Command::new(tools.join("helm"));
            helm.arg("template").args(arguments);
            helm
        } else if overlay.join("Chart.yaml").exists() {
            let mut helm = Command::new(tools.join("helm"));
            helm.args(["template", &self.name]).arg(&overlay).args([
                "--namespace",
                self.namespace(),
                "--values",
            ]);
            helm.arg(overlay.join("lab-values.yaml"));
            helm
        } else {
            let mut kubectl = Command::new(tools.join("kubectl"));
            // Upstream's files lie beside the overlay, not in it.
            kubectl.args(["kustomize", "--load-restrictor", "LoadRestrictionsNone"]).arg(&overlay);
            kubectl
        };
        let output = command.output().with_context(|| format!("failed to run {command:?}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "failed to render {}: {}", self.name, said.trim());
        Ok(String::from_utf8(output.stdout)?
            .replace(":TAG", &format!(":{}", self.key))
            .replace("tag: TAG", &format!("tag: {}", self.key)))
    }

    /// What helm must know of the release, if the add-on is a chart of this checkout.
    fn release(&self) -> Option<Vec<String>> {
        let chart = paths::workspace().join(self.definition.chart.as_ref()?);
        let (chart, values) = (chart.display().to_string(), self.folder.join("lab-values.yaml"));
        let (values, tag) = (values.display().to_string(), format!("image.tag={}", self.key));
        let words =
            [&self.name, &chart, "--namespace", self.namespace(), "--values", &values, "--set-string", &tag];
        Some(words.map(str::to_owned).into())
    }

    /// Whether programs of this checkout must be built before it can be installed.
    pub(crate) fn is_to_be_built(&self, paths: &Paths) -> bool {
        let has_tar = |image: &ImageDefinition| self.tar_file(image, paths).exists();
        !self.programs.is_empty() && !self.definition.images.iter().all(has_tar)
    }

    /// Its images with the tar files to load them from, written once per content.
    pub(crate) fn image_files(&self, paths: &Paths) -> Result<Vec<(String, PathBuf)>> {
        let images = self.definition.images.iter();
        images.map(|image| Ok((self.reference(&image.name), self.tar(image, paths)?))).collect()
    }
}

impl Definition {
    /// Names of this checkout's programs in its images.
    fn own_programs(&self) -> impl Iterator<Item = &str> {
        let files = self.images.iter().flat_map(|image| image.files.values());
        files.filter_map(|file| file.strip_prefix(CHECKOUT)?.strip_prefix('/'))
    }
}

/// Removes all but the newest tar files of an image.
fn forget_older(newest: &Path, name: &str) -> Result<()> {
    let folder = newest.parent().context("an image lies in a folder")?;
    let prefix = format!("{name}-");
    let mut tars = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            tars.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    tars.sort();
    let too_many = tars.len().saturating_sub(IMAGES_KEPT);
    for (_, tar) in tars.into_iter().take(too_many) {
        fs::remove_file(&tar).with_context(|| format!("failed to remove {}", tar.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_add_on_in_the_repository_can_be_read() {
        let paths = Paths::of("test").expect("a home folder");
        let addons = Addon::all(&paths).expect("readable add-ons");
        let names: Vec<&str> = addons.iter().map(|addon| addon.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "argo",
                "cert-manager",
                "demo",
                "dns",
                "external-secrets-crds",
                "flux",
                "operator",
                "registry",
                "velero"
            ]
        );
        for addon in &addons {
            for definition in &addon.definition.images {
                addon.image(definition).expect("every file of an image is of one of the add-on's components");
            }
        }
    }

    #[test]
    fn only_the_newest_images_of_a_program_are_kept() {
        let folder = std::env::temp_dir().join(format!("lab-images-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let now = std::time::SystemTime::now();
        let names = ["tool-1.tar", "tool-2.tar", "tool-3.tar", "tool-4.tar", "tool-5.tar", "toolbox-1.tar"];
        for (age, name) in names.iter().rev().enumerate() {
            let file = fs::File::create(folder.join(name)).expect("a file");
            file.set_modified(now - std::time::Duration::from_secs(age as u64)).expect("a time");
        }
        forget_older(&folder.join("tool-5.tar"), "tool").expect("forgotten");
        let mut left: Vec<String> = fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().display().to_string())
            .collect();
        left.sort();
        fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(left, ["tool-2.tar", "tool-3.tar", "tool-4.tar", "tool-5.tar", "toolbox-1.tar"]);
    }

    #[test]
    fn an_unknown_set_is_refused_with_the_names_there_are() {
        let paths = Paths::of("test").expect("a home folder");
        let error = Addon::selected(&["velro".to_owned()], &paths).expect_err("unknown");
        assert!(error.is::<Unmet>());
        let text = error.to_string();
        assert!(text.contains("'velro'") && text.contains("velero") && !text.contains("demo"), "{text}");
    }
}

//! `kubectl vworkspace op` as a person types it: what it prints, how it ends, and what becomes of it in the cluster.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use kube::api::ListParams;
use serde_json::Value;

use super::super::application::approval::private_key;
use super::super::application::instance::{Instance, named};
use super::super::chart::Chart;
use super::super::own_object::OwnObject;
use super::super::shell::Shell;
use super::super::{Ground, Scenario, text_at};
use super::{IMAGE, command, explained, scenario, target};

pub(in super::super) const SCENARIO: Scenario = Scenario {
    needs: &["flux", "operator", "registry"],
    ..scenario("operation_plugin_a_person_asks_follows_reads_cancels_and_approves", |ground| {
        Box::pin(run(ground))
    })
};

/// Runs until somebody lets it go.
const HELD: &str = "echo begun; while [ ! -e /tmp/go ]; do sleep 0.2; done; echo done";

async fn run(ground: &Ground) -> Result<()> {
    let mut shell = Shell::of(ground)?;
    refused(ground, &shell).await?;
    let _shop = target(ground).await?;
    followed(ground, &mut shell).await?;
    fails(ground, &mut shell).await?;
    cancelled(ground, &mut shell).await?;
    let keys = Keys::new(ground, &shell).await?;
    approved(ground, &mut shell, &keys).await?;
    approved_instance(ground, &shell, &keys).await
}

/// What a person types to run a script on `shop`.
fn typed(name: &str, script: &str, options: &str) -> String {
    format!(
        "kubectl vworkspace op create runCommand.job --target shop --name {name} -p image={IMAGE} \
         -p 'command=[\"sh\", \"-c\", \"{script}\"]' {options}"
    )
}

/// The operation of that name, as the plugin made it.
fn operation<'a>(ground: &'a Ground, name: &str) -> OwnObject<'a> {
    command(ground, name, "")
}

/// Said before anything is sent: what is wrong, what was found, what is expected.
async fn refused(ground: &Ground, shell: &Shell<'_>) -> Result<()> {
    let table: [(&str, &[&str]); 5] = [
        ("runCommand.jobs", &["'runCommand.jobs'", "a similar value exists: 'runCommand.job'"]),
        ("runCommand.job -p imag=x", &["has no parameter \"imag\"", "did you mean image?"]),
        ("runCommand.job", &["spec.parameters.image: found nothing; expected"]),
        (
            "runCommand.job -p image=x -p backoffLimit=many",
            &["spec.parameters.backoffLimit: found 'many'; expected"],
        ),
        (
            "runCommand.job -p image=x -p 'command=[sh]'",
            &["-p command: found no JSON", "expected JSON such as"],
        ),
    ];
    for (arguments, promised) in table {
        let typed = format!("kubectl vworkspace op create {arguments} --target shop");
        let ended = shell.runs(&typed).await?.with_code(3)?;
        promised.iter().try_for_each(|words| ended.says(words))?;
        ensure!(ended.out.is_empty(), "`{typed}` writes a result: {}", ended.out);
    }
    let made = operation(ground, "any").api().list(&ListParams::default()).await?.items;
    ensure!(made.is_empty(), "{} operations were made although all were refused", made.len());

    // The API server takes a target that is not there: it may come.
    let typed = typed("lost", "exit 0", "--wait --wait-timeout 5s");
    let ended = shell.runs(&typed).await?.with_code(1)?;
    for words in ["ValidationFailed", "spec.targetRef.name", "has not ended after 5s", "op show lost -n"] {
        ended.says(words)?;
    }
    shell.shows("kubectl vworkspace op cancel lost --wait", &["Cancelled", "UserCancelled"]).await.map(drop)
}

/// From the question to the end, with everything that can be looked at meanwhile.
async fn followed(ground: &Ground, shell: &mut Shell<'_>) -> Result<()> {
    let mut create = shell.starts(&typed("check", HELD, "--wait"))?;
    create.says("operation.ops.vworkspace.io/check created").await?;
    // Typed at once: it waits for the log to begin.
    let mut log = shell.starts("kubectl vworkspace op logs -f check")?;
    create.says("Running  EngineStarted  Job check-").await?;
    log.says("begun").await?;

    let list: &[&str] = &["NAME", "PHASE", "REASON", "check", "Running", "EngineStarted"];
    shell.shows("kubectl vworkspace op list --running", list).await?;
    let show: &[&str] = &[
        "runCommand.job",
        "Running=True/EngineStarted",
        "Job check-",
        "kubectl vworkspace op logs check -n <ns>",
    ];
    shell.shows("kubectl vworkspace op show check -n <ns>", show).await?;
    let said = shell.shows("kubectl vworkspace op logs check", &["begun"]).await?;
    ensure!(!said.contains("done"), "the log of a command that runs is at its end: {said}");
    let check = operation(ground, "check");
    explained::works(shell, &check, "EngineStarted", &["EngineStarted", "check-", "Job"]).await?;

    let job = text_at(&check.read().await?.data, "/status/engineRef/name").to_owned();
    shell.shows(&format!("kubectl exec job/{job} -- sh -c 'touch /tmp/go'"), &[]).await?;
    log.says("done").await?;
    log.ends().await?.with_code(0)?;
    create.says("Succeeded  EngineCompleted").await?;
    create.ends().await?.with_code(0)?;

    let show: &[&str] = &[
        "Accepted=True/AdmissionPassed",
        "Running=False/EngineFinished",
        "Succeeded=True/EngineCompleted",
        "exitCode            0",
        "kubectl get operations.ops.vworkspace.io -n <ns> check",
    ];
    shell.shows("kubectl vworkspace op show check", show).await?;
    let listed = shell.shows("kubectl vworkspace op list --finished -o json", &[]).await?;
    let rows: Vec<Value> = serde_json::from_str(&listed)?;
    let is_there = |row: &Value| (text_at(row, "/name"), text_at(row, "/phase")) == ("check", "Succeeded");
    ensure!(rows.iter().any(is_there), "op list --finished does not list check: {listed}");
    let gone = shell.runs("kubectl vworkspace op cancel check").await?.with_code(1)?;
    gone.says("nothing to cancel")?;
    explained::works(shell, &check, "EngineCompleted", &["exitCode"]).await
}

/// A failure is 2, and what is printed is enough to find the cause.
async fn fails(ground: &Ground, shell: &mut Shell<'_>) -> Result<()> {
    let ended = shell.runs(&typed("breaks", "echo no such host; exit 7", "--wait")).await?.with_code(2)?;
    for words in ["Failed  JobFailedBackoffExceeded", "exit code 7", "op logs breaks -n", "op show breaks -n"]
    {
        ended.says(words)?;
    }
    shell.shows("kubectl vworkspace op logs breaks", &["no such host"]).await?;
    let told = shell.shows("kubectl vworkspace op show breaks -o json", &[]).await?;
    let told: Value = serde_json::from_str(&told)?;
    let next = told.pointer("/next/investigate").and_then(Value::as_array);
    let next: Vec<&str> = next.into_iter().flatten().filter_map(Value::as_str).collect();
    ensure!(!next.is_empty(), "op show has nothing to type next: {told}");
    let mut shown = String::new();
    for command in next {
        shown += &shell.shows(command, &[]).await?;
    }
    for words in ["breaks-", "no such host", "exitCode"] {
        ensure!(shown.contains(words), "what op show tells to type does not show '{words}': {shown}");
    }
    let breaks = operation(ground, "breaks");
    explained::works(shell, &breaks, "JobFailedBackoffExceeded", &["breaks-", "no such host", "exitCode"])
        .await
}

async fn cancelled(ground: &Ground, shell: &mut Shell<'_>) -> Result<()> {
    let endless = "trap 'exit 0' TERM; sleep 600 & wait".replace('\'', "'\\''");
    let mut create = shell.starts(&typed("long", &endless, "--wait"))?;
    create.says("Running  EngineStarted").await?;
    let told: &[&str] = &["Cancelling long: the engine is stopped", "Cancelled  UserCancelled"];
    shell.shows("kubectl vworkspace op cancel long --wait", told).await?;
    // Whoever waited is told, and that it did not succeed.
    let ended = create.ends().await?.with_code(2)?;
    ended.says("Cancelled  UserCancelled")?;
    let long = operation(ground, "long");
    long.says("Cancelled", "True/UserCancelled").await?;
    shell.runs("kubectl vworkspace op cancel long").await?.with_code(1)?;
    shell.runs("kubectl vworkspace op logs long").await?.with_code(1)?.says("long has no log")?;
    explained::works(shell, &long, "UserCancelled", &["UserCancelled"]).await
}

/// A key that nobody trusts, and the one that the lab's operator does.
struct Keys {
    foreign: PathBuf,
    trusted: PathBuf,
}

impl Keys {
    async fn new(ground: &Ground, shell: &Shell<'_>) -> Result<Self> {
        let file = |name: &str| ground.cluster.paths.state.join(format!("{}-{name}.pem", ground.namespace));
        let keys = Self { foreign: file("foreign"), trusted: file("trusted") };
        keys.remove();
        let keygen = format!("kubectl vworkspace op keygen --out {}", keys.foreign.display());
        let made = shell.runs(&keygen).await?.with_code(0)?;
        made.says("approvals.publicKeys")?;
        let public = made.out.trim();
        ensure!(public.len() == 44 && public.ends_with('='), "the public key is '{public}'");
        ensure!(made.err.contains(public), "the helm command does not have the key: {}", made.err);
        shell.runs(&keygen).await?.with_code(3)?.says("a key is never overwritten")?;
        // Made by keygen, so that its mode is right; then it gets the content that is trusted.
        let keygen = format!("kubectl vworkspace op keygen --out {}", keys.trusted.display());
        shell.runs(&keygen).await?.with_code(0)?;
        fs::write(&keys.trusted, private_key())?;
        Ok(keys)
    }

    /// What an earlier run that was killed left, too.
    fn remove(&self) {
        for file in [&self.foreign, &self.trusted] {
            match fs::remove_file(file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    eprintln!("lab: failed to remove {}: {error}", file.display());
                }
                _ => {}
            }
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.remove();
    }
}

fn approve(name: &str, key: &Path, options: &str) -> String {
    format!("kubectl vworkspace op approve {name} --key {} --by ada {options}", key.display())
}

/// Only the right key, for the operation that was shown.
async fn approved(ground: &Ground, shell: &mut Shell<'_>, keys: &Keys) -> Result<()> {
    for name in ["first", "second"] {
        shell.shows(&typed(name, "exit 0", "--approval-required"), &["created"]).await?;
        operation(ground, name).says("Blocked", "True/AwaitingApproval").await?;
    }
    let (first, second) = (operation(ground, "first"), operation(ground, "second"));
    let show: &[&str] = &["AwaitingApproval", "kubectl vworkspace op approve first -n"];
    shell.shows("kubectl vworkspace op show first", show).await?;
    let nobody = shell.runs(&approve("first", &keys.trusted, "")).await?.with_code(3)?;
    nobody.says("expected --yes")?;
    explained::works(shell, &first, "AwaitingApproval", &["required", "there is no approval claim"]).await?;

    let told: &[&str] = &["Operation first approved", "type: RunCommand", "digest"];
    shell.shows(&approve("first", &keys.foreign, "--yes"), told).await?;
    first.says("Blocked", "True/AwaitingApproval").await?.naming("none of the operator's public keys")?;

    let claim = shell.runs(&approve("first", &keys.trusted, "--yes --print")).await?.with_code(0)?.out;
    let patch = format!("{{\"spec\": {{\"approvals\": {{\"claim\": \"{}\"}}}}}}", claim.trim());
    shell.shows(&format!("kubectl patch operation second --type merge -p '{patch}'"), &["patched"]).await?;
    second.says("Blocked", "True/AwaitingApproval").await?.naming("is for the object with UID")?;

    for (name, operation) in [("first", &first), ("second", &second)] {
        shell.shows(&approve(name, &keys.trusted, "--yes"), &["approved (claim"]).await?;
        operation.says("Succeeded", "True/EngineCompleted").await?;
        let by = text_at(&operation.read().await?.data, "/status/approved/by").to_owned();
        ensure!(by == "ada", "{name} was approved by '{by}'");
    }
    let late = shell.runs(&approve("first", &keys.trusted, "--yes")).await?.with_code(3)?;
    late.says("nothing waits for an approval")
}

/// The same command for an application.
async fn approved_instance(ground: &Ground, shell: &Shell<'_>, keys: &Keys) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let web: Instance<'_> =
        named(ground, "web", "web").chart(&chart).with("approvals: {required: true}").applied().await?;
    let asks = |now: &kube::api::DynamicObject| now.data.to_string().contains("To approve: cluster");
    web.until(asks).await?;
    let told: &[&str] = &["ApplicationInstance web approved", &chart.version];
    let typed = approve("web", &keys.trusted, "--kind ApplicationInstance --yes");
    shell.shows(&typed, told).await?;
    web.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await
}

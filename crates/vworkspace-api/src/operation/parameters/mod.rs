//! The parameters of an operation, typed. `check` holds them against the table of templates; only what passes is converted,
//! by one file per engine.

mod check;
mod found;
mod helm;
mod job;
mod problem;
mod velero;

pub use helm::UpgradeParameters;
pub use job::RunCommandParameters;
pub use problem::Problems;
pub use velero::{BackupParameters, ExistingResourcePolicy, RestoreParameters};

use serde_json::{Map, Value};

use self::found::Given;
use super::{Engine, OperationSpec, OperationType, Template};

/// More names than any template has.
pub const MAX_PARAMETERS: usize = 64;

/// The largest number that a parameter can be: Kubernetes counts in 32 bits.
pub const MAX_NUMBER: i64 = i32::MAX as i64;

/// What is asked for, in a form that an engine can be given.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// By Velero.
    Backup(BackupParameters),
    /// By Velero.
    Restore(RestoreParameters),
    /// By Helm.
    Upgrade(UpgradeParameters),
    /// By a Job.
    RunCommand(RunCommandParameters),
}

impl OperationSpec {
    /// What is asked for, or all that is wrong with it.
    ///
    /// # Errors
    /// When the engine cannot do this type, this version cannot run it, or a parameter is not what it should be.
    pub fn request(&self) -> Result<Request, Problems> {
        let Some(template) = self.template() else {
            return Err(self.no_such_pair());
        };
        if !template.is_supported {
            let supported: Vec<&str> = Template::supported().map(|template| template.name).collect();
            return Err(Problems::one(format!(
                "this version cannot run {}; it runs {}",
                template.name,
                supported.join(", ")
            )));
        }
        check::check(template, &self.parameters)?;
        request(self.type_, self.engine, &self.parameters).unwrap_or_else(|| Err(self.no_such_pair()))
    }

    fn no_such_pair(&self) -> Problems {
        let engines: Vec<&str> = Template::engines_of(self.type_).map(Engine::as_str).collect();
        Problems::one(format!(
            "spec.engine: found '{}' for type {}; expected one of {}",
            self.engine,
            self.type_,
            engines.join(", ")
        ))
    }
}

/// Converts what was checked; nothing for a pair that is not supported.
fn request(
    type_: OperationType,
    engine: Engine,
    parameters: &Map<String, Value>,
) -> Option<Result<Request, Problems>> {
    let given = Given(parameters);
    Some(match (type_, engine) {
        (OperationType::Backup, Engine::Velero) => Ok(Request::Backup(BackupParameters::from_given(given))),
        (OperationType::Restore, Engine::Velero) => {
            RestoreParameters::from_given(given).map(Request::Restore)
        }
        (OperationType::Upgrade, Engine::Helm) => UpgradeParameters::from_given(given).map(Request::Upgrade),
        (OperationType::RunCommand, Engine::Job) => {
            RunCommandParameters::from_given(given).map(Request::RunCommand)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;

//! One folder per kind that the operator looks after.

pub(crate) mod application;
pub(crate) mod operation;
#[cfg(test)]
mod precedence;

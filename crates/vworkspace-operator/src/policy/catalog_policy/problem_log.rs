//! Tells the log what cannot be read of the policy: statuses name it only where a change waits for it.

use std::sync::{Mutex, PoisonError};

use tracing::{info, warn};

use super::CatalogPolicy;

/// What was logged last.
#[derive(Debug, Default)]
pub(crate) struct ProblemLog {
    told: Mutex<Option<String>>,
}

impl ProblemLog {
    /// Logs a problem when it comes, changes or goes, and not each time that it is seen.
    pub(crate) fn note(&self, policy: &CatalogPolicy) {
        let problem = policy.problem();
        if self.is_news(problem.as_ref()) {
            match problem {
                Some(problem) => warn!(problem, "the catalog policy cannot be read: changes wait"),
                None => info!("the catalog policy can be read again"),
            }
        }
    }

    fn is_news(&self, problem: Option<&String>) -> bool {
        // A panic elsewhere leaves a whole value behind.
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = told.as_ref() != problem;
        if is_news {
            *told = problem.cloned();
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_logged_when_it_comes_changes_and_goes() {
        let (log, one, other) = (ProblemLog::default(), "one".to_owned(), "other".to_owned());
        let seen = [None, Some(&one), Some(&one), Some(&other), None, None];
        let news = seen.map(|problem| log.is_news(problem));
        assert_eq!(news, [false, true, false, true, true, false]);
        let unreadable = CatalogPolicy::unreadable("it is no map");
        log.note(&unreadable);
        assert!(!log.is_news(unreadable.problem().as_ref()), "it was logged");
    }
}

//! A fake cluster, and what a command line says of it.

use super::{ApiServer, User, write_kubeconfig};
use heapdrift::source::remote::{
    Access, ClusterOptions, FetchError, Object, Process, Target, Via, connect,
};
use serde_json::Value;
use std::time::Duration;
use tempfile::TempDir;

pub struct Setup {
    pub server: ApiServer,
    /// With the kubeconfig; for other files of the test.
    pub directory: TempDir,
    /// Nothing is tried again.
    pub access: Access,
    pub options: ClusterOptions,
    pub metrics: Option<String>,
}

impl Setup {
    /// A cluster that takes anybody.
    pub fn new() -> Self {
        Self::of(ApiServer::start(), &User::Nobody)
    }

    pub fn of(server: ApiServer, user: &User) -> Self {
        Self::with(server, user, |_| {})
    }

    /// With a kubeconfig that is changed before it is written.
    pub fn with(server: ApiServer, user: &User, change: impl FnOnce(&mut Value)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut object = server.kubeconfig(user);
        change(&mut object);
        let options = ClusterOptions {
            kubeconfig: Some(write_kubeconfig(directory.path(), &object)),
            ..ClusterOptions::default()
        };
        Self {
            server,
            directory,
            access: Access {
                timeout: Duration::from_secs(10),
                retries: 0,
                ..Access::default()
            },
            options,
            metrics: None,
        }
    }

    pub fn via(mut self, via: Via) -> Self {
        self.options.via = via;
        self
    }

    pub async fn find(&self, text: &str) -> Result<Vec<Process>, FetchError> {
        let metrics = self.metrics.as_deref();
        connect(&target(text), &self.access, metrics, &self.options).await
    }

    pub async fn find_one(&self, text: &str) -> Process {
        let mut found = self.find(text).await.unwrap();
        assert_eq!(found.len(), 1);
        found.pop().unwrap()
    }

    pub async fn refusal(&self, text: &str) -> FetchError {
        let found = self.find(text).await;
        found.map(|found| found.len()).unwrap_err()
    }
}

/// A target as it is written; `-l SELECTOR` for a selector.
pub fn target(text: &str) -> Target {
    match text.strip_prefix("-l ") {
        Some(selector) => Target::Kubernetes(Object::of_selector(selector)),
        None => Target::parse(text).unwrap().unwrap(),
    }
}

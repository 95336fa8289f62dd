//! Which cluster, as whom, in which namespace: the kubeconfig, read as kubectl reads it.
//!
//! Knows files and variables of the environment. Must not know what is asked of the cluster.

use super::trouble::Trouble;
use crate::source::remote::ClusterOptions;
use crate::source::remote::error::FetchProblem;
use hyper_util::client::proxy::matcher::Matcher;
use kube::Config;
use kube::config::{Cluster, ExecConfig, KubeConfigOptions, Kubeconfig, KubeconfigError};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// An API server that does not answer at all is given up earlier than one that is slow.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// More names are not listed.
const MAX_LISTED: usize = 10;

/// How a cluster is reached. Holds secrets.
pub(super) struct Settings {
    /// Without the plugin, which [`super::exec`] runs.
    pub(super) config: Config,
    pub(super) plugin: Option<ExecConfig>,
    /// Where names are looked up.
    pub(super) namespace: String,
}

/// What the environment says.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    /// `KUBECONFIG`.
    kubeconfig: Option<OsString>,
    home: Option<PathBuf>,
    /// Of `HTTPS_PROXY` and its like.
    proxies: Proxies,
}

#[derive(Debug, Clone, Default)]
struct Proxies {
    http: String,
    https: String,
    none_for: String,
}

impl Surroundings {
    /// As they are.
    pub(super) fn read() -> Self {
        let first = |names: [&str; 2]| {
            let values = names.iter().filter_map(|name| std::env::var(name).ok());
            values
                .into_iter()
                .find(|value| !value.is_empty())
                .unwrap_or_default()
        };
        Self {
            kubeconfig: std::env::var_os("KUBECONFIG"),
            home: std::env::home_dir(),
            proxies: Proxies {
                http: first(["HTTP_PROXY", "http_proxy"]),
                https: first(["HTTPS_PROXY", "https_proxy"]),
                none_for: first(["NO_PROXY", "no_proxy"]),
            },
        }
    }

    /// The files that make up the kubeconfig. Those of `KUBECONFIG` need not be there.
    fn files(&self) -> Vec<PathBuf> {
        let listed: Vec<PathBuf> = match &self.kubeconfig {
            Some(list) => std::env::split_paths(list)
                .filter(|path| !path.as_os_str().is_empty())
                .collect(),
            None => Vec::new(),
        };
        match (listed.is_empty(), &self.home) {
            (false, _) => listed,
            (true, Some(home)) => vec![home.join(".kube").join("config")],
            (true, None) => Vec::new(),
        }
    }
}

/// Puts the options and the surroundings together.
pub(super) async fn load(
    options: &ClusterOptions,
    surroundings: &Surroundings,
) -> Result<Settings, Trouble> {
    let files = match &options.kubeconfig {
        Some(path) => vec![path.clone()],
        None => surroundings.files(),
    };
    let mut merged: Option<Kubeconfig> = None;
    for path in &files {
        // A file that was asked for by name must be there.
        if options.kubeconfig.is_none() && !path.exists() {
            continue;
        }
        let next = Kubeconfig::read_from(path).map_err(|error| explain(&error))?;
        merged = Some(match merged {
            None => next,
            Some(before) => before.merge(next).map_err(|error| explain(&error))?,
        });
    }
    let mut settings = match merged {
        Some(kubeconfig) => of_kubeconfig(kubeconfig, options, &surroundings.proxies).await?,
        None => of_pod(&files, &surroundings.proxies)?,
    };
    if let Some(namespace) = &options.namespace {
        settings.namespace.clone_from(namespace);
    }
    if let Some(user) = &options.impersonate {
        settings.config.auth_info.impersonate = Some(user.clone());
    }
    settings.config.connect_timeout = Some(CONNECT_TIMEOUT);
    // Requests are tried again by the fetcher, which says so.
    settings.config.default_retry = false;
    Ok(settings)
}

async fn of_kubeconfig(
    kubeconfig: Kubeconfig,
    options: &ClusterOptions,
    proxies: &Proxies,
) -> Result<Settings, Trouble> {
    let contexts: Vec<&str> = kubeconfig
        .contexts
        .iter()
        .map(|c| c.name.as_str())
        .collect();
    let current = kubeconfig
        .current_context
        .clone()
        .filter(|name| !name.is_empty());
    let Some(context) = options.context.clone().or(current) else {
        return Err(Trouble::new(
            FetchProblem::Cluster("the kubeconfig has no current context".to_owned()),
            match contexts.is_empty() {
                true => "it has no contexts at all: --kubeconfig FILE or KUBECONFIG names another"
                    .to_owned(),
                false => format!("--context takes one of: {}", listed(&contexts)),
            },
        ));
    };
    let found = kubeconfig
        .contexts
        .iter()
        .find(|named| named.name == context);
    let Some(found) = found.and_then(|named| named.context.as_ref()) else {
        return Err(Trouble::new(
            FetchProblem::Cluster(format!("the kubeconfig has no context {context:?}")),
            match contexts.is_empty() {
                true => "it has no contexts at all".to_owned(),
                false => format!("--context takes one of: {}", listed(&contexts)),
            },
        ));
    };
    let clusters = kubeconfig.clusters.iter();
    let cluster = clusters
        .into_iter()
        .find(|named| named.name == found.cluster);
    let Some(cluster) = cluster.and_then(|named| named.cluster.clone()) else {
        let name = &found.cluster;
        return Err(Trouble::new(
            FetchProblem::Cluster(format!(
                "the context {context:?} names the cluster {name:?}, which the kubeconfig does not have"
            )),
            "`kubectl config view` shows what is there",
        ));
    };
    let choice = KubeConfigOptions {
        context: Some(context),
        ..KubeConfigOptions::default()
    };
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &choice)
        .await
        .map_err(|error| explain(&error))?;
    config.proxy_url = proxy_of(&cluster, &config.cluster_url, proxies)?;
    let user = &config.auth_info;
    let has_other = user.token.is_some()
        || user.token_file.is_some()
        || user.auth_provider.is_some()
        || (user.username.is_some() && user.password.is_some());
    let plugin = config.auth_info.exec.take().filter(|_| !has_other);
    Ok(Settings {
        namespace: config.default_namespace.clone(),
        config,
        plugin,
    })
}

/// The account of the pod that we are in.
fn of_pod(files: &[PathBuf], proxies: &Proxies) -> Result<Settings, Trouble> {
    let mut config = Config::incluster().map_err(|_| {
        let places: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        let places = match places.is_empty() {
            true => "there is no home directory to look in".to_owned(),
            false => format!("there is no {}", places.join(", ")),
        };
        Trouble::new(
            FetchProblem::Cluster(format!("no cluster is configured: {places}")),
            "--kubeconfig FILE or KUBECONFIG names a kubeconfig; inside a pod its service account is used",
        )
    })?;
    let none = Cluster::default();
    config.proxy_url = proxy_of(&none, &config.cluster_url, proxies)?;
    Ok(Settings {
        namespace: config.default_namespace.clone(),
        config,
        plugin: None,
    })
}

/// The proxy before a cluster: that of the kubeconfig, else that of the environment by Go's
/// rules. (The client library holds `NO_PROXY` against the proxy's own name.)
fn proxy_of(
    cluster: &Cluster,
    server: &http::Uri,
    proxies: &Proxies,
) -> Result<Option<http::Uri>, Trouble> {
    let own = cluster.proxy_url.as_deref().filter(|url| !url.is_empty());
    let text = match (own, server.scheme_str()) {
        (Some(url), _) => url,
        (None, _) if is_loopback(server) || is_exempt(server, &proxies.none_for) => {
            return Ok(None);
        }
        (None, Some("https")) => &proxies.https,
        (None, _) => &proxies.http,
    };
    if text.is_empty() {
        return Ok(None);
    }
    let text = match text.split_once("://") {
        None => format!("http://{text}"),
        // Names are resolved by the proxy in either case.
        Some(("socks5h", rest)) => format!("socks5://{rest}"),
        Some(_) => text.to_owned(),
    };
    let wrong = |_| {
        // The text may hold a password.
        Trouble::new(
            FetchProblem::Proxy("its address is no URL".to_owned()),
            "check proxy-url of the kubeconfig, or HTTPS_PROXY",
        )
    };
    text.parse().map(Some).map_err(wrong)
}

fn is_loopback(server: &http::Uri) -> bool {
    let host = server.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address: Result<std::net::IpAddr, _> = host.parse();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn is_exempt(server: &http::Uri, none_for: &str) -> bool {
    let any = Matcher::builder().all("http://proxy").no(none_for).build();
    any.intercept(server).is_none()
}

/// What is wrong with a kubeconfig; its text may hold secrets, and is not repeated.
fn explain(error: &KubeconfigError) -> Trouble {
    let what = match error {
        KubeconfigError::ReadConfig(error, path) => {
            format!("the kubeconfig {} cannot be read: {error}", path.display())
        }
        KubeconfigError::Parse(error) => match error.location() {
            Some(at) => format!("the kubeconfig is broken at line {}", at.line()),
            None => "the kubeconfig is broken".to_owned(),
        },
        KubeconfigError::KindMismatch | KubeconfigError::ApiVersionMismatch => {
            "the files of KUBECONFIG do not belong together".to_owned()
        }
        KubeconfigError::MissingClusterUrl | KubeconfigError::ParseClusterUrl(_) => {
            "the cluster of the context has no usable server address".to_owned()
        }
        KubeconfigError::LoadCertificateAuthority(error) => {
            format!("certificate-authority of the kubeconfig: {error}")
        }
        KubeconfigError::LoadClientCertificate(error) => {
            format!("client-certificate of the kubeconfig: {error}")
        }
        KubeconfigError::LoadClientKey(_) => {
            "client-key of the kubeconfig cannot be read".to_owned()
        }
        KubeconfigError::ParseCertificates(_) => {
            "certificate-authority of the kubeconfig holds no certificate in PEM form".to_owned()
        }
        KubeconfigError::ParseProxyUrl(_) | KubeconfigError::ParseNoProxy(_) => {
            "the proxy of the kubeconfig or of the environment has no usable address".to_owned()
        }
        _ => "the kubeconfig cannot be used".to_owned(),
    };
    Trouble::new(
        FetchProblem::Cluster(what),
        "`kubectl config view` with the same flags shows what kubectl makes of it",
    )
}

/// Names in a sentence.
pub(super) fn listed(names: &[&str]) -> String {
    let shown = names[..names.len().min(MAX_LISTED)].join(", ");
    match names.len().saturating_sub(MAX_LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;

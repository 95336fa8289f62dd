//! The options that say how running processes are reached, and what they mean.
//!
//! No option takes a secret itself: what stands on a command line is seen by every user of the
//! machine. `--header @FILE` and the files and variables below are for secrets.

use super::duration::parse_duration;
use super::exit::Exit;
use super::failure::Failure;
use crate::source::remote::{
    Access, Basic, ClusterOptions, FetchError, Object, Process, Target, TlsFiles, Via, connect,
    parse_header, reconnect,
};
use crate::source::{Fetched, Source};
use clap::{Args as ClapArgs, ValueEnum};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `user:password` of basic authentication.
const BASIC_VARIABLE: &str = "HEAPDRIFT_BASIC_AUTH";
/// No header or token file needs more.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// How a server is asked.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Fetching")]
pub(super) struct Fetching {
    /// A header for the target, as `Name: value`; @FILE reads headers from a file. May be repeated.
    #[arg(long, value_name = "HEADER")]
    header: Vec<String>,
    /// A file with a bearer token; read anew for each snapshot.
    #[arg(long, value_name = "FILE", env = "HEAPDRIFT_BEARER_TOKEN_FILE")]
    bearer_token_file: Option<PathBuf>,
    /// A file with user:password [or the variable HEAPDRIFT_BASIC_AUTH].
    #[arg(long, value_name = "FILE")]
    basic_auth_file: Option<PathBuf>,
    /// Certificates (PEM) of authorities to trust instead of the system's.
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Client certificate (PEM), perhaps with its key.
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// Key of the client certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Do not check the server's certificate.
    #[arg(long)]
    insecure: bool,
    /// Time for one answer.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    timeout: Duration,
    /// Further tries after one that failed for a reason that may pass.
    #[arg(long, value_name = "N", default_value_t = 3)]
    retries: usize,
    /// Prometheus metrics of the process: a path on the same server, a URL, or :PORT/PATH of a pod. Gives its resident memory.
    #[arg(long, value_name = "PATH")]
    metrics: Option<String>,
}

/// How a cluster is reached, with kubectl's names.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Kubernetes")]
pub(super) struct Cluster {
    /// Namespace of the pods [default: that of the context].
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Pods with these labels, such as app=api.
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
    /// Container of the pods.
    #[arg(short, long, value_name = "NAME")]
    container: Option<String>,
    /// Port of pprof, a number or a name [default: the port named pprof, else 6060].
    #[arg(long, value_name = "PORT")]
    port: Option<String>,
    /// Context of the kubeconfig.
    #[arg(long, value_name = "CONTEXT")]
    context: Option<String>,
    /// Kubeconfig file.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Act as this user.
    #[arg(long = "as", value_name = "USER")]
    impersonate: Option<String>,
    /// How requests get to the pod.
    #[arg(long, value_enum, default_value = "port-forward", value_name = "WAY")]
    via: ViaArg,
    /// The pod serves pprof over TLS.
    #[arg(long)]
    pod_tls: bool,
    /// Name on the certificate of the pod [default: localhost]; implies --pod-tls.
    #[arg(long, value_name = "NAME")]
    pod_server_name: Option<String>,
    /// Where pprof is in the pod [default: /debug/pprof/].
    #[arg(long, value_name = "PATH")]
    pprof_path: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ViaArg {
    /// Into the pod's network: reaches localhost, needs the right to pods/portforward.
    PortForward,
    /// The API server dials the pod: needs the right to pods/proxy.
    ApiProxy,
}

impl Fetching {
    /// What the options mean; `max_bytes` bounds one answer.
    pub(super) fn access(&self, max_bytes: u64) -> Result<Access, Failure> {
        let mut access = Access {
            bearer_token_file: self.bearer_token_file.clone(),
            tls: TlsFiles {
                cacert: self.cacert.clone(),
                cert: self.cert.clone(),
                key: self.key.clone(),
                insecure: self.insecure,
            },
            timeout: self.timeout,
            max_bytes,
            retries: self.retries,
            ..Access::default()
        };
        for text in &self.header {
            for line in header_lines(text)? {
                let (name, value) = parse_header(&line).map_err(|error| {
                    let hint = "--header 'X-Api-Key: ...', or --header @FILE with one a line";
                    Failure::new(Exit::Usage, format!("--header: {error}"), hint)
                })?;
                access.headers.append(name, value);
            }
        }
        access.basic = self.basic()?;
        Ok(access)
    }

    fn basic(&self) -> Result<Option<Basic>, Failure> {
        let (text, origin) = match &self.basic_auth_file {
            Some(path) => (read_secret(path)?, path.display().to_string()),
            None => match std::env::var(BASIC_VARIABLE) {
                Ok(text) if !text.is_empty() => (text, BASIC_VARIABLE.to_owned()),
                _ => return Ok(None),
            },
        };
        let basic = Basic::parse(&text).map_err(|error| {
            let hint = "one line with user:password";
            Failure::new(Exit::Usage, format!("{origin}: {error}"), hint)
        })?;
        Ok(Some(basic))
    }

    /// What the user should know of these options.
    pub(super) fn warnings(&self) -> Vec<String> {
        let insecure = self.insecure.then(|| {
            "--insecure: anyone on the way may read what is sent and change what comes".to_owned()
        });
        insecure.into_iter().collect()
    }
}

/// The headers of a `--header` value.
fn header_lines(text: &str) -> Result<Vec<String>, Failure> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(vec![text.to_owned()]);
    };
    let text = read_secret(Path::new(path))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}

fn read_secret(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_SECRET_BYTES).read_to_string(&mut text))
        .map_err(|error| {
            let hint = "check the path and its permissions";
            Failure::new(Exit::Usage, format!("{}: {error}", path.display()), hint)
        })?;
    Ok(text)
}

impl Cluster {
    pub(super) fn options(&self) -> ClusterOptions {
        ClusterOptions {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            namespace: self.namespace.clone(),
            impersonate: self.impersonate.clone(),
            container: self.container.clone(),
            port: self.port.clone(),
            via: match self.via {
                ViaArg::PortForward => Via::PortForward,
                ViaArg::ApiProxy => Via::ApiProxy,
            },
            pod_tls: self.pod_tls,
            pod_server_name: self.pod_server_name.clone(),
            path: self.pprof_path.clone(),
        }
    }

    /// The pods of `-l`.
    pub(super) fn selected(&self) -> Option<Target> {
        let selector = self.selector.as_ref()?;
        Some(Target::Kubernetes(Object::of_selector(selector.clone())))
    }
}

/// The way to processes, from the options.
pub(super) struct Connector {
    pub(super) access: Access,
    cluster: ClusterOptions,
    metrics: Option<String>,
}

impl Connector {
    /// Reads what the options name; says what the user should know.
    pub(super) fn new(
        fetching: &Fetching,
        cluster: &Cluster,
        max_bytes: u64,
    ) -> Result<Self, Failure> {
        for warning in fetching.warnings() {
            super::failure::warn(&warning);
        }
        Ok(Self {
            access: fetching.access(max_bytes)?,
            cluster: cluster.options(),
            metrics: fetching.metrics.clone(),
        })
    }

    /// The processes of a target.
    pub(super) async fn connect(&self, target: &Target) -> Result<Vec<Process>, Failure> {
        for dropped in target.dropped() {
            super::failure::warn(&format!(
                "{target}: `{dropped}=` is left out of the address; heapdrift asks for whole snapshots"
            ));
        }
        let metrics = self.metrics.as_deref();
        Ok(connect(target, &self.access, metrics, &self.cluster).await?)
    }

    /// The processes of a target that are not among the known ones.
    pub(super) async fn reconnect(
        &self,
        target: &Target,
        known: &[&Process],
    ) -> Result<Vec<Process>, FetchError> {
        let metrics = self.metrics.as_deref();
        reconnect(target, &self.access, metrics, &self.cluster, known).await
    }

    /// Takes a snapshot of everything among the sources that runs, each of which must be one
    /// process.
    pub(super) fn fetch_each(&self, sources: Vec<Source>) -> Result<Vec<Source>, Failure> {
        let mut fetched = Vec::new();
        for source in sources {
            let name = source.to_string();
            let mut one = self.fetch(vec![source])?;
            match (one.pop(), one.len()) {
                (Some(source), 0) => fetched.push(source),
                (_, more) => {
                    return Err(Failure::new(
                        Exit::Usage,
                        format!("{name}: {} processes where one is needed", more + 1),
                        "name one pod; `heapdrift diagnose` and `watch` take several",
                    ));
                }
            }
        }
        Ok(fetched)
    }

    /// Takes a snapshot of everything among the sources that runs.
    pub(super) fn fetch(&self, sources: Vec<Source>) -> Result<Vec<Source>, Failure> {
        if !sources
            .iter()
            .any(|source| matches!(source, Source::Remote(_)))
        {
            return Ok(sources);
        }
        runtime()?.block_on(async {
            let mut fetched = Vec::new();
            for source in sources {
                match source {
                    Source::Remote(target) => fetched.extend(self.fetch_one(&target).await?),
                    other => fetched.push(other),
                }
            }
            Ok(fetched)
        })
    }

    async fn fetch_one(&self, target: &Target) -> Result<Vec<Source>, Failure> {
        let mut sources = Vec::new();
        for mut process in self.connect(target).await? {
            let captured = process.take().await?;
            for (kind, error) in &captured.missing {
                super::failure::warn(&format!("no {}: {error}", kind.name()));
            }
            let files = captured.files.into_iter();
            sources.push(Source::Fetched(Fetched {
                name: process.name().to_owned(),
                files: files.map(|file| (file.kind.suffix(), file.bytes)).collect(),
            }));
        }
        Ok(sources)
    }
}

/// Understands arguments that must name processes.
pub(super) fn parse_targets(
    arguments: &[OsString],
    cluster: &Cluster,
) -> Result<Vec<Target>, Failure> {
    let mut targets = Vec::new();
    for argument in arguments {
        targets.push(parse_target(argument)?);
    }
    targets.extend(cluster.selected());
    Ok(targets)
}

fn parse_target(argument: &OsStr) -> Result<Target, Failure> {
    let text = argument.to_string_lossy();
    match Target::parse(&text) {
        Some(target) => target.map_err(|error| {
            let hint = error.hint();
            Failure::new(Exit::Usage, error.to_string(), hint)
        }),
        None => Err(Failure::new(
            Exit::Usage,
            // It may be a mistyped address that holds a password.
            format!("{}: not a target", Target::shown(&text)),
            "a TARGET is a URL such as http://localhost:6060, unix:/path, pod/NAME or deploy/NAME; `heapdrift diagnose` reads files",
        )),
    }
}

/// One thread is enough to wait for the network.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            let message = format!("the network cannot be used: {error}");
            Failure::new(Exit::NotComparable, message, "")
        })
}

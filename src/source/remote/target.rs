//! What a TARGET names: the base URL of a pprof endpoint, a Unix socket, or pods.
//!
//! Knows how targets are written. Must not know how they are reached.

use percent_encoding::percent_decode_str;
use reqwest::Url;
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Where net/http/pprof is found unless the user says otherwise.
pub(super) const DEFAULT_PATH: &str = "/debug/pprof/";

/// A TARGET argument, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `http://` or `https://`.
    Url(Endpoint),
    /// `unix:/path`, or `unix:/path:/prefix/` where the endpoint is not at `/debug/pprof/`.
    Unix {
        /// The socket.
        socket: PathBuf,
        /// With a host that is only there because HTTP wants one.
        endpoint: Endpoint,
    },
    /// `pod/NAME`, a workload, or a selector.
    Kubernetes(Object),
}

/// A base URL below which the profiles are.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Ends in `/`; without user, query and fragment.
    pub(super) base: Url,
    /// `name=value` pairs of the user that go along with each request. May hold secrets.
    pub(super) query: Vec<(String, String)>,
    /// `user:password` of the URL. A secret.
    pub(super) user: Option<(String, String)>,
    /// Parameters that were left out because they would change what a profile is.
    pub(super) dropped: Vec<String>,
}

/// Kubernetes objects that stand for processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What is named.
    pub name: ObjectName,
    /// `:PORT` behind the name: a number, or the name of a container port.
    pub port: Option<String>,
}

/// How pods are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectName {
    /// One pod.
    Pod(String),
    /// All pods of a workload or service.
    Workload(WorkloadKind, String),
    /// All pods that a label selector chooses.
    Selector(String),
}

/// Kinds of objects that choose pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkloadKind {
    /// apps/v1 Deployment.
    Deployment,
    /// apps/v1 StatefulSet.
    StatefulSet,
    /// apps/v1 DaemonSet.
    DaemonSet,
    /// apps/v1 ReplicaSet.
    ReplicaSet,
    /// batch/v1 Job.
    Job,
    /// v1 Service.
    Service,
}

/// A text that looks like a TARGET and is none. Messages hold no credentials.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TargetError {
    /// It cannot be parsed.
    #[error("{url}: {reason}")]
    Url {
        /// As given, without what may be secret.
        url: String,
        /// The parser's words.
        reason: String,
    },
    /// A URL of another kind of profile.
    #[error("{url}: this is the address of {what}")]
    OtherProfile {
        /// Without what may be secret.
        url: String,
        /// `a CPU profile`, `an execution trace`.
        what: &'static str,
    },
    /// `unix:` with no absolute path.
    #[error("unix:{path}: not an absolute path of a socket")]
    Socket {
        /// As given.
        path: String,
    },
    /// `pod/NAME:PORT` with a port that is none.
    #[error("{target}: {port:?} is no port")]
    Port {
        /// As given.
        target: String,
        /// What follows the colon.
        port: String,
    },
}

impl TargetError {
    /// One sentence on what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Url { .. } => "write http://HOST:PORT, or the address of /debug/pprof/",
            Self::OtherProfile { .. } => {
                "heapdrift reads heap and goroutine profiles: give the address of /debug/pprof/ or /debug/pprof/heap"
            }
            Self::Socket { .. } => "write unix:/run/app.sock",
            Self::Port { .. } => {
                "a port is a number from 1 to 65535 or the name of a container port"
            }
        }
    }
}

impl Target {
    /// A text that may be an address, without what may be secret in one.
    pub fn shown(text: &str) -> String {
        without_secrets(text)
    }

    /// Understands a text that is a target; `None`: it is none.
    pub fn parse(text: &str) -> Option<Result<Self, TargetError>> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        if scheme.is_some_and(|scheme| {
            scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
        }) {
            return Some(Endpoint::parse(text).map(Self::Url));
        }
        if let Some(rest) = text.strip_prefix("unix:") {
            return Some(parse_socket(rest));
        }
        Object::parse(text).map(|object| object.map(Self::Kubernetes))
    }
}

impl Target {
    /// Whether processes may come to be named by it later: pods of a workload do.
    pub fn may_gain(&self) -> bool {
        match self {
            Self::Url(_) | Self::Unix { .. } => false,
            Self::Kubernetes(object) => !matches!(object.name, ObjectName::Pod(_)),
        }
    }

    /// Parameters of the URL that heapdrift does not send along: they would change what a
    /// profile is.
    pub fn dropped(&self) -> &[String] {
        match self {
            Self::Url(endpoint) | Self::Unix { endpoint, .. } => &endpoint.dropped,
            Self::Kubernetes(_) => &[],
        }
    }
}

impl fmt::Display for Target {
    /// Without anything that may be secret.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Url(endpoint) => endpoint.fmt(f),
            Self::Unix { socket, .. } => write!(f, "unix:{}", socket.display()),
            Self::Kubernetes(object) => object.fmt(f),
        }
    }
}

impl Endpoint {
    /// Understands the `http(s)` address of an endpoint, or of a profile below it.
    pub(super) fn parse(text: &str) -> Result<Self, TargetError> {
        let mut endpoint = Self::exact(text)?;
        let path = base_path(endpoint.base.path()).map_err(|what| TargetError::OtherProfile {
            url: without_secrets(text),
            what,
        })?;
        endpoint.base.set_path(&path);
        let (dropped, query) = endpoint.query.into_iter().partition(|(name, _)| {
            // These say which form of a profile is wanted, and heapdrift asks for its own;
            // `seconds` would turn a snapshot into a difference.
            matches!(name.as_str(), "seconds" | "debug" | "gc")
        });
        let dropped: Vec<(String, String)> = dropped;
        endpoint.query = query;
        endpoint.dropped = dropped.into_iter().map(|(name, _)| name).collect();
        Ok(endpoint)
    }

    /// Understands an `http(s)` URL that is the address itself.
    pub(super) fn exact(text: &str) -> Result<Self, TargetError> {
        let mut url = Url::parse(text).map_err(|error| TargetError::Url {
            url: without_secrets(text),
            reason: error.to_string(),
        })?;
        let user = (!url.username().is_empty() || url.password().is_some()).then(|| {
            let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
            (
                decode(url.username()),
                decode(url.password().unwrap_or_default()),
            )
        });
        // An http URL always has a place for a user; the result says nothing.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_fragment(None);
        let query = url.query_pairs().into_owned().collect();
        url.set_query(None);
        Ok(Self {
            base: url,
            query,
            user,
            dropped: Vec::new(),
        })
    }

    /// The address of a profile such as `heap`, or of an absolute path on the same server;
    /// without the user's own parameters.
    pub(super) fn url_of(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        match path.starts_with('/') {
            true => url.set_path(path),
            false => url.set_path(&format!("{}{path}", self.base.path())),
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// Values of the user's own parameters, as they are and as they stand in an address: any may
    /// be a secret.
    pub(super) fn query_values(&self) -> Vec<String> {
        let url = self.with_user_query(self.base.clone());
        let encoded = url.query().unwrap_or_default().split('&');
        let encoded = encoded.filter_map(|pair| Some(pair.split_once('=')?.1.to_owned()));
        let plain = self.query.iter().map(|(_, value)| value.clone());
        plain.chain(encoded).collect()
    }

    /// The address with the user's own parameters: may hold secrets, for requests only.
    pub(super) fn with_user_query(&self, mut url: Url) -> Url {
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }
}

impl fmt::Display for Endpoint {
    /// The usual path goes without saying. Values of parameters are not shown: any may be a
    /// token.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let base = self.base.as_str();
        f.write_str(base.strip_suffix(DEFAULT_PATH).unwrap_or(base))?;
        for (index, (name, _)) in self.query.iter().enumerate() {
            let mark = if index == 0 { '?' } else { '&' };
            write!(f, "{mark}{name}=***")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

/// The directory of the profiles, from the path that the user gave.
fn base_path(path: &str) -> Result<String, &'static str> {
    if path.is_empty() || path == "/" {
        return Ok(DEFAULT_PATH.to_owned());
    }
    let (directory, last) = match path.rsplit_once('/') {
        Some((directory, last)) => (format!("{directory}/"), last),
        None => ("/".to_owned(), path),
    };
    match last {
        "" => Ok(path.to_owned()),
        "heap" | "allocs" | "goroutine" | "goroutineleak" | "block" | "mutex" | "threadcreate"
        | "cmdline" | "symbol" => Ok(directory),
        "profile" => Err("a CPU profile"),
        "trace" => Err("an execution trace"),
        _ => Ok(format!("{path}/")),
    }
}

/// `PATH` or `PATH:/prefix/` behind `unix:`.
fn parse_socket(text: &str) -> Result<Target, TargetError> {
    // Some write unix:///run/app.sock, as a URL.
    let text = text.strip_prefix("//").unwrap_or(text);
    let (socket, prefix) = match text.split_once(":/") {
        Some((socket, prefix)) => (socket, format!("/{prefix}")),
        None => (text, DEFAULT_PATH.to_owned()),
    };
    if !socket.starts_with('/') || socket.len() < 2 {
        return Err(TargetError::Socket {
            path: text.to_owned(),
        });
    }
    Ok(Target::Unix {
        socket: PathBuf::from(socket),
        endpoint: Endpoint::parse(&format!("http://localhost{prefix}"))?,
    })
}

impl Object {
    /// Understands `KIND/NAME[:PORT]` in kubectl's spellings; `None`: it is something else.
    fn parse(text: &str) -> Option<Result<Self, TargetError>> {
        let (kind, rest) = text.split_once('/')?;
        let kind = kind.to_ascii_lowercase();
        let kind = kind.split('.').next().unwrap_or_default();
        let (name, port) = match rest.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (rest, None),
        };
        if name.is_empty() || name.contains('/') {
            return None;
        }
        let workload = |kind| ObjectName::Workload(kind, name.to_owned());
        let object = match kind {
            "pod" | "pods" | "po" => ObjectName::Pod(name.to_owned()),
            "deploy" | "deployment" | "deployments" => workload(WorkloadKind::Deployment),
            "sts" | "statefulset" | "statefulsets" => workload(WorkloadKind::StatefulSet),
            "ds" | "daemonset" | "daemonsets" => workload(WorkloadKind::DaemonSet),
            "rs" | "replicaset" | "replicasets" => workload(WorkloadKind::ReplicaSet),
            "job" | "jobs" => workload(WorkloadKind::Job),
            "svc" | "service" | "services" => workload(WorkloadKind::Service),
            _ => return None,
        };
        if let Some(port) = port
            && !is_port(port)
        {
            return Some(Err(TargetError::Port {
                target: text.to_owned(),
                port: port.to_owned(),
            }));
        }
        Some(Ok(Self {
            name: object,
            port: port.map(str::to_owned),
        }))
    }

    /// All pods that a label selector chooses.
    pub fn of_selector(selector: impl Into<String>) -> Self {
        Self {
            name: ObjectName::Selector(selector.into()),
            port: None,
        }
    }
}

/// A number, or the name of a container port (at most 15 lower-case letters, digits, hyphens).
fn is_port(text: &str) -> bool {
    match text.parse::<u16>() {
        Ok(number) => number != 0,
        Err(_) => {
            (1..=15).contains(&text.len())
                && text.bytes().any(|byte| byte.is_ascii_lowercase())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.name {
            ObjectName::Pod(name) => write!(f, "pod/{name}")?,
            ObjectName::Workload(kind, name) => write!(f, "{}/{name}", kind.short_name())?,
            ObjectName::Selector(selector) => write!(f, "-l {selector}")?,
        }
        match &self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl WorkloadKind {
    /// As kubectl shortens it.
    pub fn short_name(self) -> &'static str {
        match self {
            Self::Deployment => "deploy",
            Self::StatefulSet => "sts",
            Self::DaemonSet => "ds",
            Self::ReplicaSet => "rs",
            Self::Job => "job",
            Self::Service => "svc",
        }
    }
}

/// A URL that could not be parsed, without user, query and fragment.
fn without_secrets(url: &str) -> String {
    let (front, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    // A password may hold a slash that should have been escaped: all up to the last @ goes.
    let rest = rest.rfind('@').map_or(rest, |at| &rest[at + 1..]);
    format!("{front}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(text: &str) -> Endpoint {
        match Target::parse(text) {
            Some(Ok(Target::Url(endpoint))) => endpoint,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn any_address_of_the_endpoint_will_do() {
        for (text, base) in [
            ("http://api:6060", "http://api:6060/debug/pprof/"),
            ("http://api:6060/", "http://api:6060/debug/pprof/"),
            (
                "http://api:6060/debug/pprof",
                "http://api:6060/debug/pprof/",
            ),
            (
                "http://api/debug/pprof/heap?debug=1",
                "http://api/debug/pprof/",
            ),
            (
                "http://api/debug/pprof/goroutine",
                "http://api/debug/pprof/",
            ),
            ("HTTPS://api/admin/prof/", "https://api/admin/prof/"),
            ("http://[::1]:6060/x/heap", "http://[::1]:6060/x/"),
        ] {
            assert_eq!(endpoint(text).base.as_str(), base, "{text}");
        }
    }

    #[test]
    fn a_difference_is_never_asked_for() {
        let endpoint = endpoint("http://api/debug/pprof/heap?seconds=30&key=v&gc=1");
        assert_eq!(endpoint.dropped, ["seconds", "gc"]);
        let url = endpoint.with_user_query(endpoint.url_of("heap", &[("gc", "1")]));
        assert_eq!(url.as_str(), "http://api/debug/pprof/heap?gc=1&key=v");
    }

    #[test]
    fn nothing_secret_is_shown() {
        let endpoint = endpoint("https://me:s%40cret@api:1/p/?token=secret#secret");
        assert_eq!(endpoint.user, Some(("me".to_owned(), "s@cret".to_owned())));
        assert_eq!(endpoint.to_string(), "https://api:1/p/?token=***");
        assert!(!format!("{endpoint:?}").contains("cret"));
        for broken in [
            "http://me:secret@a b/",
            "http://me:se/cret@api:99999/",
            "http://api:x/?token=secret",
        ] {
            match Target::parse(broken) {
                Some(Err(error)) => assert!(!error.to_string().contains("cret"), "{error}"),
                other => panic!("{broken}: {other:?}"),
            }
        }
    }

    #[test]
    fn other_profiles_are_refused() {
        for (text, expected) in [
            ("http://a/debug/pprof/profile", "a CPU profile"),
            ("http://a/debug/pprof/trace?seconds=5", "an execution trace"),
        ] {
            assert!(matches!(
                Target::parse(text),
                Some(Err(TargetError::OtherProfile { what, .. })) if what == expected
            ));
        }
    }

    #[test]
    fn sockets_have_an_absolute_path() {
        let parsed = |text: &str| Target::parse(text).unwrap();
        for text in ["unix:/run/app.sock", "unix:///run/app.sock"] {
            let target = parsed(text).unwrap();
            assert_eq!(target.to_string(), "unix:/run/app.sock");
        }
        match parsed("unix:/run/app.sock:/admin/pprof/heap").unwrap() {
            Target::Unix { socket, endpoint } => {
                assert_eq!(socket, PathBuf::from("/run/app.sock"));
                assert_eq!(endpoint.base.path(), "/admin/pprof/");
            }
            other => panic!("{other:?}"),
        }
        for text in ["unix:run/app.sock", "unix:", "unix:/"] {
            assert!(
                matches!(parsed(text), Err(TargetError::Socket { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn pods_and_workloads_are_written_as_for_kubectl() {
        for (text, shown) in [
            ("pod/api-0:6060", "pod/api-0:6060"),
            ("po/api-0", "pod/api-0"),
            ("deploy/api", "deploy/api"),
            ("deployment.apps/api:pprof", "deploy/api:pprof"),
            ("StatefulSet/db", "sts/db"),
            ("svc/x", "svc/x"),
        ] {
            match Target::parse(text) {
                Some(Ok(target)) => assert_eq!(target.to_string(), shown, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        for text in ["pod/a:0", "pod/a:99999", "pod/a:", "pod/a:Mixed"] {
            assert!(
                matches!(Target::parse(text), Some(Err(TargetError::Port { .. }))),
                "{text}"
            );
        }
        for text in [
            "pod/a/b",
            "pods/",
            "nothing/here",
            "nothing.pb.gz",
            "ftp://a",
        ] {
            assert!(Target::parse(text).is_none(), "{text}");
        }
    }
}

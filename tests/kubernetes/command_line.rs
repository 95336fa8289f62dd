//! Pods on the command line: `capture`, `watch`, `top` and the plugin of kubectl.

use crate::cluster::{ApiServer, FakePod, Page, PodServer, Trick, User, pprof_page};
use crate::support::profiles::Pprof;
use crate::support::{heapdrift, skipped};
use assert_cmd::Command;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;

const TOKEN: &str = "sesame0123456789";

/// A program that keeps a thousand more objects with each snapshot of a minute later.
fn leaking() -> PodServer {
    let taken = AtomicI64::new(0);
    PodServer::start(Arc::new(move |target: &str| match target {
        "/debug/pprof/heap?gc=1" => {
            let index = taken.fetch_add(1, Ordering::SeqCst);
            let kept = 1000 * (index + 1);
            let heap = Pprof::heap(60 * index)
                .sampled("main.leak < main.main", 65_536, kept, kept)
                .sampled("main.cache < main.main", 65_536, 500, 500);
            Page::ok(heap.gzip())
        }
        target => pprof_page(target),
    }))
}

struct Cluster {
    server: ApiServer,
    directory: TempDir,
    kubeconfig: PathBuf,
}

impl Cluster {
    /// Two pods of the deployment `api`, behind a token.
    fn new() -> Self {
        let server = ApiServer::start();
        for name in ["api-0", "api-1"] {
            // Ends with the process of the tests.
            server.put(FakePod::api(name, leaking().port));
        }
        let by_labels = json!({"matchLabels": {"app": "api"}});
        server.put_workload("apps/v1", "deployments", "api", by_labels);
        server.require_token(TOKEN);
        let directory = tempfile::tempdir().unwrap();
        let user = User::plugin_with_token(TOKEN);
        let kubeconfig = server.write_kubeconfig(directory.path(), &user);
        Self {
            server,
            directory,
            kubeconfig,
        }
    }

    fn run(&self, line: &str) -> Output {
        let mut command = heapdrift();
        command.args(line.split(' '));
        self.finish(command)
    }

    fn finish(&self, mut command: Command) -> Output {
        let output = command
            .current_dir(self.directory.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", self.directory.path())
            .output()
            .unwrap();
        for text in [&output.stdout, &output.stderr] {
            assert!(!String::from_utf8_lossy(text).contains(TOKEN));
        }
        output
    }

    /// Names of the files that were kept of a target, the times cut off.
    fn kept(&self, target: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path().join(target));
        let entries = entries.unwrap_or_else(|error| panic!("{target}: {error}"));
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names
            .map(|name| match name.split_once("Z.") {
                Some((_, kind)) => kind.to_owned(),
                None => name,
            })
            .collect();
        names.sort();
        names
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn capture_keeps_each_pod_of_a_workload() {
    let cluster = Cluster::new();
    let output = cluster.run("capture deploy/api -o out --count 2 --every 200ms");
    assert_eq!(output.status.code(), Some(0), "{:?}", texts(&output));
    for pod in ["out/prod-api-0", "out/prod-api-1"] {
        let kept = cluster.kept(pod);
        let heaps = kept.iter().filter(|name| *name == "heap.pb.gz").count();
        assert_eq!(heaps, 2, "{kept:?}");
        let path = cluster.directory.path().join(pod).join("target.json");
        let about: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(about["pod"]["container"], "app");
        assert_eq!(about["pod"]["memory_limit_bytes"], 512 << 20);
    }
}

#[test]
fn watch_names_the_leak_of_a_pod_a_workload_and_a_selector() {
    let cluster = Cluster::new();
    for (line, pods) in [
        ("watch -n prod pod/api-0:6060", &["out/prod-api-0"][..]),
        ("watch deploy/api", &["out/prod-api-0", "out/prod-api-1"]),
        (
            "watch -n prod -l app=api",
            &["out/prod-api-0", "out/prod-api-1"],
        ),
        ("watch --via api-proxy pod/api-1", &["out/prod-api-1"]),
    ] {
        let out = cluster.directory.path().join("out");
        // There is none before the first.
        let _ = std::fs::remove_dir_all(&out);
        let output = cluster.run(&format!("{line} -o out --every 200ms --count 8"));
        let (stdout, stderr) = texts(&output);
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{stdout}\n{stderr}"
        );
        assert!(stdout.contains("main.leak"), "{line}: {stdout}\n{stderr}");
        for pod in pods {
            assert!(cluster.directory.path().join(pod).is_dir(), "{line}");
        }
    }
}

#[test]
fn a_single_snapshot_of_a_pod_is_read_at_once() {
    let cluster = Cluster::new();
    let output = cluster.run("top pod/api-0");
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stdout.contains("main.leak"), "{stdout}");
}

#[test]
fn what_fails_is_told_with_a_hint() {
    let cluster = Cluster::new();
    let output = cluster.run("capture pod/api-7 -o out --retries 0");
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(
        stderr.contains("there is no pod \"api-7\" in namespace prod"),
        "{stderr}"
    );
    assert!(stderr.contains("did you mean api-0, api-1?"), "{stderr}");
    let trick = Trick::Status(403, "Forbidden", "not\u{1b}[31m allowed");
    cluster.server.trick("/portforward", trick);
    let output = cluster.run("capture pod/api-0 -o out --retries 0");
    let (_, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("pods/portforward"), "{stderr}");
    // Words of the cluster cannot paint the terminal.
    assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
}

/// The program under the name that kubectl looks for.
fn link_plugin(directory: &Path) {
    let program = heapdrift().get_program().to_owned();
    std::os::unix::fs::symlink(program, directory.join("kubectl-heapdrift")).unwrap();
}

#[test]
fn kubectl_runs_it_as_its_plugin() {
    if Command::new("kubectl")
        .arg("version")
        .arg("--client")
        .ok()
        .is_err()
    {
        return skipped("kubectl is not installed: no host for the plugin");
    }
    let cluster = Cluster::new();
    let plugins = cluster.directory.path().join("plugins");
    std::fs::create_dir(&plugins).unwrap();
    link_plugin(&plugins);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(plugins).chain(std::env::split_paths(&path)));
    let kubectl = |line: &str| {
        let mut command = Command::new("kubectl");
        command
            .args(line.split(' '))
            .env("PATH", path.as_ref().unwrap());
        cluster.finish(command)
    };
    let (stdout, _) = texts(&kubectl("heapdrift watch --help"));
    assert!(
        stdout.contains("kubectl heapdrift watch -n prod pod/api-0:6060"),
        "{stdout}"
    );
    let output = kubectl("heapdrift capture -n prod pod/api-0 -o out --count 1");
    assert_eq!(output.status.code(), Some(0), "{:?}", texts(&output));
    assert!(
        cluster
            .kept("out/prod-api-0")
            .contains(&"heap.pb.gz".to_owned())
    );
}

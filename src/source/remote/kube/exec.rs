//! Credentials from a plugin of the kubeconfig (`exec`), as client-go runs it.
//!
//! The client library could run it, but would run it three times a connection and keep what it
//! wrote to its standard error from the user or from us. Knows secrets: what the plugin prints is
//! never shown, of its standard error only the first line is, without what looks like a token.

use super::trouble::Trouble;
use crate::source::remote::error::FetchProblem;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use kube::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// A plugin that asks nobody anything is given up then.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a running plugin is looked at.
const POLL: Duration = Duration::from_millis(20);
/// How long its last words may take to arrive after its end: a child of it may hold the pipe.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// A word of this many letters and digits may be a token.
const SECRET_LENGTH: usize = 24;
const MAX_OUTPUT: u64 = 1 << 20;

/// What a plugin gave.
pub(super) struct Credentials {
    token: Option<String>,
    /// Certificate chain and key, in PEM form.
    certificate: Option<(String, String)>,
    /// When new ones are due; `None`: they do not run out.
    pub(super) expires_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Printed {
    status: Option<PrintedStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PrintedStatus {
    expiration_timestamp: Option<Timestamp>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

impl Credentials {
    /// Puts them where the client library looks for those that the kubeconfig itself holds.
    pub(super) fn store_in(self, user: &mut AuthInfo) {
        user.token = self.token.map(Into::into);
        if let Some((certificate, key)) = self.certificate {
            user.client_certificate_data = Some(BASE64_STANDARD.encode(certificate));
            user.client_key_data = Some(BASE64_STANDARD.encode(key).into());
        }
    }
}

/// Runs a plugin to its end. Blocks.
pub(super) fn run(plugin: &ExecConfig) -> Result<Credentials, Trouble> {
    let Some(name) = plugin.command.as_deref() else {
        return Err(trouble("the kubeconfig names none", plugin));
    };
    // The words of client-go: interactive where there is somebody to ask.
    let is_interactive = match plugin.interactive_mode {
        Some(ExecInteractiveMode::Never) => false,
        _ => std::io::stdin().is_terminal(),
    };
    if plugin.interactive_mode == Some(ExecInteractiveMode::Always) && !is_interactive {
        return Err(trouble(
            "it wants to ask on a terminal, and there is none",
            plugin,
        ));
    }
    let mut command = Command::new(name);
    command.args(plugin.args.iter().flatten());
    for variable in plugin.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    let mut info = serde_json::json!({
        "apiVersion": plugin.api_version,
        "kind": "ExecCredential",
        "spec": {"interactive": is_interactive},
    });
    if plugin.provide_cluster_info
        && let Some(cluster) = &plugin.cluster
        && let Ok(cluster) = serde_json::to_value(cluster)
    {
        info["spec"]["cluster"] = cluster;
    }
    command
        .env("KUBERNETES_EXEC_INFO", info.to_string())
        .stdin(match is_interactive {
            true => Stdio::inherit(),
            false => Stdio::null(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => trouble("it is not installed here", plugin),
        _ => trouble(&format!("it cannot be run: {error}"), plugin),
    })?;
    let printed = collect(child.stdout.take(), false);
    let said = collect(child.stderr.take(), is_interactive);
    let limit = (!is_interactive).then_some(PATIENCE);
    let status = match wait(&mut child, limit) {
        Ok(Some(status)) => status,
        Ok(None) => {
            let what = format!("it did not end within {} s", PATIENCE.as_secs());
            return Err(trouble(&what, plugin));
        }
        Err(error) => {
            return Err(trouble(
                &format!("it cannot be waited for: {error}"),
                plugin,
            ));
        }
    };
    let printed = printed.recv_timeout(LAST_WORDS).unwrap_or_default();
    if !status.success() {
        let said = said.recv_timeout(LAST_WORDS).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let line = said.lines().map(str::trim).find(|line| !line.is_empty());
        let what = match line {
            Some(line) => format!("it failed ({status}): {}", without_secrets(line)),
            None => format!("it failed ({status})"),
        };
        return Err(trouble(&what, plugin));
    }
    read(&printed).map_err(|what| trouble(what, plugin))
}

/// What a plugin printed; an error does not repeat it.
fn read(printed: &[u8]) -> Result<Credentials, &'static str> {
    let printed: Printed =
        serde_json::from_slice(printed).map_err(|_| "it printed no ExecCredential in JSON")?;
    let status = printed.status.ok_or("it printed no status")?;
    let certificate = status.client_certificate_data.zip(status.client_key_data);
    if status.token.is_none() && certificate.is_none() {
        return Err("it gave neither a token nor a certificate");
    }
    Ok(Credentials {
        token: status.token,
        certificate,
        expires_at: status.expiration_timestamp,
    })
}

/// Reads a pipe to its end beside us; `is_shown`: the plugin speaks to the user by it.
fn collect(pipe: Option<impl Read + Send + 'static>, is_shown: bool) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut all = Vec::new();
        let mut chunk = [0; 4096];
        let mut pipe = pipe.map(|pipe| pipe.take(MAX_OUTPUT));
        while let Some(Ok(count @ 1..)) = pipe.as_mut().map(|pipe| pipe.read(&mut chunk)) {
            if is_shown {
                // Nobody may be listening; the plugin goes on.
                let _ = std::io::stderr().write_all(&chunk[..count]);
            }
            all.extend_from_slice(&chunk[..count]);
        }
        // The receiver may have given up.
        let _ = sender.send(all);
    });
    receiver
}

/// `None`: it was stopped because it took too long.
fn wait(
    child: &mut Child,
    limit: Option<Duration>,
) -> std::io::Result<Option<std::process::ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if limit.is_some_and(|limit| started.elapsed() > limit) {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

fn trouble(what: &str, plugin: &ExecConfig) -> Trouble {
    let name = plugin.command.as_deref().unwrap_or("(no command)");
    let advice = match plugin.install_hint.as_deref() {
        Some(hint) if !hint.trim().is_empty() => hint.trim().to_owned(),
        _ => {
            "log in anew with the tool of your cluster; `kubectl auth whoami` runs the same plugin"
                .to_owned()
        }
    };
    let message = format!("the credential plugin {name} of the kubeconfig: {what}");
    Trouble::new(FetchProblem::Credentials(message), advice)
}

/// A line without words that may be tokens: long runs of letters and digits.
fn without_secrets(line: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.+=~".contains(c);
    let mut shown = String::new();
    let mut word = String::new();
    let flush = |word: &mut String, shown: &mut String| {
        match word.len() >= SECRET_LENGTH && word.contains(|c: char| c.is_ascii_digit()) {
            true => shown.push_str("***"),
            false => shown.push_str(word),
        }
        word.clear();
    };
    for c in line.chars().take(MAX_LINE) {
        match is_part(c) {
            true => word.push(c),
            false => {
                flush(&mut word, &mut shown);
                shown.push(c);
            }
        }
    }
    flush(&mut word, &mut shown);
    shown
}

/// Characters of a line that are shown.
const MAX_LINE: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(script: &str) -> ExecConfig {
        ExecConfig {
            command: Some("sh".to_owned()),
            args: Some(vec!["-c".to_owned(), script.to_owned()]),
            interactive_mode: Some(ExecInteractiveMode::Never),
            ..ExecConfig::default()
        }
    }

    fn failure(script: &str) -> String {
        match run(&plugin(script)) {
            Err(trouble) => trouble.problem.to_string(),
            Ok(_) => panic!("{script} gave credentials"),
        }
    }

    #[test]
    fn a_plugin_gives_a_token_or_a_certificate() {
        let given = run(&plugin(
            r#"echo '{"status": {"token": "sesame", "expirationTimestamp": "2026-11-30T10:00:00Z"}}'"#,
        ));
        let given = given.ok().unwrap();
        assert_eq!(given.token.as_deref(), Some("sesame"));
        assert_eq!(given.expires_at, "2026-11-30T10:00:00Z".parse().ok());
        let given = run(&plugin(
            r#"echo '{"status": {"clientCertificateData": "C", "clientKeyData": "K"}}'"#,
        ));
        let mut user = AuthInfo::default();
        given.ok().unwrap().store_in(&mut user);
        assert_eq!(user.client_certificate_data.as_deref(), Some("Qw=="));
    }

    #[test]
    fn it_is_told_what_client_go_would_tell_it() {
        let mut plugin = plugin(
            r#"echo '{"status": {"token": "'"$WHO $(echo $KUBERNETES_EXEC_INFO | tr -d '"{}')"'"}}'"#,
        );
        plugin.api_version = Some("client.authentication.k8s.io/v1".to_owned());
        plugin.env = Some(vec![
            [("name", "WHO"), ("value", "me")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        ]);
        let token = run(&plugin).ok().unwrap().token.unwrap();
        assert_eq!(
            token,
            "me apiVersion:client.authentication.k8s.io/v1,kind:ExecCredential,spec:interactive:false"
        );
    }

    #[test]
    fn a_failure_is_told_in_the_plugins_words_without_tokens() {
        let told = failure(
            "echo; echo 'session over: eyJhbGciOiJSUzI1NiJ9.e30.c2ln now' >&2; echo more >&2; exit 3",
        );
        assert!(told.contains("session over: *** now"), "{told}");
        assert!(told.contains("exit status: 3"), "{told}");
        assert!(!told.contains("more"), "{told}");
        let told = failure("echo '{\"status\": {\"token\": 1, \"x\": \"sesame\"}}'");
        assert!(told.contains("no ExecCredential"), "{told}");
        assert!(!told.contains("sesame"), "{told}");
        assert!(failure("echo '{}'").contains("no status"));
        assert!(failure("echo '{\"status\": {}}'").contains("neither"));
    }

    #[test]
    fn a_plugin_that_is_not_there_is_told_with_its_hint() {
        let plugin = ExecConfig {
            command: Some("no-such-plugin".to_owned()),
            install_hint: Some("install it\n".to_owned()),
            ..ExecConfig::default()
        };
        let trouble = run(&plugin).err().unwrap();
        assert!(trouble.problem.to_string().contains("not installed here"));
        assert_eq!(trouble.advice, "install it");
    }
}

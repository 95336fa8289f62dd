//! A headless Chromium, driven over the DevTools protocol on a pair of pipes.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Names under which Chromium is installed.
const BINARIES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// How a page is looked at.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub width: u32,
    pub is_dark: bool,
    pub has_script: bool,
}

pub struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next_id: u64,
    /// Session of the tab.
    session: Option<String>,
    /// Events since the last page was opened.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// None where there is no Chromium.
    pub fn start() -> Option<Self> {
        let is_there = |name: &&&str| {
            let version = Command::new(name).arg("--version").output();
            version.is_ok_and(|output| output.status.success())
        };
        let binary = BINARIES.iter().find(is_there)?;
        let profile = tempfile::tempdir().unwrap();
        // The protocol is spoken on descriptors 3 and 4, which a shell can make of 0 and 1.
        let line = format!(
            "exec {binary} --headless --no-sandbox --disable-gpu --hide-scrollbars \
             --disable-background-networking --no-first-run --remote-debugging-pipe \
             --user-data-dir=\"$1\" about:blank 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"
        );
        let mut process = Command::new("sh")
            .args(["-c", &line, "sh"])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut browser = Self {
            to: process.stdin.take().unwrap(),
            from: BufReader::new(process.stdout.take().unwrap()),
            process,
            next_id: 0,
            session: None,
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let id = &target["targetId"];
        let attached = browser.call(
            "Target.attachToTarget",
            json!({"targetId": id, "flatten": true}),
        );
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path, view: View) {
        let scheme = if view.is_dark { "dark" } else { "light" };
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": view.width, "height": 900, "deviceScaleFactor": 1, "mobile": false}),
        );
        self.call(
            "Emulation.setEmulatedMedia",
            json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}),
        );
        self.call(
            "Emulation.setScriptExecutionDisabled",
            json!({"value": !view.has_script}),
        );
        self.events.clear();
        let url = format!("file://{}", file.canonicalize().unwrap().display());
        self.call("Page.navigate", json!({"url": url}));
        while !self
            .events
            .iter()
            .any(|event| event["method"] == "Page.loadEventFired")
        {
            let message = self.read();
            self.events.push(message);
        }
    }

    /// The value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let arguments =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", arguments);
        assert!(
            result.get("exceptionDetails").is_none(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// The whole page as PNG, base64.
    pub fn screenshot(&mut self) -> String {
        let arguments = json!({"format": "png", "captureBeyondViewport": true});
        let shot = self.call("Page.captureScreenshot", arguments);
        shot["data"].as_str().unwrap().to_owned()
    }

    /// The top of the page as PNG, base64: so many pixels of the page, drawn at a scale.
    pub fn screenshot_of_top(&mut self, width: u32, height: u32, scale: f64) -> String {
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": scale});
        let arguments = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let shot = self.call("Page.captureScreenshot", arguments);
        shot["data"].as_str().unwrap().to_owned()
    }

    /// What a page must not cause: errors, violated policies, dialogs, requests for anything but itself.
    pub fn complaints(&self) -> Vec<String> {
        let is_bad =
            |event: &&Value| {
                let params = &event["params"];
                match event["method"].as_str().unwrap_or("") {
                    "Runtime.exceptionThrown" | "Page.javascriptDialogOpening" => true,
                    "Runtime.consoleAPICalled" => ["error", "warning", "assert"]
                        .contains(&params["type"].as_str().unwrap_or("")),
                    "Log.entryAdded" => ["error", "warning"]
                        .contains(&params["entry"]["level"].as_str().unwrap_or("")),
                    "Network.requestWillBeSent" => params["type"] != "Document",
                    _ => false,
                }
            };
        self.events
            .iter()
            .filter(is_bad)
            .map(Value::to_string)
            .collect()
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let mut message = json!({"id": self.next_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(message.to_string().as_bytes()).unwrap();
        self.to.write_all(b"\0").unwrap();
        self.to.flush().unwrap();
        loop {
            let message = self.read();
            if message["id"] == self.next_id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        bytes.pop();
        assert!(!bytes.is_empty(), "Chromium has gone");
        serde_json::from_slice(&bytes).unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends by itself when its pipe closes; nothing is left to wait for if it is gone.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

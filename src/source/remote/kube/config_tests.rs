//! Which cluster a kubeconfig and an environment lead to.

use super::*;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

fn kubeconfig(context: &str, server: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": format!("{context}-cluster"), "cluster": {"server": server}}],
        "users": [{"name": "me", "user": {"token": "sesame"}}],
        "contexts": [{
            "name": context,
            "context": {"cluster": format!("{context}-cluster"), "user": "me", "namespace": "prod"},
        }],
        "current-context": context,
    })
}

fn write(directory: &TempDir, name: &str, content: &str) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    path
}

fn load_now(options: &ClusterOptions, surroundings: &Surroundings) -> Result<Settings, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let loaded = runtime.block_on(load(options, surroundings));
    loaded.map_err(|trouble| format!("{}. {}", trouble.problem, trouble.advice))
}

fn of_file(path: &Path) -> ClusterOptions {
    ClusterOptions {
        kubeconfig: Some(path.to_owned()),
        ..ClusterOptions::default()
    }
}

fn refusal(options: &ClusterOptions) -> String {
    match load_now(options, &Surroundings::default()) {
        Ok(_) => panic!("{options:?} was taken"),
        Err(told) => told,
    }
}

#[test]
fn files_are_found_as_kubectl_finds_them() {
    let home = tempfile::tempdir().unwrap();
    write(
        &home,
        ".kube/config",
        &kubeconfig("home", "https://home:1").to_string(),
    );
    let one = write(
        &home,
        "one",
        &kubeconfig("one", "https://one:1").to_string(),
    );
    let two = write(
        &home,
        "two",
        &kubeconfig("two", "https://two:1").to_string(),
    );
    let mut surroundings = Surroundings {
        home: Some(home.path().to_owned()),
        ..Surroundings::default()
    };
    let server = |options: &ClusterOptions, surroundings: &Surroundings| {
        let settings = load_now(options, surroundings).unwrap();
        settings.config.cluster_url.host().unwrap().to_owned()
    };
    let none = ClusterOptions::default();
    assert_eq!(server(&none, &surroundings), "home");
    // Files of the list need not be there; the first current context wins.
    let list = [home.path().join("none"), one, two.clone()];
    surroundings.kubeconfig = Some(std::env::join_paths(list).unwrap());
    assert_eq!(server(&none, &surroundings), "one");
    let other = ClusterOptions {
        context: Some("two".to_owned()),
        ..ClusterOptions::default()
    };
    assert_eq!(server(&other, &surroundings), "two");
    assert_eq!(server(&of_file(&two), &surroundings), "two");
    surroundings.kubeconfig = Some(OsString::new());
    assert_eq!(server(&none, &surroundings), "home");
}

#[test]
fn options_win_over_the_context() {
    let home = tempfile::tempdir().unwrap();
    let path = write(&home, "config", &kubeconfig("a", "https://a:1").to_string());
    let settings = load_now(&of_file(&path), &Surroundings::default()).unwrap();
    assert_eq!(settings.namespace, "prod");
    assert_eq!(settings.config.auth_info.impersonate, None);
    let options = ClusterOptions {
        namespace: Some("test".to_owned()),
        impersonate: Some("somebody".to_owned()),
        ..of_file(&path)
    };
    let settings = load_now(&options, &Surroundings::default()).unwrap();
    assert_eq!(settings.namespace, "test");
    let user = settings.config.auth_info.impersonate;
    assert_eq!(user.as_deref(), Some("somebody"));
}

#[test]
fn what_is_missing_is_told() {
    let home = tempfile::tempdir().unwrap();
    let told = load_now(
        &ClusterOptions::default(),
        &Surroundings {
            home: Some(home.path().to_owned()),
            ..Surroundings::default()
        },
    );
    let told = told.err().unwrap();
    assert!(told.contains("no cluster is configured"), "{told}");
    assert!(
        told.contains("config") && told.contains("KUBECONFIG"),
        "{told}"
    );

    let told = refusal(&of_file(&home.path().join("none")));
    assert!(told.contains("cannot be read"), "{told}");

    let mut object = kubeconfig("a", "https://a:1");
    object["current-context"] = "".into();
    let path = write(&home, "config", &object.to_string());
    let told = refusal(&of_file(&path));
    assert!(told.contains("no current context"), "{told}");
    assert!(told.contains("--context takes one of: a"), "{told}");

    let told = refusal(&ClusterOptions {
        context: Some("b".to_owned()),
        ..of_file(&path)
    });
    assert!(told.contains("no context \"b\""), "{told}");
    assert!(told.contains("--context takes one of: a"), "{told}");

    object["current-context"] = "a".into();
    object["clusters"] = json!([]);
    let path = write(&home, "config", &object.to_string());
    let told = refusal(&of_file(&path));
    assert!(told.contains("names the cluster \"a-cluster\""), "{told}");
}

#[test]
fn a_broken_file_is_told_without_its_text() {
    let home = tempfile::tempdir().unwrap();
    for text in [
        "users:\n- name: me\n  user: {token: [sesame\n",
        "users: sesame\n",
    ] {
        let path = write(&home, "config", text);
        let told = refusal(&of_file(&path));
        assert!(told.contains("broken"), "{told}");
        assert!(!told.contains("sesame"), "{told}");
    }
}

#[test]
fn a_plugin_is_run_only_where_nothing_else_says_who_we_are() {
    let home = tempfile::tempdir().unwrap();
    let mut object = kubeconfig("a", "https://a:1");
    object["users"][0]["user"]["exec"] = json!({"command": "plugin"});
    let path = write(&home, "config", &object.to_string());
    let settings = load_now(&of_file(&path), &Surroundings::default()).unwrap();
    assert!(settings.plugin.is_none());
    object["users"][0]["user"]["token"] = Value::Null;
    let path = write(&home, "config", &object.to_string());
    let settings = load_now(&of_file(&path), &Surroundings::default()).unwrap();
    assert_eq!(settings.plugin.unwrap().command.as_deref(), Some("plugin"));
    assert!(settings.config.auth_info.exec.is_none());
}

#[test]
fn proxies_follow_gos_rules() {
    let proxies = Proxies {
        http: "plain:1".to_owned(),
        https: "http://tls:2".to_owned(),
        none_for: "internal,10.0.0.0/8".to_owned(),
    };
    let proxy = |own: Option<&str>, server: &str| {
        let cluster = Cluster {
            proxy_url: own.map(str::to_owned),
            ..Cluster::default()
        };
        let found = proxy_of(&cluster, &server.parse().unwrap(), &proxies);
        found.unwrap().map(|url| url.to_string())
    };
    for (own, server, expected) in [
        (None, "https://api:6443", Some("http://tls:2/")),
        (None, "http://api:8080", Some("http://plain:1/")),
        (None, "https://api.internal", None),
        (None, "https://10.1.2.3", None),
        (None, "https://127.0.0.1:6443", None),
        (None, "https://[::1]:6443", None),
        (None, "http://localhost", None),
        // That of the kubeconfig is for this cluster, whatever the environment exempts.
        (
            Some("socks5h://s:3"),
            "https://api.internal",
            Some("socks5://s:3/"),
        ),
        (Some(""), "https://api.internal", None),
    ] {
        assert_eq!(proxy(own, server).as_deref(), expected, "{own:?} {server}");
    }
    let cluster = Cluster {
        proxy_url: Some("http://me:sesame@a b".to_owned()),
        ..Cluster::default()
    };
    let wrong = proxy_of(&cluster, &"https://api".parse().unwrap(), &proxies).unwrap_err();
    assert!(!format!("{wrong:?}").contains("sesame"), "{wrong:?}");
}

#[test]
fn long_lists_are_cut() {
    let names: Vec<String> = (0..12).map(|index| format!("c{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(listed(&names).ends_with("c9 and 2 more"));
}

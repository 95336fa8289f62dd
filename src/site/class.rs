//! Whose code a frame is, and which frames never carry blame by themselves.

use super::names::package_of;
use regex::Regex;
use std::sync::LazyLock;

/// Whose code a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameClass {
    /// The Go runtime.
    Runtime,
    /// The standard library.
    Standard,
    /// A module of somebody else.
    Dependency,
    /// The program's own module.
    Application,
}

/// First elements of the standard library's import paths.
const STANDARD_ROOTS: &[&str] = &[
    "archive",
    "bufio",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "database",
    "debug",
    "embed",
    "encoding",
    "errors",
    "expvar",
    "flag",
    "fmt",
    "go",
    "hash",
    "html",
    "image",
    "index",
    "internal",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "plugin",
    "reflect",
    "regexp",
    "runtime",
    "slices",
    "sort",
    "strconv",
    "strings",
    "structs",
    "sync",
    "syscall",
    "testing",
    "text",
    "time",
    "unicode",
    "unique",
    "unsafe",
    "weak",
];

/// Producers: they allocate for whoever called them (statistics.md §7.1).
static TRANSPARENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(io|io/ioutil|bufio|bytes|strings|strconv|fmt|maps|slices|sort|sync|unique|reflect|internal/[\w/]+|encoding/[\w/]+|container/\w+)\.",
        r"|^(runtime|internal/runtime/\w+)\.",
        r"|^github\.com/(json-iterator/go|modern-go/reflect2|gogo/protobuf|golang/protobuf|tidwall|bytedance/sonic)\b",
        r"|^google\.golang\.org/protobuf/",
        r"|^(gopkg\.in/yaml|sigs\.k8s\.io/yaml|sigs\.k8s\.io/json|go\.yaml\.in/yaml)\b",
        r"|\.(Unm|M)arshal\w*$",
        r"|\.DeepCopy(Into|Object)?$",
        r"|\.With(Values|Name|Fields?|Attrs|Group|CallDepth)?$",
        r"|\.[cC]lone$",
    ))
    .expect("a constant expression")
});

/// Tells frames apart; holds what the user said about the program's own module.
#[derive(Debug, Clone, Default)]
pub struct Classifier {
    app_modules: Vec<String>,
}

impl Classifier {
    /// With `app_modules` given, exactly the packages below them (and `main`) are the
    /// application; without, every package that is not recognised as something else.
    pub fn new(app_modules: Vec<String>) -> Self {
        Self { app_modules }
    }

    /// The class of a function from its canonical and verbatim names and its source file.
    pub fn classify(&self, canonical: &str, raw: &str, file: &str) -> FrameClass {
        let package = package_of(canonical);
        let root = package.split('/').next().unwrap_or(package);
        if root == "runtime" && !package.starts_with("runtime/pprof")
            || package.starts_with("internal/runtime/")
        {
            return FrameClass::Runtime;
        }
        let is_below = |module: &String| {
            package
                .strip_prefix(module.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if package == "main" || self.app_modules.iter().any(is_below) {
            return FrameClass::Application;
        }
        if raw.starts_with("vendor/") || STANDARD_ROOTS.contains(&root) {
            return FrameClass::Standard;
        }
        let is_foreign = raw.contains("/vendor/")
            || file.contains("/vendor/")
            || file.contains("@v")
            || is_below_external(package, file)
            || package.is_empty();
        if is_foreign || !self.app_modules.is_empty() {
            FrameClass::Dependency
        } else {
            FrameClass::Application
        }
    }

    /// Whether a function never takes the blame alone: it allocates for its caller.
    pub fn is_transparent(canonical: &str) -> bool {
        TRANSPARENT.is_match(canonical)
    }
}

/// Whether a file lies in the directory `external`, where Bazel keeps modules of others. A
/// directory of that name which is part of the package's own path is another one.
fn is_below_external(package: &str, file: &str) -> bool {
    let count = |directories: &str| directories.split('/').filter(|d| *d == "external").count();
    count(file) > count(package)
}

#[cfg(test)]
mod tests {
    use super::*;
    use FrameClass::*;

    #[test]
    fn frames_are_told_apart_by_package_and_file() {
        let auto = Classifier::default();
        let check = |name: &str, file: &str, expect: FrameClass| {
            assert_eq!(
                auto.classify(&crate::site::canonical_name(name), name, file),
                expect,
                "{name}"
            );
        };
        check("runtime.malg", "runtime/proc.go", Runtime);
        check(
            "internal/runtime/maps.newarray",
            "internal/runtime/maps/map.go",
            Runtime,
        );
        check(
            "runtime/pprof.StartCPUProfile",
            "runtime/pprof/pprof.go",
            Standard,
        );
        check(
            "net/http.(*Transport).dialConn",
            "net/http/transport.go",
            Standard,
        );
        check(
            "vendor/golang.org/x/net/http2/hpack.F",
            "vendor/golang.org/x/net/x.go",
            Standard,
        );
        check("main.main", "main.go", Application);
        check(
            "example.com/app/sync.(*S).Run",
            "example.com/app/sync/sync.go",
            Application,
        );
        check(
            "k8s.io/client-go/rest.F",
            "k8s.io/client-go@v0.31.0/rest/x.go",
            Dependency,
        );
        check("a.com/b/vendor/c.com/d.F", "", Dependency);
        for file in [
            "external/com_github_pkg_errors/errors.go",
            "/build/execroot/_main/external/com_github_pkg_errors/errors.go",
        ] {
            check("github.com/pkg/errors.New", file, Dependency);
        }
        for file in [
            "/src/pkg/checks/external/main.go",
            "example.com/app/pkg/checks/external/main.go",
        ] {
            check("example.com/app/pkg/checks/external.Run", file, Application);
        }
        check(
            "example.com/lib/external.F",
            "external/com_example_lib/external/x.go",
            Dependency,
        );
        check("0x4fe3", "", Dependency);
        let told = Classifier::new(vec!["example.com/app".to_owned()]);
        assert_eq!(told.classify("example.com/app.F", "", "x.go"), Application);
        assert_eq!(
            told.classify("example.com/app/y.F", "", "x.go"),
            Application
        );
        assert_eq!(told.classify("example.com/apple.F", "", "x.go"), Dependency);
    }

    #[test]
    fn producers_are_transparent() {
        for name in [
            "io.ReadAll",
            "bytes.growSlice",
            "encoding/json.Unmarshal",
            "reflect.New",
            "k8s.io/api/core/v1.(*PodSpec).Unmarshal",
            "k8s.io/api/core/v1.(*Pod).DeepCopyInto",
            "sigs.k8s.io/controller-runtime/pkg/log.(*DelegatingLogger).WithValues",
        ] {
            assert!(Classifier::is_transparent(name), "{name}");
        }
        for name in [
            "main.load",
            "net/http.(*Transport).dialConn",
            "k8s.io/client-go/rest.(*Request).Watch",
        ] {
            assert!(!Classifier::is_transparent(name), "{name}");
        }
    }
}

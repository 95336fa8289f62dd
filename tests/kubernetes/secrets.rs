//! Secrets go where they belong, and no message holds one.

use crate::cluster::{
    ApiServer, BOTH, Certificates, FORBIDDEN, FakePod, PodServer, Setup, Trick, User, base64_of,
    tells,
};
use heapdrift::source::remote::{Via, parse_header};
use std::time::Duration;

#[tokio::test]
async fn credentials_for_the_pod_do_not_go_by_the_api_servers_proxy() {
    let mut setup = Setup::new().via(Via::ApiProxy);
    setup.server.put(FakePod::api("api-0", 1));
    setup
        .access
        .headers
        .extend([parse_header("authorization: Bearer sesame").unwrap()]);
    let error = setup.find_one("pod/api-0").await.take().await.unwrap_err();
    tells(&error, &["does not take credentials on", "--via api-proxy"]);
    assert!(
        setup
            .server
            .log()
            .iter()
            .all(|request| request.authorization.is_none())
    );
}

/// Every way in which something goes wrong, with secrets in every place where they may be.
#[tokio::test]
async fn no_secret_is_ever_told() {
    let secret = "sesame0123456789";
    let certificates = Certificates::new();
    let (chain, key) = certificates.client.clone();
    let key_lines: Vec<String> = key.lines().skip(1).map(str::to_owned).take(1).collect();
    let pod = PodServer::pprof();
    let users = [
        User::Token(secret.to_owned()),
        User::plugin_with_token(secret),
        User::Certificate(chain, key.clone()),
        User::Plugin(format!(
            "echo '{{\"status\": {{\"token\": \"{secret}\"}}'; exit 1"
        )),
        User::Plugin(format!(
            "echo '{{\"status\": {{\"token\": \"{secret}\", }}'"
        )),
    ];
    for user in users {
        let mut setup = Setup::of(ApiServer::start_tls(certificates.clone()), &user);
        setup.server.put(FakePod::api("api-0", pod.port));
        setup
            .access
            .headers
            .extend([parse_header(&format!("x-key: {secret}")).unwrap()]);
        setup.options.path = Some(format!("/debug/pprof/?key={secret}"));
        let mut shown = String::new();
        match setup.find("pod/api-0").await {
            Err(error) => shown += &format!("{error} {} {error:?}", error.hint()),
            Ok(mut found) => {
                shown += &format!("{found:?}");
                for via in BOTH {
                    setup.options.via = via;
                    found.extend(setup.find("pod/api-0").await.unwrap());
                }
                for trick in [
                    Trick::Status(401, "Unauthorized", "no"),
                    FORBIDDEN,
                    Trick::Status(500, "InternalError", "no"),
                    Trick::Plain(502, "<html>"),
                    Trick::CutAfter(100),
                    Trick::Say("refused"),
                    Trick::Wait(Duration::from_secs(9)),
                ] {
                    setup.server.be_honest();
                    setup.server.trick("/api-0", trick);
                    for process in &mut found {
                        let timeout = Duration::from_millis(300);
                        let taken = tokio::time::timeout(timeout, process.take()).await;
                        match taken {
                            Err(_) => {}
                            Ok(Err(error)) => {
                                shown += &format!("{error} {} {error:?}", error.hint());
                            }
                            Ok(Ok(taken)) => {
                                shown += &format!("{:?} {:?}", taken.missing, taken.retried);
                                for file in &taken.files {
                                    shown += &String::from_utf8_lossy(&file.bytes);
                                }
                            }
                        }
                    }
                }
            }
        }
        shown += &format!("{:?} {:?}", setup.access, setup.options.kubeconfig);
        assert!(shown.len() > 100);
        assert!(!shown.contains(secret), "{user:?}: {shown}");
        for line in &key_lines {
            assert!(!shown.contains(line.as_str()), "{user:?}");
        }
        assert!(!shown.contains(&base64_of(&key)[..40]), "{user:?}");
    }
}

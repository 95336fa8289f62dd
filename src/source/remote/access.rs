//! Who we are to a server, and how patient: headers, tokens, certificates, limits.
//!
//! Everything here may be secret: `Debug` shows none of it, and headers are marked sensitive.

use super::error::{FetchError, FetchProblem};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// How requests are made.
#[derive(Clone)]
pub struct Access {
    /// Headers of the user, for the target alone.
    pub headers: HeaderMap,
    /// A file with a bearer token, read anew for each snapshot: tokens of a cluster are
    /// replaced by the hour.
    pub bearer_token_file: Option<PathBuf>,
    /// `user:password`.
    pub basic: Option<Basic>,
    /// Whom to trust, and with which certificate to come.
    pub tls: TlsFiles,
    /// For one answer, from connecting to its last byte.
    pub timeout: Duration,
    /// Largest body as it comes, in bytes.
    pub max_bytes: u64,
    /// Further tries after one that failed for a reason that may pass.
    pub retries: usize,
}

/// PEM files of a TLS connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Authorities to trust instead of the system's.
    pub cacert: Option<PathBuf>,
    /// Our certificate chain.
    pub cert: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// Check nothing.
    pub insecure: bool,
}

/// A user and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Basic {
    pub(super) user: String,
    pub(super) password: String,
}

/// A `--header` or `user:password` that is none; the message does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AccessError {
    /// No colon, or a name or value with bytes that HTTP forbids.
    #[error("not a header; write `Name: value`")]
    Header,
    /// No colon.
    #[error("not user:password")]
    Basic,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            headers: HeaderMap::new(),
            bearer_token_file: None,
            basic: None,
            tls: TlsFiles::default(),
            timeout: Duration::from_secs(60),
            max_bytes: 512 << 20,
            retries: 3,
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Access")
            .field("headers", &self.headers.len())
            .field("has_token", &self.bearer_token_file.is_some())
            .field("has_basic", &self.basic.is_some())
            .field("tls", &self.tls)
            .field("timeout", &self.timeout)
            .field("max_bytes", &self.max_bytes)
            .field("retries", &self.retries)
            .finish()
    }
}

impl Basic {
    /// Understands `user:password`; a password may hold colons.
    ///
    /// # Errors
    /// No colon.
    pub fn parse(text: &str) -> Result<Self, AccessError> {
        let text = text.trim_end_matches(['\r', '\n']);
        let (user, password) = text.split_once(':').ok_or(AccessError::Basic)?;
        Ok(Self {
            user: user.to_owned(),
            password: password.to_owned(),
        })
    }
}

impl From<(String, String)> for Basic {
    fn from((user, password): (String, String)) -> Self {
        Self { user, password }
    }
}

impl fmt::Debug for Basic {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Basic(***)")
    }
}

/// Understands `Name: value`.
///
/// # Errors
/// A text that is no header; the error does not repeat it.
pub fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue), AccessError> {
    let (name, value) = text.split_once(':').ok_or(AccessError::Header)?;
    let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| AccessError::Header)?;
    let mut value = HeaderValue::from_str(value.trim()).map_err(|_| AccessError::Header)?;
    value.set_sensitive(true);
    Ok((name, value))
}

impl Access {
    /// Whether a request carries anything that another host must not see.
    pub(super) fn has_credentials(&self) -> bool {
        !self.headers.is_empty()
            || self.bearer_token_file.is_some()
            || self.basic.is_some()
            || self.tls.cert.is_some()
    }

    /// The same patience, for a server that must not learn who we are to another.
    pub(super) fn without_credentials(&self) -> Self {
        Self {
            headers: HeaderMap::new(),
            bearer_token_file: None,
            basic: None,
            tls: TlsFiles {
                cert: None,
                key: None,
                ..self.tls.clone()
            },
            ..*self
        }
    }

    /// What no message may repeat of the headers of a request, though a server may: whole values,
    /// and what follows `Bearer` or `Token`; the password behind `Basic`.
    pub(super) fn secrets(&self, headers: &HeaderMap) -> Vec<String> {
        let values = headers.values();
        let mut secrets: Vec<String> = values
            .filter_map(|value| Some(value.to_str().ok()?.to_owned()))
            .collect();
        let words = secrets.iter().flat_map(|value| value.split_whitespace());
        let words: Vec<String> = words.map(str::to_owned).collect();
        secrets.extend(words);
        secrets.extend(self.basic.iter().map(|basic| basic.password.clone()));
        secrets
    }

    /// The headers of a request, with the authorization of this moment. A header of the user
    /// wins over a token, a token over a password.
    pub(super) fn request_headers(&self, address: &str) -> Result<HeaderMap, FetchError> {
        let mut headers = self.headers.clone();
        if headers.contains_key(AUTHORIZATION) {
            return Ok(headers);
        }
        let text = if let Some(path) = &self.bearer_token_file {
            let problem = |reason: String| {
                let message = format!("the token file {}: {reason}", path.display());
                FetchError::new(address, FetchProblem::Credentials(message))
            };
            let token =
                std::fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
            match token.trim() {
                "" => return Err(problem("it is empty".to_owned())),
                token => format!("Bearer {token}"),
            }
        } else if let Some(Basic { user, password }) = &self.basic {
            let pair = BASE64_STANDARD.encode(format!("{user}:{password}"));
            format!("Basic {pair}")
        } else {
            return Ok(headers);
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            let message = "the token or password holds bytes that HTTP forbids".to_owned();
            FetchError::new(address, FetchProblem::Credentials(message))
        })?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
        Ok(headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_understood_and_never_shown() {
        let (name, value) = parse_header("X-Api-Key:  s:e:c ").unwrap();
        assert_eq!(
            (name.as_str(), value.to_str().unwrap()),
            ("x-api-key", "s:e:c")
        );
        assert!(value.is_sensitive());
        for text in ["nothing", "a b: c", "x: \u{1}", ": y"] {
            assert_eq!(parse_header(text), Err(AccessError::Header), "{text}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let access = Access {
            headers: HeaderMap::from_iter([parse_header("x-key: sesame").unwrap()]),
            basic: Some(Basic::parse("me:sesame").unwrap()),
            ..Access::default()
        };
        assert!(!format!("{access:?}{:?}", access.basic).contains("sesame"));
    }

    #[test]
    fn a_header_wins_over_a_password() {
        let mut access = Access {
            basic: Some(Basic::parse("Aladdin:open sesame\n").unwrap()),
            ..Access::default()
        };
        let sent = |access: &Access| {
            let headers = access.request_headers("x").unwrap();
            headers[AUTHORIZATION].to_str().unwrap().to_owned()
        };
        // The example of RFC 7617, section 2.
        assert_eq!(sent(&access), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        access
            .headers
            .extend([parse_header("authorization: Mine 1").unwrap()]);
        assert_eq!(sent(&access), "Mine 1");
    }

    #[test]
    fn a_token_file_is_read_each_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let access = Access {
            bearer_token_file: Some(file.path().to_owned()),
            ..Access::default()
        };
        let empty = access.request_headers("x").unwrap_err();
        assert!(empty.to_string().contains("it is empty"), "{empty}");
        for token in ["one", "two"] {
            std::fs::write(file.path(), format!("{token}\n")).unwrap();
            let headers = access.request_headers("x").unwrap();
            assert_eq!(headers[AUTHORIZATION], format!("Bearer {token}"));
        }
    }
}

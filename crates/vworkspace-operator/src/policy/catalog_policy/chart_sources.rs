//! Where charts may come from: addresses, compared so that no spelling can fool it.
//!
//! Two programs can read one odd address in two ways, and only one of them is ours. So odd ones are not understood but
//! refused: user names, percent-encoding, backslashes, `.` and `..`, empty segments, queries, anything but ASCII.

use std::fmt;

/// An address in one spelling: lower-case host, no default port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    scheme: Scheme,
    host: String,
    port: u16,
    segments: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Oci,
    Https,
    Http,
}

impl Scheme {
    const ALL: [Self; 3] = [Self::Oci, Self::Https, Self::Http];

    fn name(self) -> &'static str {
        match self {
            Self::Oci => "oci",
            Self::Https => "https",
            Self::Http => "http",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::Oci | Self::Https => 443,
            Self::Http => 80,
        }
    }
}

impl Address {
    /// The address, or what was found instead. An address with a user name is not quoted: a password may be in it.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        if url.contains('@') {
            return Err("an address has an @".to_owned());
        }
        let found = |what: &str| format!("'{url}' has {what}");
        let (scheme, rest) = url.split_once("://").ok_or_else(|| found("no scheme"))?;
        let scheme = Scheme::ALL
            .into_iter()
            .find(|known| scheme.eq_ignore_ascii_case(known.name()))
            .ok_or_else(|| found("a scheme other than oci, https and http"))?;
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "-._~/:[]+".contains(character);
        if let Some(odd) = rest.chars().find(|character| !is_plain(*character)) {
            return Err(found(&format!("the character {odd:?}")));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = host_and_port(authority).ok_or_else(|| found("no proper host and port"))?;
        let path = path.strip_suffix('/').unwrap_or(path);
        let segments: Vec<String> =
            if path.is_empty() { Vec::new() } else { path.split('/').map(str::to_owned).collect() };
        if segments.iter().any(|segment| ["", ".", ".."].contains(&segment.as_str())) {
            return Err(found("an empty, '.' or '..' segment"));
        }
        Ok(Self { scheme, host, port: port.unwrap_or(scheme.default_port()), segments })
    }

    /// Whether the other one is this one or lies below it.
    pub(super) fn holds(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
            && other.segments.starts_with(&self.segments)
    }
}

fn host_and_port(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(v6) => {
            let (host, after) = v6.split_once(']')?;
            let address: std::net::Ipv6Addr = host.parse().ok()?;
            (format!("[{address}]"), after)
        }
        None => {
            let end = authority.find(':').unwrap_or(authority.len());
            let (host, after) = authority.split_at(end);
            (host.to_ascii_lowercase(), after)
        }
    };
    let is_name = |host: &str| {
        host.split('.').all(|label| {
            !label.is_empty() && label.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
        })
    };
    if !host.starts_with('[') && !is_name(&host) {
        return None;
    }
    if port.is_empty() {
        return Some((host, None));
    }
    let digits = port.strip_prefix(':').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some((host, Some(digits.parse().ok()?)))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.name(), self.host)?;
        if self.port != self.scheme.default_port() {
            write!(f, ":{}", self.port)?;
        }
        self.segments.iter().try_for_each(|segment| write!(f, "/{segment}"))
    }
}

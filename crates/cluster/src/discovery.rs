//! Where workers are: in a list, or behind a name that is looked up.

use std::str::FromStr;

use url::Url;

/// Where workers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// One worker.
    One {
        /// Host and port.
        host: String,
        /// Port.
        port: u16,
    },
    /// Every address of a name.
    Name {
        /// The name.
        host: String,
        /// Port.
        port: u16,
    },
}

impl Source {
    /// Reads `host:port,host:port` or `dns:host:port`.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let sources = parts.map(str::parse).collect::<Result<Vec<_>, _>>()?;
        if sources.is_empty() {
            Err("found no worker, expected `host:port` or `dns:host:port`".to_owned())
        } else {
            Ok(sources)
        }
    }

    /// The addresses of the workers now. A name that cannot be looked up has none.
    pub(crate) async fn workers(&self, scheme: &str) -> Result<Vec<Url>, String> {
        let url =
            |place: String| Url::parse(&format!("{scheme}://{place}")).map_err(|error| format!("{error}: {place}"));
        match self {
            Self::One { host, port } => Ok(vec![url(format!("{host}:{port}"))?]),
            Self::Name { host, port } => {
                let found = tokio::net::lookup_host((host.trim_matches(['[', ']']), *port)).await;
                let found = found.map_err(|error| format!("cannot look up the workers: {error}: {host}"))?;
                found.map(|address| url(address.to_string())).collect()
            }
        }
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (place, is_name) = match text.strip_prefix("dns:") {
            Some(rest) => (rest, true),
            None => (text.trim_start_matches("http://").trim_start_matches("https://").trim_end_matches('/'), false),
        };
        let wrong = || format!("expected `host:port` or `dns:host:port`: {text}");
        let (host, port) = place.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        if host.is_empty() || Url::parse(&format!("http://{host}:{port}")).is_err() {
            return Err(wrong());
        }
        let host = host.to_owned();
        Ok(if is_name { Self::Name { host, port } } else { Self::One { host, port } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_names() {
        let one = |host: &str, port| Source::One { host: host.to_owned(), port };
        let name = Source::Name { host: "workers.ns".to_owned(), port: 7070 };
        assert_eq!(Source::parse_list("a:1, [::1]:2"), Ok(vec![one("a", 1), one("[::1]", 2)]));
        assert_eq!(Source::parse_list("dns:workers.ns:7070"), Ok(vec![name]));
        assert_eq!(Source::parse_list("http://a:1/"), Ok(vec![one("a", 1)]));
        for wrong in ["", ",", "a", "a:", ":1", "a:99999", "dns:a", "a b:1"] {
            assert!(Source::parse_list(wrong).is_err(), "{wrong}");
        }
    }
}

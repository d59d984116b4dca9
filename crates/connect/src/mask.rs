//! A connection URL shown with everything hidden that can be a password, however broken it is.

/// The text with everything hidden that can be a password, however broken the text is.
///
/// Hidden are: all between the first `:` behind `://` and the last `@`, and every value of a
/// `password`-like word. A text without `://` and `@` is shown up to its first `=`.
pub(crate) fn mask(text: &str) -> String {
    let shown: String = text.chars().filter(|c| !c.is_control()).collect();
    let Some((scheme, rest)) = shown.split_once("://") else {
        let mut head: String = shown.chars().take_while(|c| *c != '=').take(24).collect();
        if head.contains(['@', ':']) {
            head.clear();
        }
        return format!("{head}…");
    };
    let (user_info, rest) = match rest.rsplit_once('@') {
        Some((user_info, rest)) => (Some(user_info), rest),
        None => (None, rest),
    };
    let mut out = format!("{scheme}://");
    match user_info.map(|info| info.split_once(':').map_or((info, false), |(user, _)| (user, true))) {
        // Without a colon it is a user name, unless it looks like text that an @ ended too early.
        Some((user, false)) if user.contains(['/', '?', '=']) => out.push_str("***@"),
        Some((user, hidden)) => {
            out.push_str(user);
            out.push_str(if hidden { ":***@" } else { "@" });
        }
        None => {}
    }
    let (before_query, query) = match rest.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (rest, None),
    };
    match before_query.split_once(':') {
        // `postgres://kim:word` with its host forgotten: the word may be the password.
        Some((host, port)) if user_info.is_none() && !host.starts_with('[') && !starts_with_port(port) => {
            out.push_str(host);
            out.push_str(":***");
        }
        _ => out.push_str(before_query),
    }
    if let Some(query) = query {
        for (nth, pair) in query.split('&').enumerate() {
            out.push(if nth == 0 { '?' } else { '&' });
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            out.push_str(name);
            if !value.is_empty() {
                let safe = matches!(name, "host" | "port" | "user" | "dbname" | "sslmode" | "connect_timeout");
                out.push('=');
                out.push_str(if safe { value } else { "***" });
            }
        }
    }
    out
}

fn starts_with_port(text: &str) -> bool {
    text.split('/').next().is_some_and(|port| port.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harmless_parts_stay_readable() {
        let cases = [
            ("postgres://kim:pw@db:5432/shop?sslmode=disable", "postgres://kim:***@db:5432/shop?sslmode=disable"),
            ("postgres://kim@db/shop", "postgres://kim@db/shop"),
            ("mysql://kim:p:w@db/shop", "mysql://kim:***@db/shop"),
            ("postgres:///shop?host=/tmp&password=pw", "postgres:///shop?host=/tmp&password=***"),
            ("postgres://kim:word", "postgres://kim:***"),
            ("host=db password=pw", "host…"),
        ];
        for (text, shown) in cases {
            assert_eq!(mask(text), shown);
        }
    }
}

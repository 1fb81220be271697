//! The environment of a call: clean but for what programs need to find themselves, so that no secret goes along unasked.

use crate::runner::COOKIE_VARIABLE;
use std::ffi::{OsStr, OsString};

/// Passed on from our own environment. `LC_*` too.
const PASSED: [&str; 6] = ["PATH", "HOME", "LANG", "TMPDIR", "TERM", "USER"];

/// The whole environment of a child: what is passed on, then `given`, then the cookie, which nothing can replace.
pub fn environment(
    own: impl Iterator<Item = (OsString, OsString)>,
    given: &[(OsString, OsString)],
    cookie: &str,
) -> Vec<(OsString, OsString)> {
    own.filter(|(name, _)| passed(name))
        .chain(given.iter().cloned())
        .chain([(COOKIE_VARIABLE.into(), cookie.into())])
        .collect()
}

fn passed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| PASSED.contains(&name) || name.starts_with("LC_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (OsString, OsString) {
        (name.into(), value.into())
    }

    #[test]
    fn only_the_list_passes_and_the_cookie_is_last() {
        let own = [pair("PATH", "/bin"), pair("API_KEY", "secret"), pair("LC_ALL", "C"), pair("LC", "x")];
        let given = [pair("MODE", "fast"), pair(COOKIE_VARIABLE, "forged")];
        let all = environment(own.into_iter(), &given, "cookie");
        let expected = [
            pair("PATH", "/bin"),
            pair("LC_ALL", "C"),
            pair("MODE", "fast"),
            pair(COOKIE_VARIABLE, "forged"),
            pair(COOKIE_VARIABLE, "cookie"),
        ];
        assert_eq!(all, expected);
    }
}

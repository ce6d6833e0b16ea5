//! A moment as people and programs read it: UTC, to the second.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The last second that has a year of four digits.
const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);

/// `2026-11-15T02:53:57Z`. A file may claim any time; one that has no such form is shown as the nearest that has.
pub(super) fn text(moment: SystemTime) -> String {
    humantime::format_rfc3339_seconds(moment.clamp(UNIX_EPOCH, UNIX_EPOCH + LAST_SECOND)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let check =
            |seconds: u64, want: &str| assert_eq!(text(UNIX_EPOCH + Duration::from_secs(seconds)), want, "{seconds}");
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(1_794_711_237, "2026-11-15T02:53:57Z");
        check(300_000_000_000, "9999-12-31T23:59:59Z");
        assert_eq!(text(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
    }
}

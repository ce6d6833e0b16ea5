//! Messages of the façade in the words of Python: keywords where a terminal has options.

/// Phrases that say more than a keyword would; longer ones first.
const PHRASES: &[(&str, &str)] = &[
    ("`stepscope ingest PATH --store DIR`", "`stepscope.open(PATH, store=DIR)`"),
    ("`stepscope cache clear --all`", "`stepscope cache clear`"),
    ("leave out `--strict`", "leave out `strict=True`"),
    ("without `--strict`", "without `strict=True`"),
    ("(--strict refuses)", "(`strict=True` refuses)"),
    ("`--store DIR`", "`store=DIR`"),
    ("`--no-cache`", "`cache=False`"),
    ("`stepscope functions`", "`run.functions()`"),
    ("`stepscope schema`", "`stepscope.tables()`"),
    ("; `-` reads standard input", ""),
];

/// Options whose keyword has another name.
const KEYWORDS: &[(&str, &str)] = &[("from", "from_ns"), ("to", "to_ns")];

/// The message with keywords instead of options.
pub(crate) fn of_python(message: &str) -> String {
    let mut text = message.to_owned();
    for (phrase, instead) in PHRASES {
        text = text.replace(phrase, instead);
    }
    let mut parts = text.split("--");
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let length = part.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(part.len());
        let (option, rest) = part.split_at(length);
        // Dashes between words are no option.
        if option.is_empty() || said.ends_with(|c: char| c.is_alphanumeric()) {
            said.push_str("--");
            said.push_str(part);
            continue;
        }
        let keyword = KEYWORDS.iter().find(|(name, _)| *name == option).map(|(_, keyword)| (*keyword).to_owned());
        said.push_str(&keyword.unwrap_or_else(|| option.replace('-', "_")));
        match value(rest) {
            Some((value, rest)) => said.extend(["=", &spelled(value), rest]),
            None => said.push_str(rest),
        }
    }
    said
}

/// The value of an option that ends a piece of code, and what follows it.
fn value(rest: &str) -> Option<(&str, &str)> {
    let (value, _) = rest.strip_prefix(' ')?.split_once('`')?;
    (!value.contains(' ')).then(|| (value, &rest[1 + value.len()..]))
}

/// A value as Python writes it; capitals stand for a value of the reader's.
fn spelled(value: &str) -> String {
    if value.bytes().all(|byte| byte.is_ascii_uppercase()) { value.to_owned() } else { format!("\"{value}\"") }
}

"""Take secrets out of text before it leaves this machine."""

import re

_NAMES = r"token|secret|passw(?:or)?d|passwd|api[_-]?key|access[_-]?key|credential|private[_-]?key"
_PREFIXES = r"gh[pousr]_|github_pat_|glpat-|hf_|sk-|bkua_|bkaa_|xox[abprs]-|npm_|pypi-|dckr_pat_"
_HEADERS = r"authorization|proxy-authorization|cookie|set-cookie"
_BEGIN, _END = (f"-----{word} [A-Z ]*PRIVATE KEY-----" for word in ("BEGIN", "END"))
# What has capitals, small letters and digits at such a length is no word.
_RANDOM = r"(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])(?=[\w+/=-]*[A-Z])[A-Za-z0-9+/_=-]{32,}(?![\w+/=-])"
_SECRETS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (rf"(?s){_BEGIN}.*?(?:{_END}|\Z)", "<key>"),
        (r"(\b[a-z][a-z0-9+.-]*://)[^\s/@]+@", r"\1<credentials>@"),
        (rf"(?i)\b({_HEADERS})(\"?\s*[:=]\s*\"?).+", r"\1\2<secret>"),
        (r"(?i)\bbearer\s+[\w.~+/=-]+", "Bearer <secret>"),
        (rf"\b(?:{_PREFIXES})[\w-]{{8,}}", "<token>"),
        (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", "<key>"),
        (r"\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*", "<token>"),
        (
            rf"(?i)([\w-]*(?:{_NAMES})[\w-]*[\"']?\s*(?:=|:|\s)\s*[\"']?)[^\s\"',;]{{4,}}",
            r"\1<secret>",
        ),
        (r"(?i)([?&](?:sig|signature|X-Amz-[\w-]+|token|key|code)=)[^&\s\"']+", r"\1<secret>"),
        (r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b", "<e-mail>"),
        (rf"\b{_RANDOM}", "<token>"),
    )
)


def redacted(text: str) -> str:
    """Text without keys, tokens, passwords, credentials in URLs and e-mail addresses."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text

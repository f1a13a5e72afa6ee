"""What two failures of the same cause have in common: their words without what changes by run."""

import re

LONGEST = 300

# In this order: what is longer and says more must go first.
_MASKS = (
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?Z?)?"), "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?"), "<time>"),
    # Of a URL its host and the first step below it name what failed.
    (re.compile(r"(\bhttps?://)(?:[^\s/@]*@)?([\w.-]+)(?::\d+)?(/[\w.-]+)?[^\s'\"<>)\]]*"),
     r"\1\2\3"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\b([a-z][\w.-]*):\d{2,5}\b(?!:)"), r"\1:<n>"),
    (re.compile(r"0x[0-9a-fA-F]+"), "<hex>"),
    (re.compile(r"\bsha256:[0-9a-f]{6,64}\b"), "sha256:<hex>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"), "<hex>"),
    # Of a path its last step is kept, save below folders that are made for one run.
    (re.compile(r"(?:/tmp|/var/tmp|/dev/shm|/private/var)/[^\s'\":,)\]]+"), "<tmp>"),
    (re.compile(r"(?<![\w.:/<])(?:/[\w.@+~{}-]+)+/(?=[\w.@+-])"), ""),
    (re.compile(r"(?<![\w])[A-Za-z]:(?:\\[^\s\\'\":]+)*\\(?=[\w.])"), ""),
    (re.compile(r"\((\d+)(?:,\d+)?\)(?=\s*: )|(?<=\.\w):\d+(?::\d+)?|(?<=\.\w\w):\d+(?::\d+)?"
                r"|(?<=\.\w\w\w):\d+(?::\d+)?"), ""),
    (re.compile(r"\b\d+(?:\.\d+)?(?: ?(?:[KMGT]i?B|bytes|ms|s|sec|seconds|min|minutes|%))\b"),
     "<n>"),
    (re.compile(r"(?<![\w.\[-])[-+]?\d+(?:\.\d+)*(?:e[-+]?\d+)?(?![\w\]])"), "<n>"),
    (re.compile(r"(?<=[=:#])\d+\b"), "<n>"),
    (re.compile(r"\s+"), " "),
)  # fmt: skip
_NODE = re.compile(r"[\w./\\-]+\.py(?:::[\w.-]+)+(?:\[[^\]\s]*\])?")


def masked(text: str) -> str:
    """Take out of a text what changes from run to run; names, types, hosts and tests stay.

    Ids of tests are kept whole: a number in one is the test's own.
    """
    parts, place = [], 0
    for node in _NODE.finditer(text):
        parts += [_mask(text[place : node.start()]), node[0]]
        place = node.end()
    parts.append(_mask(text[place:]))
    whole = "".join(parts).strip(" -:,.")
    return whole if len(whole) <= LONGEST else whole[:LONGEST].rstrip()


def signature(rule: str, keys: list[str]) -> str:
    """Name a failure: by its rule, and by what the rule captured."""
    told = " ".join(filter(None, (masked(key) for key in keys)))
    return f"{rule}: {told}" if told else rule


def _mask(text: str) -> str:
    for pattern, replacement in _MASKS:
        text = pattern.sub(replacement, text)
    return text

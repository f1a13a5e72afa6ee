"""Keys of jobs: made from labels where a definition names none, and fit for Buildkite."""

import re

MAX_KEY = 100
_NOT_SLUG = re.compile(r"[^a-z0-9_]+")
# Buildkite also takes ${}, but the agent that uploads a pipeline would replace what they name.
_KEY = re.compile(r"[a-zA-Z0-9_\-:.,]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def slug(label: str) -> str:
    """Turn a label into the key that the job has where its definition names none."""
    return _NOT_SLUG.sub("-", label.lower()).strip("-")


def key_fault(key: str) -> str | None:
    """Say why Buildkite would refuse a key, or None where it takes it."""
    if not key:
        return "the job has no key, and its label makes none"
    if len(key) > MAX_KEY:
        return f"the key has {len(key)} characters, {MAX_KEY} are allowed"
    if _UUID.fullmatch(key):
        return "a key must not look like a UUID"
    if not _KEY.fullmatch(key):
        return "a key holds letters, digits and _-:., only"
    return None


def safe_key(key: str, fallback: str) -> str:
    """Return a key that Buildkite takes, as close as can be to the one that it refuses."""
    if key_fault(key) is None:
        return key
    return f"broken-{slug(key) or slug(fallback) or 'job'}"[: MAX_KEY - 10]

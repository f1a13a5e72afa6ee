"""Read a pipeline that somebody wrote, or that we wrote, from a file or standard input."""

import sys
from pathlib import Path
from typing import Any

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import YamlDocument, load_yaml, parse_yaml

STANDARD_INPUT = "-"


def load_pipeline(file: str) -> tuple[dict[str, Any], YamlDocument]:
    """Read a pipeline from a file, or from standard input for ``-``; also where its lines are.

    A bare list of steps is a pipeline too. Raises ConfigError for anything else.
    """
    if file == STANDARD_INPUT:
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
        document = parse_yaml(text, file="standard input")
    else:
        document = load_yaml(Path(file))
    value = document.value
    if isinstance(value, list):
        value = {"steps": value}
    if not isinstance(value, dict):
        message = "no pipeline: expected a mapping with steps, or a list of them"
        raise ConfigError([Problem(file=document.file, message=message)])
    return value, document

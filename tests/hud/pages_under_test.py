"""What a drawn page says, and what it asked the warehouse."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gauntlet.hud.acting.actors import READ_ONLY
from gauntlet.hud.reading import Reader

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

ACTORS = READ_ONLY
READER: Reader | None = None  # set by the fixture ``show``


@dataclass
class Shown:
    """A page after one run of its script; ``test`` is Streamlit's handle on it."""

    test: "AppTest"
    reader: Reader

    @property
    def text(self) -> str:
        """What is read as Markdown or HTML, one element a line; see ``said`` for plain text too."""
        assert not self.test.exception, [each.value for each in self.test.exception]
        kinds = (
            "title",
            "header",
            "subheader",
            "markdown",
            "caption",
            "info",
            "warning",
            "error",
        )
        said = [str(each.value) for kind in kinds for each in getattr(self.test, kind)]
        bodies = [str(each.proto.body) for each in self.test.get("html")]
        bodies += [json.loads(each.proto.json) for each in self.test.get("bidi_component")]
        said += bodies
        said += [
            f"{label} {value}"
            for body in bodies
            for label, value in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", body)
        ]
        return "\n".join(said)

    @property
    def said(self) -> str:
        """Everything that is said in words, plain text that is never markup too."""
        return "\n".join([self.text, *(str(each.value) for each in self.test.text)])

    @property
    def asked(self) -> Counter[str]:
        """How often each named query, or verdict of the analyzer, was asked for so far."""
        return self.reader.asked

    @property
    def tables(self) -> list:
        """The frames of the page's tables, in order."""
        return [each.value for each in self.test.dataframe]

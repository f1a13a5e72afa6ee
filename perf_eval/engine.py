"""The engine under test: which build of it, which model, and how it is told to serve."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gauntlet.perf_eval.arguments import Arguments, Environment, find_flag
from gauntlet.perf_eval.part import RecipePart

Text = Annotated[str, Field(min_length=1)]
NIGHTLY = "nightly"
_DIGEST = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")
_FULL_COMMIT = 40
# Said once, by a key of its own or by the harness; a second time it could only contradict.
_OWN_KEYS = {
    "--model": "model",
    "--revision": "revision",
    "--tokenizer": "tokenizer",
    "--served-model-name": "served_name",
}
_CHOSEN = ("--host", "--port", "--uds")


class EngineSpec(RecipePart):
    """One build of an engine with one model.

    Identified by ``version``, ``commit`` or ``image``. ``version: nightly`` stands for a build that
    is named when the recipe is run: ``--set engine.commit=SHA`` or ``--set engine.image=...``.
    """

    kind: Literal["vllm", "simulator", "openai"]
    """vllm: started here; simulator: `gauntlet simulator`; openai: a server that others run."""
    version: Text | None = None
    """Released version, such as 0.33.0, or `nightly`."""
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{7,40}$")] | None = None
    """Commit of the engine's sources; all 40 digits pin it."""
    image: Text | None = None
    """Container image; `NAME@sha256:DIGEST` pins it, a tag may move."""
    model: Text | None = None
    """Model id or folder; the simulator takes it from its settings."""
    revision: Text | None = None
    """Revision of the model's files."""
    served_name: Text | None = None
    """Name under which requests ask for the model; its id where absent."""
    tokenizer: Text | None = None
    """Tokenizer, where it is not the model's own."""
    precision: Annotated[str, Field(pattern=r"^[a-z0-9]+([+-][a-z0-9]+)*$")] | None = None
    """Precision of the weights as the model's authors declare it; never guessed from a name."""
    arguments: Arguments = ()
    """Words of the command line, one an item."""
    env: Environment = Field(default_factory=dict)
    """Environment of the server; numbers are taken as they are written."""
    config: Text | None = None
    """Settings of the simulator: a file, or the name of one that ships."""

    @model_validator(mode="after")
    def _kind_fits(self) -> Self:
        if self.kind == "simulator":
            given = [key for key in ("version", "commit", "image") if getattr(self, key)]
            if given:
                msg = f"the simulator is part of Gauntlet and has no {given[0]}"
                raise ValueError(msg)
            return self
        if self.config is not None:
            msg = f"config holds the simulator's settings; kind {self.kind} has none"
            raise ValueError(msg)
        if self.model is None:
            msg = f"kind {self.kind} needs a model"
            raise ValueError(msg)
        if self.kind == "openai" and (self.arguments or self.env):
            msg = "a server that others run takes no arguments and no env"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _one_identity(self) -> Self:
        given = [key for key in ("version", "commit", "image") if getattr(self, key)]
        if self.version == NIGHTLY:
            given.remove("version")
        if len(given) > 1:
            msg = f"give one of version, commit and image, not {' and '.join(given)}"
            raise ValueError(msg)
        if self.image and "@" in self.image and not _DIGEST.fullmatch(self.image):
            msg = f"the digest of {self.image!r} is not sha256 and 64 hexadecimal digits"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _said_once(self) -> Self:
        for flag, key in _OWN_KEYS.items():
            if find_flag(self.arguments, flag):
                msg = f"{flag} has a key of its own, engine.{key}: take it out of arguments"
                raise ValueError(msg)
        for flag in _CHOSEN:
            if find_flag(self.arguments, flag):
                msg = f"{flag} is chosen when the server is started: take it out of arguments"
                raise ValueError(msg)
        return self

    @property
    def why_not_pinned(self) -> str | None:
        """Why two runs of this recipe may measure different builds; None where they cannot."""
        if self.kind != "vllm":
            return None
        if self.commit:
            short = len(self.commit) < _FULL_COMMIT
            return f"commit {self.commit} is abbreviated, give all 40 digits" if short else None
        if self.image:
            has_digest = _DIGEST.fullmatch(self.image)
            return None if has_digest else f"the tag of {self.image} may move, add @sha256:DIGEST"
        if self.version == NIGHTLY:
            return "version: nightly is filled in when it is run, --set engine.commit=SHA"
        if self.version is None:
            return "neither version, commit nor image is given: it is whatever build is there"
        return None

    @property
    def speculates(self) -> bool:
        """Whether speculative decoding is asked for."""
        # Set as one JSON value or, part by part, with a dot.
        prefix = "--speculative-config"
        return any(word.replace("_", "-").startswith(prefix) for word in self.arguments)

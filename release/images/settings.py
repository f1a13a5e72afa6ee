"""Where images go, and what every one of them must say of itself."""

from pydantic import Field, field_validator

from gauntlet.core.errors import UsageError
from gauntlet.core.yaml_file import StrictModel
from gauntlet.images.oci.reference import Place

_OCI = "org.opencontainers.image"


class ImageSettings(StrictModel):
    """The section ``images`` of the policy."""

    staging: str = ""
    """Where builds push: ``docker://HOST[/PATH]``; empty: the layouts in the release's folder."""
    public: str = ""
    """Where releases are taken from; empty: layouts in the release's folder, to try it out."""
    plain_http: tuple[str, ...] = ()
    """Hosts (with port) that are asked without TLS. Those on this machine always are."""
    required_labels: tuple[str, ...] = tuple(
        f"{_OCI}.{name}" for name in ("version", "revision", "source", "created")
    )
    largest_layers: int = Field(default=5, ge=1)
    """How many layers are named of an image that is too large."""

    @field_validator("staging", "public")
    @classmethod
    def _place(cls, text: str) -> str:
        if text:
            try:
                Place.parse(text)
            except UsageError as error:
                raise ValueError(f"{error.message} ({error.hint})") from error
        return text

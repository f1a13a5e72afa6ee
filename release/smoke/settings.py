"""How the engine is started and asked; another engine has other words here, and no other code."""

from collections.abc import Mapping

from pydantic import Field

from gauntlet.core.yaml_file import StrictModel


class SmokeSettings(StrictModel):
    """The section ``smoke`` of the policy.

    ``{python}``, ``{port}`` and ``{model}`` are replaced in commands.
    """

    module: str = ""
    """What is imported; empty: the name of the package."""
    command: tuple[str, ...] = (
        *("{python}", "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", "{model}", "--port", "{port}"),
    )
    """Starts the server of an installed wheel."""
    image_arguments: tuple[str, ...] = ("--model", "{model}", "--port", "{port}")
    """What an image's entry point is given."""
    pip: tuple[str, ...] = ("--no-index",)
    """Arguments of pip for a wheel; by default it installs what it is given, and asks nobody. An
    index for its dependencies is named here: ``["--extra-index-url", "https://…"]``."""
    model: str = ""
    environment: Mapping[str, str] = Field(default_factory=dict)
    health: str = "/health"
    prompt: str = "Hello"
    max_tokens: int = Field(default=8, ge=1)
    install_s: float = Field(default=900, gt=0)
    import_s: float = Field(default=300, gt=0)
    startup_s: float = Field(default=900, gt=0)
    request_s: float = Field(default=120, gt=0)

    def filled(self, template: tuple[str, ...], *, port: int, python: str = "") -> list[str]:
        """A command with the names in it replaced."""
        values = {"{port}": str(port), "{python}": python, "{model}": self.model}
        filled: list[str] = []
        for word in template:
            text = word
            for name, value in values.items():
                text = text.replace(name, value)
            filled.append(text)
        return filled

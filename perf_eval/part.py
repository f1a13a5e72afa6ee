"""The base of every part of a recipe."""

from pydantic import ConfigDict

from gauntlet.core.yaml_file import StrictModel


class RecipePart(StrictModel):
    """A strict model whose keys are described by the text below each of them."""

    model_config = ConfigDict(use_attribute_docstrings=True)

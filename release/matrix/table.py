"""The matrix as people read it."""

from collections.abc import Iterator

from gauntlet.release.matrix.model import Matrix


def plain(matrix: Matrix) -> dict[str, object]:
    """As JSON, with what follows from it."""
    return {
        **matrix.model_dump(mode="json"),
        "manifests": [
            {"repository": repository, "suffix": suffix, "cells": [cell.id for cell in cells]}
            for (repository, suffix), cells in matrix.manifests().items()
        ],
    }


def table(matrix: Matrix) -> Iterator[str]:
    """One line a cell, wheels first."""
    sdist = ", and a source distribution" if matrix.sdist else ""
    yield f"{len(matrix.wheels)} wheels of {matrix.package}{sdist}"
    for wheel in matrix.wheels:
        tags = f"{wheel.python_tag}-{wheel.abi_tag}-{wheel.platform_tag}"
        yield f"  {wheel.id:28} {wheel.variant or 'default':8} {tags:36} on {wheel.queue}"
    yield f"{len(matrix.images)} images in {len(matrix.manifests())} manifests"
    for image in matrix.images:
        name = f"{image.repository}:VERSION{image.suffix}"
        yield f"  {image.id:28} {image.platform:12} {name:44} on {image.queue}"
    yield f"moving tags: {', '.join(matrix.moving_tags) or 'none'}"

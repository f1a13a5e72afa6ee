"""The policy and the matrix that ship fit each other, and what is measured by night."""

from fnmatch import fnmatchcase

import pytest

from gauntlet.core.errors import ConfigError
from gauntlet.perf_eval.recipe import recipe_names
from gauntlet.release.gates.rules import CiGate, MeasuredGate
from gauntlet.release.matrix.model import load_matrix
from gauntlet.release.policy import load_release_policy


def measured():
    return [gate for gate in load_release_policy().gates if isinstance(gate, MeasuredGate)]


def test_the_three_gates_are_there():
    gates = load_release_policy().gates
    assert [gate.name for gate in gates] == ["full-ci", "performance", "accuracy"]
    assert isinstance(gates[0], CiGate)


def test_every_needed_run_is_a_recipe_that_ships_on_an_image_that_is_built():
    images = {cell.id for cell in load_matrix().images}
    names = recipe_names()
    for gate in measured():
        for need in gate.runs:
            assert any(fnmatchcase(name, need.recipe) for name in names), need.recipe
            assert need.image in images


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gates: []", "gates"),
        ("gates: [{name: branch, kind: ci, lanes: [{name: a}]}]", "gates of one name: branch"),
        ("gates: [{name: a, kind: cj, lanes: [{name: a}]}]", "kind"),
        (
            "gates: [{name: a, kind: ci, lanes: [{name: a}]}]\nwaivers: {never: [b]}",
            "waivers.never names no gate: b",
        ),
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused(tmp_path, text, message):
    path = tmp_path / "policy.yaml"
    path.write_text(f"schema_version: 1\n{text}\n")
    with pytest.raises(ConfigError, match=message):
        load_release_policy(path)

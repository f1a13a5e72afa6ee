"""GPUs of a stored repetition, out of its run's recipe."""

import pytest
from recipe_factory import engine, recipe

from gauntlet.analyzer.selection.gpus import gpus_measured_on


class Runs:
    """A store that knows one recipe."""

    def __init__(self, definition):
        self.definition = definition

    def query(self, name, run_id):
        assert name == "run"
        return [{"recipe_definition": self.definition}] if run_id == "known" else []


SWEPT = recipe(
    engine=engine(),
    hardware={"accelerator": "H200", "count": 8},
    topology={"parallel": {"tp": 2}},
    sweep=[
        {"grid": {"topology.parallel.tp": [2, 4], "workloads.random.arrivals.concurrency": [1, 2]}}
    ],
)
PLAIN = recipe(engine=engine(), hardware={"accelerator": "H200", "count": 8})


def gpus(model, point, side="single", run_id="known"):
    row = {"run_id": run_id, "repetition_id": "r", "point": point, "side": side}
    text = model if isinstance(model, str) else model.model_dump_json()
    return gpus_measured_on(Runs(text), [row]).get("r")


@pytest.mark.parametrize(
    ("model", "point", "found"),
    [
        pytest.param(SWEPT, "tp=4,concurrency=2", 4, id="variant"),
        pytest.param(SWEPT, "tp=2,concurrency=1", 2, id="other-variant"),
        pytest.param(SWEPT, "concurrency=1", None, id="no-variant-of-the-recipe"),
        pytest.param(PLAIN, "", 1, id="one-server"),
        pytest.param(recipe(), "", None, id="recipe-without-hardware"),
        pytest.param("{}", "", None, id="recipe-not-kept"),
    ],
)
def test_the_variant_of_a_point_says_how_many(model, point, found):
    assert gpus(model, point) == found


def test_sides_of_a_run_on_two_servers_share_its_only_variant():
    assert gpus(PLAIN, "", side="candidate") == 1


def test_a_run_that_is_not_kept_says_nothing():
    assert gpus(PLAIN, "", run_id="gone") is None

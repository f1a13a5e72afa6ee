"""An expanded recipe, byte for byte."""

import json

from gauntlet.perf_eval.recipe import examine_recipe
from gauntlet.perf_eval.render import expansion_json, expansion_table


def test_a_sweep_written_out_stays_the_same(golden):
    expansion = examine_recipe("simulator-sweep").expansion
    assert golden("recipes/simulator-sweep.txt", expansion_table(expansion) + "\n")
    assert golden(
        "recipes/simulator-sweep.json", json.dumps(expansion_json(expansion), indent=1) + "\n"
    )

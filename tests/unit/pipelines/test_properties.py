from hypothesis import given, settings
from hypothesis import strategies as st
from unit.pipelines.factories import TINY_KEYS, changes, definitions, options, request

from gauntlet.pipelines.changes import ChangedFile
from gauntlet.pipelines.decide import decide
from gauntlet.pipelines.selection import select

DEFINITIONS = definitions()
PATHS = st.sampled_from(
    [
        "engine/a.py",
        "engine/sample/a.py",
        "engine/sample/experimental/a.py",
        "engine/platforms/rocm.py",
        "tests/v1/sample/test_a.py",
        "tests/engine/test_a.py",
        "tests/engine/test_slow.py",
        "setup.py",
        "csrc/a.cu",
        "csrc/cpu/a.cpp",
        "docs/a.md",
        "LICENSE",
        "brand/new.py",
        ".buildkite/areas/areas.yaml",
        ".buildkite/images/images.yaml",
    ]
)
FILES = st.builds(
    ChangedFile, path=PATHS, status=st.sampled_from("AMD"), old_path=st.none() | PATHS
)
CHANGES = st.lists(FILES, max_size=5)
quick = settings(max_examples=60, deadline=None)


@quick
@given(small=CHANGES, more=CHANGES)
def test_a_larger_change_selects_no_less(small, more):
    fewer = set(select(DEFINITIONS, changes(*small)).selected)
    assert fewer <= set(select(DEFINITIONS, changes(*small, *more)).selected)


@quick
@given(items=CHANGES, nightly=st.booleans())
def test_a_selection_is_closed_and_every_job_is_decided(items, nightly):
    found = select(DEFINITIONS, changes(*items), options(nightly=nightly))
    needs = {job.key: job.depends_on for job in DEFINITIONS.jobs}
    assert all(found.by_key[need].runs for key in found.selected for need in needs[key])
    assert set(found.by_key) == TINY_KEYS
    assert all(decision.reasons and decision.rule for decision in found.decisions)


@quick
@given(items=CHANGES, seed=st.randoms(use_true_random=False))
def test_order_does_not_matter(items, seed):
    shuffled = list(items)
    seed.shuffle(shuffled)
    assert select(DEFINITIONS, changes(*items)) == select(DEFINITIONS, changes(*shuffled))


@settings(max_examples=15, deadline=None)
@given(items=st.lists(PATHS, max_size=4))
def test_the_same_request_gives_the_same_bytes(items):
    one, two = decide(request(*items)), decide(request(*changes(*items).files))
    assert one.pipeline_yaml == two.pipeline_yaml
    assert one.selection_json() == two.selection_json()

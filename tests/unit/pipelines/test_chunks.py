"""How a pipeline is split into uploads."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.core.errors import ConfigError
from gauntlet.pipelines.chunks import plan_uploads


def step(key, *needs, jobs=1):
    return {"key": key, "command": "x", "parallelism": jobs, "depends_on": list(needs)}


def group(name, *steps):
    return {"group": name, "steps": list(steps)}


def units_of(*steps, max_jobs=10):
    return [chunk.units for chunk in plan_uploads({"steps": list(steps)}, max_jobs)]


def test_what_fits_is_one_upload_in_its_own_order():
    steps = [group("A", step("a", "b")), group("B", step("b")), step("c")]
    (chunk,) = plan_uploads({"env": {"X": "1"}, "steps": steps})
    assert chunk.units == ("A", "B", "step 'c'")
    assert chunk.jobs == 3
    assert yaml.safe_load(chunk.text) == {"env": {"X": "1"}, "steps": steps}


def test_groups_stay_whole_and_dependencies_come_first():
    tests = group("Tests", step("t1", "build", jobs=6), step("t2", jobs=3))
    more = group("More", step("m", "build", jobs=8))
    assert units_of(tests, more, group("Builds", step("build"))) == [
        ("Tests", "Builds"),
        ("More",),
    ]


def test_an_upload_is_filled_up_before_another_is_begun():
    sizes = [6, 6, 4, 4]
    assert len(units_of(*(step(f"s{n}", jobs=size) for n, size in enumerate(sizes)))) == 2


def test_groups_that_need_each_other_go_together():
    one = group("A", step("a1", jobs=4), step("a2", "b1", jobs=1))
    two = group("B", step("b1", "a1", jobs=4))
    other = group("C", step("c", jobs=8))
    assert units_of(other, one, two) == [("C",), ("A", "B")]


def test_every_upload_has_what_belongs_to_the_pipeline_and_notifies_once():
    top = {"env": {"A": "1"}, "agents": {"queue": "q"}, "notify": [{"email": "a@example.com"}]}
    pipeline = {**top, "steps": [step("a", jobs=8), step("b", jobs=8)]}
    first, second = (yaml.safe_load(c.text) for c in plan_uploads(pipeline, 10))
    assert {name: first[name] for name in top} == top
    assert "notify" not in second
    assert second["env"] == {"A": "1"}


def test_nothing_is_no_upload():
    assert plan_uploads({"steps": []}) == ()


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        pytest.param([group("Big", step("a", jobs=6), step("b", jobs=5))], "Big", id="a group"),
        pytest.param(
            [step("a", "b", jobs=6), step("b", "a", jobs=6)], "belong in one upload", id="circle"
        ),
        pytest.param([step("a", jobs=6), "wait", step("b", jobs=6)], "one upload", id="wait"),
        pytest.param(
            [{"command": "x", "parallelism": 9}, {"block": "b"}, {"command": "y"}],
            "one upload",
            id="order by block",
        ),
    ],
)
def test_what_does_not_fit_is_refused(steps, words):
    with pytest.raises(ConfigError) as caught:
        plan_uploads({"steps": steps}, 10)
    assert words in str(caught.value)


def test_a_build_that_is_too_large_is_refused():
    with pytest.raises(ConfigError, match="4,000"):
        plan_uploads({"steps": [step(f"s{n}", jobs=500) for n in range(9)]})
    with pytest.raises(ConfigError, match="500 uploads"):
        plan_uploads({"steps": [step(f"s{n}") for n in range(501)]}, 1)


def test_blocks_with_explicit_dependencies_do_not_keep_a_pipeline_whole():
    held = [{"block": "Run a", "key": "block-a", "depends_on": []}, step("a", "block-a", jobs=6)]
    assert units_of(group("A", *held), group("B", step("b", jobs=6))) == [("A",), ("B",)]


@st.composite
def pipelines(draw):
    """Groups of keyed steps with dependencies in all directions."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=8))
    keys = [f"s{n}-{i}" for n, size in enumerate(sizes) for i in range(size)]
    needs = st.lists(st.sampled_from(keys), max_size=2, unique=True)
    return {
        "steps": [
            group(
                f"G{n}",
                *(
                    step(f"s{n}-{i}", *draw(needs), jobs=draw(st.integers(1, 3)))
                    for i in range(size)
                ),
            )
            for n, size in enumerate(sizes)
        ]
    }


@settings(max_examples=150, deadline=None)
@given(pipeline=pipelines(), limit=st.integers(3, 30))
def test_every_step_is_uploaded_once_after_what_it_needs_and_no_upload_is_too_large(
    pipeline, limit
):
    try:
        chunks = plan_uploads(pipeline, limit)
    except ConfigError:
        # Then what belongs together is too large: no other split would have done.
        assert sum(s["parallelism"] for g in pipeline["steps"] for s in g["steps"]) > limit
        return
    assert chunks == plan_uploads(pipeline, limit)
    place = {}
    for number, chunk in enumerate(chunks):
        for unit in yaml.safe_load(chunk.text)["steps"]:
            assert unit in pipeline["steps"]
            for inside in unit["steps"]:
                assert inside["key"] not in place
                place[inside["key"]] = number
    steps = [inside for unit in pipeline["steps"] for inside in unit["steps"]]
    assert place.keys() == {inside["key"] for inside in steps}
    assert all(place[need] <= place[s["key"]] for s in steps for need in s["depends_on"])
    assert all(1 <= chunk.jobs <= limit for chunk in chunks)
    assert sum(chunk.jobs for chunk in chunks) == sum(s["parallelism"] for s in steps)
    assert [chunk.number for chunk in chunks] == list(range(1, len(chunks) + 1))

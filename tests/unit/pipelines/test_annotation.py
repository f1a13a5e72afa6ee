"""What a build says about itself, and what it expects to take."""

from dataclasses import replace

import pytest
from unit.pipelines.factories import TINY, changes, job, options, request
from unit.pipelines.plans import plan_of

from gauntlet.pipelines.annotation import annotation
from gauntlet.pipelines.changes import ChangeSet
from gauntlet.pipelines.decide import DecideRequest, decide
from gauntlet.pipelines.estimate import estimate
from gauntlet.pipelines.sources import open_source
from gauntlet.pipelines.timings import Timings

CHAIN = (
    job("build", device="cpu", timeout_in_minutes=30),
    job("short", device="h100", num_devices=2, depends_on=("build",), timeout_in_minutes=10),
    job("long", device="h100", parallelism=3, depends_on=("build",), timeout_in_minutes=60),
    job("late", device="h100", depends_on=("long",), timeout_in_minutes=600),
)


def measured(**minutes: float) -> Timings:
    jobs = {key: (value * 60,) for key, value in minutes.items()}
    return Timings(schema_version=1, jobs=jobs)


def test_the_longest_chain_the_sum_and_the_cost():
    plan = plan_of(*CHAIN, blocked=("late",))
    found = estimate(plan, measured(build=20, short=5, long=30))
    assert found.path == ("build", "long")
    assert found.path_minutes == 50
    assert found.job_minutes == 20 + 5 + 3 * 30
    assert (found.running, found.measured) == (3, 3)
    each = {key: step.cost for key, step in found.jobs.items()}
    hourly = plan.fleet.devices["h100"].cost_per_hour
    assert each["short"] == pytest.approx(2 * hourly * 5 / 60)
    assert each["long"] == pytest.approx(3 * hourly * 30 / 60)
    assert found.cost == pytest.approx(each["build"] + each["short"] + each["long"])


def test_what_was_never_measured_counts_with_its_limit_and_is_told_apart():
    found = estimate(plan_of(*CHAIN), measured(build=20))
    assert found.measured == 1
    assert not found.jobs["long"].measured
    assert found.jobs["long"].minutes == 60
    assert found.path_minutes == 20 + 60 + 600


def test_the_median_of_several_runs_counts():
    past = Timings(schema_version=1, jobs={"build": (60.0, 600.0, 120.0)})
    assert estimate(plan_of(*CHAIN), past).jobs["build"].minutes == 2


def test_a_cost_that_is_unknown_is_not_zero():
    plan = plan_of(job("a", device="mi355_1"), job("b", device="h100"))
    unknown = replace(plan.fleet.devices["h100"], cost_per_hour=None)
    step = plan.groups[0].steps[1]
    priced = replace(step, placement=replace(step.placement, device=unknown))
    group = replace(plan.groups[0], steps=(plan.groups[0].steps[0], priced))
    found = estimate(replace(plan, groups=(group,)))
    assert found.jobs["b"].cost is None
    assert found.without_cost == 1


def text_of(*paths, jobs=None, **asked) -> str:
    result = decide(request(*paths, jobs=jobs, **asked))
    return annotation(result, estimate(result.plan))


def test_it_says_what_runs_what_waits_what_does_not_and_why():
    text = text_of("engine/sample/a.py")
    assert text.startswith("#### 7 of 9 jobs run, 1 wait for a person\n")
    assert "| 3 | declared-dependency | `engine/sample/a.py` |" in text
    assert "<details><summary>What waits for a person (1)</summary>" in text
    assert "| `large` | its tier is nightly" in text
    assert "- 1 by no-dependencies: `undeclared`" in text
    assert "7 of 7 jobs were never measured" in text


def test_it_says_why_everything_runs():
    made = replace(request(), changes=ChangeSet(unknown="first build: <none> | *yet*"))
    result = decide(made)
    text = annotation(result, estimate(result.plan))
    assert "not known what changed:** first build: &lt;none&gt; \\| \\*yet\\*" in text


def test_it_says_why_nothing_runs():
    text = text_of("docs/a.md")
    assert "#### 0 of 9 jobs run" in text
    assert "only documentation changed: docs/a.md" in text
    assert "Expected" not in text


def test_it_names_definitions_that_cannot_be_read():
    text = text_of("engine/a.py", jobs=TINY | {".buildkite/areas/bad.yaml": "a: [\n"})
    assert "Definitions that cannot be read (1)" in text
    assert ".buildkite/areas/bad.yaml" in text


@pytest.mark.parametrize("name", ["a|b.py", "a`b.py", "a\nb.py", "<b>.py"])
def test_names_of_files_cannot_break_the_table(name):
    made = replace(request(), changes=changes(f"engine/{name}"))
    result = decide(made)
    lines = annotation(result, estimate(result.plan)).split("\n")
    rows = [line for line in lines if line.startswith("| ")]
    assert rows
    for row in rows:
        cells = row.replace("\\|", "").count("|")
        assert cells in {4, 5}, row


def test_it_stays_short_enough_to_be_shown(shared):
    source = open_source(shared / "data" / "vllm-0.33.0")
    made = DecideRequest.from_source(source, changes(), options=options(nightly=True))
    result = decide(made)
    assert len(annotation(result, estimate(result.plan)).encode()) < 1 << 20

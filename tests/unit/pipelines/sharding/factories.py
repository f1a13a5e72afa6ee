"""Inventories, timings and plans for the tests of sharding."""

from hypothesis import strategies as st

from gauntlet.pipelines.sharding.inventory import CollectedCommand, Inventory, commands_sha256
from gauntlet.pipelines.sharding.planner import ShardPolicy
from gauntlet.pipelines.sharding.shell import read_commands
from gauntlet.pipelines.timings import Timings

# No overhead and no cost of a split: loads are the tests' own times.
BARE = ShardPolicy(target_s=10, overhead_s=0, split_cost_s=0, max_shards=100, least_measured=0)


def inventory(*calls, job=None):
    """An inventory whose pytest calls collect these ids; that of ``job`` where one is given."""
    argv = [arguments for _, arguments in read_commands(job.commands).pytest] if job else None
    return Inventory(
        schema_version=1,
        job=job and job.key,
        commands_sha256=job and commands_sha256(job),
        commands=tuple(
            CollectedCommand(
                index=index, argv=argv[index] if argv else ("tests",), node_ids=tuple(ids)
            )
            for index, ids in enumerate(calls)
        ),
    )


def timings(tests=None, jobs=None):
    """Timings with one duration per test, unless a list is given."""
    listed = {
        name: tuple(past) if isinstance(past, list | tuple) else (past,)
        for name, past in (tests or {}).items()
    }
    return Timings(schema_version=1, jobs=jobs or {}, tests=listed)


NODE_IDS = st.builds(
    "{}.py::{}{}{}".format,
    st.sampled_from(["a", "b", "c/d", "é"]),
    st.sampled_from(["", "TestA::", "TestB::"]),
    st.sampled_from(["test_x", "test_y"]),
    st.sampled_from(["", "[1]", "[2]", "[a::b]", "[x[y] z]", "[-]", "[☃]"]),
)
CALLS = st.lists(st.lists(NODE_IDS, min_size=1, max_size=12, unique=True), min_size=1, max_size=3)
DURATIONS = st.floats(0, 9, allow_nan=False)
PAST = st.dictionaries(NODE_IDS, st.lists(DURATIONS, min_size=1, max_size=4))

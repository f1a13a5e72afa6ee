"""Random definitions and diffs, sound and broken, as people write them: in YAML."""

import yaml
from hypothesis import strategies as st
from unit.pipelines.factories import files

from gauntlet.pipelines.changes import ChangedFile
from gauntlet.pipelines.definitions.files import DefinitionFiles

FOLDERS = ("engine", "engine/sample", "engine/sample/top", "kernels", "tests/v1", "tests/v1/sample")
ENTRIES = st.sampled_from([*FOLDERS, "kernels/", "!engine/sample", "!tests/v1/", "setup.py", ""])
PATHS = st.sampled_from(
    [
        *(f"{folder}/{name}" for folder in FOLDERS for name in ("a.py", "test_b.py")),
        "setup.py",
        "csrc/a.cu",
        "csrc/cpu/a.cpp",
        "docs/a.md",
        "README.md",
        "LICENSE",
        "brand/new.py",
        ".buildkite/areas/f0.yaml",
        ".buildkite/areas/f1.yaml",
        ".buildkite/ci_config.yaml",
        ".buildkite/elsewhere.yaml",
    ]
)
CHANGED = st.lists(
    st.builds(
        ChangedFile, path=PATHS, status=st.sampled_from("ACDMRT"), old_path=st.none() | PATHS
    ),
    max_size=5,
)
KEYS = (*(f"job-{number}" for number in range(6)), "image-build", "image-build-check")
COMMANDS = st.sampled_from(
    [
        "pytest -v -s v1/sample -m 'not slow'",
        'pytest v1 -k "a or b" --ignore=v1/sample',
        "bash run.sh $$HOME \"$BUILDKITE_COMMIT\" 'it''s'",
        'for f in *; do\n  echo "$$f"\ndone\n',
    ]
)
DEVICES = st.sampled_from(["l4", "h100", "h200_18gb", "mi355_dpx", "cpu-small", "no_such_device"])


def _optional(**fields: st.SearchStrategy) -> st.SearchStrategy:
    return st.fixed_dictionaries({}, optional=fields)


MIRRORS = _optional(
    device=st.sampled_from(["mi300_1", "mi355_dpx"]),
    optional=st.booleans(),
    dind=st.booleans(),
    source_file_dependencies=st.lists(ENTRIES, max_size=2),
)
STEPS = st.tuples(
    st.fixed_dictionaries(
        {
            "label": st.sampled_from(["A", "Kernel test %N", ":docker: Build", "ünïcode"]),
            "key": st.sampled_from(KEYS),
            "commands": st.lists(COMMANDS, min_size=1, max_size=3),
        }
    ),
    _optional(
        device=DEVICES,
        num_devices=st.integers(1, 8),
        depends_on=st.lists(st.sampled_from([*KEYS, "nobody"]), max_size=2),
        source_file_dependencies=st.lists(ENTRIES, max_size=4),
        optional=st.booleans(),
        autorun_on_main=st.booleans(),
        parallelism=st.integers(1, 4),
        soft_fail=st.booleans(),
        timeout_in_minutes=st.integers(1, 600),
        no_plugin=st.booleans(),
        env=st.dictionaries(st.sampled_from(["A", "B"]), st.integers(0, 3) | st.booleans()),
        retry=st.sampled_from([{"automatic": [{"exit_status": 1, "limit": 1}]}, {"automatic": 9}]),
        mirror=st.fixed_dictionaries({"amd": MIRRORS}),
        colour=st.just("blue"),
    ),
).map(lambda parts: parts[0] | parts[1])
JOB_FILES = st.fixed_dictionaries(
    {"group": st.sampled_from(["One", "Two"]), "steps": st.lists(STEPS, max_size=4)},
    optional={"depends_on": st.lists(st.sampled_from(KEYS), max_size=1)},
)


@st.composite
def definition_files(draw) -> DefinitionFiles:
    """Up to three files with up to four steps each; keys clash, dependencies dangle and circle."""
    drawn = draw(st.lists(JOB_FILES, max_size=3))
    texts = {
        f".buildkite/areas/f{number}.yaml": yaml.safe_dump(content)
        for number, content in enumerate(drawn)
    }
    if draw(st.booleans()):
        texts[".buildkite/areas/bad.yaml"] = "steps: [\n"
    return files(texts)

import pytest
from pydantic import Field

from gauntlet.core.errors import ConfigError
from gauntlet.core.yaml_file import (
    StrictModel,
    key_text,
    load_model,
    load_yaml,
    parse_yaml,
    validate_model,
)


class Inner(StrictModel):
    label: str
    count: int = Field(default=1, ge=1)


class Outer(StrictModel):
    name: str
    steps: tuple[Inner, ...] = ()


def problems_of(text, model=Outer):
    with pytest.raises(ConfigError) as caught:
        validate_model(parse_yaml(text, file="jobs.yaml"), model)
    return [str(problem) for problem in caught.value.problems]


def test_every_problem_is_reported_with_its_line_and_key():
    text = "name: a\nsteps:\n- label: x\n  count: 0\n- labl: y\nextra: 1\n"
    assert problems_of(text) == [
        "jobs.yaml:4: steps[0].count: Input should be greater than or equal to 1 (got 0)",
        "jobs.yaml:5: steps[1].label: required key is missing",
        "jobs.yaml:5: steps[1].labl: unknown key; did you mean 'label'?",
        "jobs.yaml:6: extra: unknown key; allowed: name, steps",
    ]


class ByName(StrictModel):
    steps: dict[str, Inner]


def test_the_nearest_key_is_found_below_names_too():
    assert problems_of("steps:\n  label: {label: x, cuont: 2}\n", ByName) == [
        "jobs.yaml:2: steps.label.cuont: unknown key; did you mean 'count'?"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: [1, 2", "flow sequence", id="syntax"),
        pytest.param("a: 1\nb: 2\na: 3\n", "jobs.yaml:3: a: key given twice", id="duplicate"),
        pytest.param("a: 1\n---\nb: 2\n", "single document", id="two-documents"),
        pytest.param("a: !!python/object:os.system x", "constructor", id="no-objects"),
    ],
)
def test_broken_yaml_names_file_and_line(text, expected):
    with pytest.raises(ConfigError, match="jobs.yaml:") as caught:
        parse_yaml(text, file="jobs.yaml")
    assert expected in caught.value.message


def test_values_are_shown_where_they_help():
    shown = problems_of("name: [1, 2]\nsteps: [{label: x, count: -1}]\n")
    assert shown[0] == "jobs.yaml:1: name: Input should be a valid string"
    assert shown[1].endswith("(got -1)")
    long = problems_of(f"name: a\nsteps: {'x' * 500}\n")[0]
    assert "..." in long
    assert len(long) < 200


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "~"])
def test_empty_documents_are_nothing_not_an_error(text):
    assert parse_yaml(text, file="x").value is None


def test_a_document_that_is_no_mapping_is_refused_with_what_was_expected():
    assert "expected a mapping with the keys name, steps, found list" in problems_of("- 1\n")[0]


def test_anchors_and_merge_keys_are_resolved():
    document = parse_yaml("base: &b {x: 1}\nuse:\n  <<: *b\n  y: 2\n", file="x")
    assert document.value["use"] == {"x": 1, "y": 2}


def test_aliases_of_aliases_are_read_once():
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
    assert parse_yaml("\n".join(lines), file="x").line(("a19",)) == 20


def test_a_missing_file_is_a_config_error(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        load_yaml(tmp_path / "none.yaml")
    (tmp_path / "latin").write_bytes(b"a: \xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_model(tmp_path / "latin", Outer)


def test_key_text():
    assert key_text(("steps", 2, "label")) == "steps[2].label"

import re

import pytest
import yaml

from gauntlet.__main__ import run
from gauntlet.core.errors import ConfigError
from gauntlet.pipelines.validation import validate_pipeline
from gauntlet.release.matrix.model import ImageCell, Matrix, WheelCell, load_matrix
from gauntlet.release.matrix.pipeline import Source, render, staged, to_yaml

SOURCE = Source(
    candidate="v1.2.0rc1",
    version="1.2.0",
    commit="c" * 40,
    staging="docker://registry.example.org/staging",
)


def steps(pipeline):
    return {step["key"]: step for group in pipeline["steps"] for step in group["steps"]}


def test_the_shipped_matrix_has_seven_wheels_and_eleven_images():
    matrix = load_matrix()
    assert [(w.variant, w.arch) for w in matrix.wheels] == [
        ("", "x86_64"), ("", "aarch64"), ("cu129", "x86_64"), ("cu129", "aarch64"),
        ("cpu", "x86_64"), ("cpu", "aarch64"), ("rocm72", "x86_64"),
    ]  # fmt: skip
    assert len(matrix.images) == 11
    platforms = {key: {c.platform for c in cells} for key, cells in matrix.manifests().items()}
    both = {"linux/amd64", "linux/arm64"}
    assert platforms == {
        ("vllm/vllm-openai", ""): both,
        ("vllm/vllm-openai", "-ubuntu2404"): both,
        ("vllm/vllm-openai", "-cu129"): both,
        ("vllm/vllm-openai", "-cu129-ubuntu2404"): both,
        ("vllm/vllm-openai-rocm", ""): {"linux/amd64"},
        ("vllm/vllm-openai-cpu", ""): both,
    }


def test_the_pipeline_is_one_that_buildkite_takes():
    text = to_yaml(render(load_matrix(), SOURCE))
    pipeline = yaml.safe_load(text)
    assert validate_pipeline(pipeline, complete=True) == ()
    assert len(steps(pipeline)) == 7 + 1 + 7 + 11 + 11 + 1


def test_each_cell_is_built_on_its_own_queue_from_the_commit_and_nothing_else():
    matrix = load_matrix()
    found = steps(render(matrix, SOURCE))
    for cell in matrix.wheels:
        assert found[f"wheel-{cell.id}"]["agents"] == {"queue": cell.queue}
        assert found[f"smoke-{cell.id}"]["agents"] == {"queue": cell.smoke_queue}
    for step in found.values():
        assert step["command"][0] == f'test "$$(git rev-parse HEAD)" = {SOURCE.commit}'


def test_every_artifact_is_tried_on_its_platform_and_collected_even_where_one_failed():
    matrix = load_matrix()
    found = steps(render(matrix, SOURCE))
    for cell in matrix.images:
        assert found[f"image-{cell.id}"]["depends_on"] == [f"wheel-{cell.wheel}"]
        assert found[f"smoke-{cell.id}"]["depends_on"] == [f"image-{cell.id}"]
    waited = found["collect"]["depends_on"]
    assert {each["step"] for each in waited} == set(found) - {"collect"}
    assert all(each["allow_failure"] for each in waited)


def test_variants_have_their_label_in_the_version():
    found = steps(render(load_matrix(), SOURCE))
    assert found["wheel-cuda130-x86_64"]["env"]["GAUNTLET_VERSION"] == "1.2.0"
    assert found["wheel-rocm-x86_64"]["env"]["GAUNTLET_VERSION"] == "1.2.0+rocm72"


def test_no_two_images_are_staged_under_one_name():
    names = [staged(cell, SOURCE) for cell in load_matrix().images]
    assert len(set(names)) == 11
    assert all(re.search(rf":{SOURCE.commit}-", name) for name in names)


def wheel(**changes):
    fields = {
        "id": "cpu", "platform_tag": "manylinux_2_28_x86_64", "queue": "q", "smoke_queue": "s",
    }  # fmt: skip
    return WheelCell(**{**fields, **changes})


def test_values_are_quoted_and_dollars_stay_the_shells():
    matrix = Matrix(
        package="engine",
        wheels=(wheel(build_args={"FLAGS": "-O2; rm -rf $HOME"}),),
    )
    (_, build, _) = steps(render(matrix, SOURCE))["wheel-cpu"]["command"]
    assert "--build-arg 'FLAGS=-O2; rm -rf $$HOME'" in build


def test_an_unknown_word_of_a_command_names_the_known_ones():
    matrix = Matrix(package="engine", wheels=(wheel(),), builders={"wheel": ["make {targe}"]})
    with pytest.raises(
        ConfigError, match=r"builders.wheel: unknown word \{targe\}.*\{build_args\}"
    ):
        render(matrix, SOURCE)


BROKEN = """\
schema_version: 1
package: engine
wheels:
  - {id: a, platform_tag: manylinux_2_28_x86_64, queue: q, smoke_queue: q}
%s
"""
IMAGE_OF_NO_WHEEL = """\
images:
  - {id: i, repository: r, platform: linux/amd64, wheel: b, queue: q, smoke_queue: q}
"""


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("  - {id: a, platform_tag: linux_x86_64, queue: q, smoke_queue: q}", "one id: a"),
        (IMAGE_OF_NO_WHEEL, "no wheel 'b' \\(there are: a\\)"),
        (
            "  - {id: b, platform_tag: manylinux_2_28_x86_64, queue: q, smoke_queue: q}",
            "two wheels that nothing tells apart: default cp38-abi3-manylinux_2_28_x86_64",
        ),
        ("  - {id: b, platform_tag: windows, queue: q, smoke_queue: q}", "platform_tag"),
        ("  - {id: b, platform_tg: linux_x86_64, queue: q, smoke_queue: q}", "platform_tag"),
    ],
)
def test_a_matrix_that_cannot_be_right_is_refused(tmp_path, more, message):
    path = tmp_path / "matrix.yaml"
    path.write_text(BROKEN % more)
    with pytest.raises(ConfigError, match=message):
        load_matrix(path)


def test_two_images_of_one_platform_in_one_manifest_are_refused():
    image = ImageCell(
        id="i", repository="r", platform="linux/amd64", wheel="cpu", queue="q", smoke_queue="q"
    )
    with pytest.raises(ValueError, match="two images of one platform in one manifest: r"):
        Matrix(
            package="engine",
            wheels=(wheel(),),
            images=(image, image.model_copy(update={"id": "j"})),
        )


def test_a_pipeline_is_for_a_whole_commit_and_a_registry(capsys, tmp_path):
    plan = ["release", "plan", "v1.2.0rc1", "--pipeline"]
    assert run([*plan, "--commit", "abc", "--staging", "docker://r.example.org"]) == 2
    assert "no whole commit id: 'abc'" in capsys.readouterr().err
    assert run([*plan, "--commit", "c" * 40]) == 2
    assert "where are images pushed before they are proven?" in capsys.readouterr().err
    assert run([*plan, "--commit", "c" * 40, "--staging", "oci:/tmp/x"]) == 2
    assert "agents share no folder" in capsys.readouterr().err
    matrix = tmp_path / "m.yaml"
    matrix.write_text(BROKEN % "")
    asked = ["--staging", "docker://r.example.org", "--matrix", str(matrix)]
    assert run([*plan, "--commit", "c" * 40, *asked]) == 0
    assert f"--commit {'c' * 40} --wheel dist/*.whl" in capsys.readouterr().out.replace("\n", "")

import pytest

from gauntlet.core.errors import ConfigError
from gauntlet.images.dockerfile import parse_dockerfile, stage_values, substitute, taken_from

TEXT = """\
# a comment
ARG BASE=python
ARG TAG=3

FROM --platform=$BUILDPLATFORM ${BASE}:${TAG} AS Build
ARG LOCK
ENV A=1 B="two words" \\
    # in the middle
    C=${A}
COPY --chown=1:1 one.txt two /there/
COPY ["with space", "/x"]
RUN --mount=type=cache,target=/cache --mount=type=secret,id=pip,target=/etc/pip.conf \\
    make all \\
    && make install
RUN <<EOF
FROM nothing
echo hello
EOF

FROM scratch
COPY --from=build /out /out
RUN --mount=from=tools,target=/t ["/t/go"]
ENTRYPOINT ["/out/run", "now"]
"""


def parsed(**args):
    return parse_dockerfile(TEXT, args, file="Dockerfile")


def test_stages_have_names_images_and_lines():
    build, last = parsed(TAG="4").stages
    assert (build.name, build.image, build.line) == ("build", "python:4", 5)
    assert build.given == "${BASE}:${TAG}"
    assert (last.name, last.image) == ("1", "scratch")


def test_sources_flags_and_lists_are_read():
    one, two = parsed().stages[0].all_of("COPY")
    assert (one.sources, one.flag("chown")) == (("one.txt", "two"), "1:1")
    assert two.sources == ("with space",)
    (entry,) = parsed().stages[1].all_of("ENTRYPOINT")
    assert entry.exec_form == ("/out/run", "now")


def test_mounts_are_read_and_a_here_document_is_no_stage():
    run, document = parsed().stages[0].all_of("RUN")
    assert [mount["type"] for mount in run.mounts] == ["cache", "secret"]
    assert run.rest == "make all && make install"
    assert (run.line, run.exec_form) == (12, None)
    assert "FROM nothing" in document.rest
    (go,) = parsed().stages[1].all_of("RUN")
    assert go.mounts[0] == {"type": "bind", "from": "tools", "target": "/t"}
    assert taken_from(parsed().stages[1]) == ("build", "tools")


def test_variables_of_a_stage_are_its_own_and_build_on_each_other():
    document = parsed()
    values = stage_values(document.stages[0], document.head, {"LOCK": "cpu"})
    assert values == {"LOCK": "cpu", "A": "1", "B": "two words", "C": "1"}
    assert stage_values(document.stages[1], document.head, {"LOCK": "cpu"}) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("$A-${A}", "x-x"), ("${B:-y}${A:-y}", "yx"), ("${A:+z}${B:+z}", "z"), (r"\$A", r"\$A")],
)
def test_variables_are_put_in_as_dockerfiles_do(text, expected):
    assert substitute(text, {"A": "x"}) == expected


def test_what_a_stage_needs_goes_through_copies_and_mounts():
    document = parsed()
    assert [stage.name for stage in document.needed("1")] == ["build", "1"]
    assert [stage.name for stage in document.chain("1")] == ["1"]
    assert document.chain("nowhere") == ()


def test_a_stage_named_like_its_image_is_no_circle():
    document = parse_dockerfile("FROM python AS python\n", {}, file="Dockerfile")
    assert len(document.chain("python")) == 1


@pytest.mark.parametrize("text", ["", "ARG A\n", "FROM x\nWHAT\n"])
def test_what_is_no_dockerfile_is_said_with_its_line(text):
    with pytest.raises(ConfigError, match=r"Dockerfile(:2)?: (there is no FROM|no instruction)"):
        parse_dockerfile(text, {}, file="Dockerfile")

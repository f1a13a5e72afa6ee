from dataclasses import replace

import pytest
from image_targets import DOCKERFILE, a_repository

from gauntlet.images.ancestry import Subject, check_ancestry, check_head, check_pair
from gauntlet.images.dockerfile import parse_dockerfile
from gauntlet.images.verify import verify


def subject(folder, dockerfile=DOCKERFILE, name="small", **more):
    images = a_repository(folder, dockerfile=dockerfile, **more)
    target = images.manifest.targets[name]
    parsed = parse_dockerfile(dockerfile, {"PYTHON_BASE": "x@y"}, file="Dockerfile")
    return Subject(name=name, target=target, dockerfile=parsed, bases=images.base_of(target))


def test_a_good_one_has_no_findings(tmp_path):
    for name in ("small", "small-test"):
        assert check_ancestry(subject(tmp_path, name=name)) == ()


@pytest.mark.parametrize(
    ("old", "new", "check", "where", "said"),
    [
        (
            "FROM runtime AS release",
            "FROM base AS release",
            "image-ancestry",
            16,
            "not FROM 'runtime'",
        ),
        ("FROM runtime AS release", "FROM build AS release", "image-toolchain", 5, "toolchain"),
        (
            "FROM runtime AS release",
            "FROM runtime AS more\nFROM more AS release",
            "image-ancestry",
            16,
            "between",
        ),
        ("FROM base AS runtime", "FROM python:3 AS runtime", "image-base", 9, "neither a stage"),
        ("ARG LOCK", "ARG LOCK\nCOPY --from=tools:1 /t /t", "image-base", 9, "from tools:1"),
        ("USER 10001:10001", "USER root", "image-user", 17, "USER root"),
        ("USER 10001:10001", "USER 0:0", "image-user", 17, "USER 0:0"),
        ("USER 10001:10001", "USER engine", "image-user", 17, "by number"),
        ("USER 10001:10001\n", "", "image-user", 16, "no USER"),
        ('ENTRYPOINT ["small"]', "ENTRYPOINT small", "image-entrypoint", 18, "keeps signals"),
        ('ENTRYPOINT ["small"]\n', "", "image-entrypoint", 16, "no ENTRYPOINT"),
        ("ARG LOCK", "ARG LOCK\nARG HF_TOKEN", "image-secret", 11, "HF_TOKEN"),
        ("ARG LOCK", "ARG LOCK\nENV API_KEY=x", "image-secret", 11, "API_KEY"),
        ("ARG LOCK", "ARG LOCK\nCOPY pip.conf /etc/pip.conf", "image-secret", 11, "pip.conf"),
        ("ARG LOCK", "ARG LOCK\nCOPY keys/id_rsa /x", "image-secret", 11, "id_rsa"),
        (
            "ARG LOCK",
            "ARG LOCK\nENV PIP_INDEX_URL=https://i.example.org",
            "image-index",
            11,
            "index",
        ),
        (
            "ARG LOCK",
            "ARG LOCK\nADD https://example.org/x.tgz /",
            "image-add",
            11,
            "what comes back",
        ),
        (
            "ARG LOCK",
            "ARG LOCK\nARG BUILD_DATE\nLABEL a.created=$BUILD_DATE",
            "image-label",
            12,
            "another",
        ),
        ('"--require-hashes", ', "", "image-hashes", 12, "without its hashes"),
        ('"--no-index", ', "", "image-hashes", 13, "no lock pins"),
        ("ARG LOCK", "ARG LOCK\nRUN pip install -U pip", "image-hashes", 11, "no lock pins"),
        (
            "ARG LOCK",
            "ARG LOCK\nRUN git clone https://me:word@code.example.org/x",
            "image-secret",
            11,
            "password",
        ),
    ],
)
def test_each_mistake_is_found_with_its_line_and_a_remedy(tmp_path, old, new, check, where, said):
    assert old in DOCKERFILE
    found = check_ancestry(subject(tmp_path, DOCKERFILE.replace(old, new)))
    (one,) = [finding for finding in found if finding.check == check]
    assert one.subject == f"Dockerfile:{where}"
    assert said in one.message
    assert one.remedy


def test_a_base_without_a_digest_or_a_platform_is_found(tmp_path):
    (found,) = check_ancestry(subject(tmp_path, digest=None))
    assert (found.check, found.remedy) == ("image-base", "run: gauntlet images bases update")
    good = subject(tmp_path)
    wider = good.target.model_copy(update={"platforms": ("linux/amd64", "linux/arm64")})
    (found,) = check_ancestry(replace(good, target=wider))
    assert "not for linux/arm64" in found.message


def test_a_stage_that_there_is_not_is_said(tmp_path):
    good = subject(tmp_path)
    (found,) = check_ancestry(
        replace(good, target=good.target.model_copy(update={"stage": "releases"}))
    )
    assert "releases" in found.message
    assert "release" in found.remedy


def test_a_secret_above_the_first_stage_is_found(tmp_path):
    (found,) = check_head(subject(tmp_path, f"ARG AWS_SECRET_ACCESS_KEY\n{DOCKERFILE}"))
    assert found.subject == "Dockerfile:1"


def test_a_test_of_another_runtime_is_found(tmp_path):
    release, test = subject(tmp_path), subject(tmp_path, name="small-test")
    assert check_pair(release, test) == ()
    odd = test.target.model_copy(update={"args": {"LOCK": "other"}})
    (found,) = check_pair(release, replace(test, target=odd))
    assert "LOCK is 'other', and 'small' in small" in found.message


def test_verify_asks_for_locks_and_a_fresh_bake_file(tmp_path):
    images = a_repository(tmp_path)
    (tmp_path / "lockfiles/small.txt").unlink()
    checks = {finding.check for finding in verify(images).findings}
    assert {"image-lock", "image-bake"} <= checks

"""Provenance and bills of materials."""

import json
from datetime import timedelta, timezone

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from engine_repository import pure_wheel
from factories import NOON

from gauntlet.release.artifacts import Artifact
from gauntlet.release.proof.envelope import IN_TOTO, open_envelope_file
from gauntlet.release.proof.errors import ProofError
from gauntlet.release.proof.keys import load_private_key, new_key
from gauntlet.release.proof.provenance import (
    PREDICATE,
    STATEMENT,
    Build,
    differing,
    parse_statement,
    provenance,
    statement_bytes,
)
from gauntlet.release.proof.sbom import wheel_sbom
from gauntlet.release.proof.signers import KeySigner, SigstoreSigner
from gauntlet.release.wheels.facts import read_wheel

COMMIT = "c" * 40


def artifact(name, digit="1"):
    return Artifact(kind="wheel", name=name, digest=f"sha256:{digit * 64}", size_bytes=1)


def build(**more):
    plain = {
        "build_type": "https://example.org/gauntlet/build/v1",
        "source": "https://example.org/engine.git",
        "ref": "v1.2.0rc2",
        "commit": COMMIT,
        "builder": "https://example.org/agents/cpu_queue_release",
        "invocation": "https://example.org/builds/77",
        "parameters": {"cell": "cpu-x86_64"},
        "started": NOON,
        "finished": NOON + timedelta(minutes=5),
    }
    return Build.model_validate({**plain, **more})


ARTIFACTS = [artifact("b.whl", "2"), artifact("a.whl")]


def test_a_statement_has_the_form_of_slsa_v1():
    told = json.loads(statement_bytes(provenance(ARTIFACTS, build())))
    assert (told["_type"], told["predicateType"]) == (STATEMENT, PREDICATE)
    assert told["subject"] == [
        {"name": "a.whl", "digest": {"sha256": "1" * 64}},
        {"name": "b.whl", "digest": {"sha256": "2" * 64}},
    ]
    definition, run = told["predicate"]["buildDefinition"], told["predicate"]["runDetails"]
    assert definition["externalParameters"]["cell"] == "cpu-x86_64"
    assert definition["resolvedDependencies"] == [
        {
            "uri": "git+https://example.org/engine.git@refs/tags/v1.2.0rc2",
            "digest": {"gitCommit": COMMIT},
        }
    ]
    assert run["builder"] == {"id": "https://example.org/agents/cpu_queue_release"}
    assert set(run["metadata"]) == {"invocationId", "startedOn", "finishedOn"}
    assert run["metadata"]["startedOn"].endswith("Z")


def test_equal_builds_give_equal_bytes_in_any_time_zone_and_order():
    east = NOON.astimezone(timezone(timedelta(hours=9)))
    one = statement_bytes(provenance(ARTIFACTS, build()))
    assert statement_bytes(provenance(ARTIFACTS[::-1], build(started=east))) == one
    assert statement_bytes(parse_statement(one, what="x")) == one


def test_artifacts_that_it_does_not_vouch_for_are_named():
    statement = provenance(ARTIFACTS, build())
    assert differing(statement, ARTIFACTS) == []
    assert differing(statement, [artifact("a.whl", "9"), artifact("new.whl")]) == [
        "a.whl",
        "new.whl",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Statement/v1", b"Statement/v2"),
        (b"provenance/v1", b"provenance/v0.2"),
        (b'"subject":[', b'"subjects":['),
        (b'"buildType"', b'"kind"'),
        (b"2" * 64, b"2" * 10),
        (
            b"{",
            b"",
        ),
    ],
)
def test_another_kind_of_statement_is_refused(old, new):
    data = statement_bytes(provenance(ARTIFACTS, build()))
    assert old in data
    with pytest.raises(ProofError, match="x: no provenance of this kind"):
        parse_statement(data.replace(old, new, 1), what="x")


def test_a_signed_statement_comes_back_whole(tmp_path):
    public = new_key(tmp_path / "k")
    statement = provenance(ARTIFACTS, build())
    signer = KeySigner(load_private_key(tmp_path / "k"))
    (path,) = signer.sign_statement(statement, tmp_path / "provenance")
    assert path == tmp_path / "provenance.intoto.jsonl"
    data = open_envelope_file(path, IN_TOTO, public)
    assert parse_statement(data, what=str(path)) == statement


def test_sigstore_signs_the_statement_as_it_stands(tmp_path):
    program = tmp_path / "cosign"
    program.write_text('#!/bin/sh\necho "{}" > "$4"\n')
    program.chmod(0o755)
    statement = provenance(ARTIFACTS, build())
    path, bundle = SigstoreSigner(str(program)).sign_statement(statement, tmp_path / "p")
    assert parse_statement(path.read_bytes(), what="x") == statement
    assert bundle.name == "p.intoto.json.sigstore.json"


def test_a_bill_of_materials_lists_files_and_requirements_and_is_valid(tmp_path):
    facts = read_wheel(pure_wheel(tmp_path, version="1.2.0+cpu"))
    data = wheel_sbom(facts, at=NOON)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(data.decode()) is None
    told = json.loads(data)
    main = told["metadata"]["component"]
    assert main["purl"].startswith("pkg:pypi/tinyengine@1.2.0%2Bcpu?file_name=")
    assert main["hashes"] == [{"alg": "SHA-256", "content": facts.sha256}]
    assert [c["name"] for c in main["components"]] == sorted(m.name for m in facts.members)
    (needed,) = told["components"]
    assert (needed["name"], needed["scope"]) == ("small-dependency", "required")
    assert needed["properties"] == [
        {"name": "gauntlet:requirement", "value": "small-dependency>=1"}
    ]
    assert {"ref": main["bom-ref"], "dependsOn": [needed["bom-ref"]]} in told["dependencies"]


def test_a_bill_of_materials_is_the_same_for_the_same_wheel_and_time(tmp_path):
    facts = read_wheel(pure_wheel(tmp_path))
    east = NOON.astimezone(timezone(timedelta(hours=9)))
    assert wheel_sbom(facts, at=NOON) == wheel_sbom(facts, at=east)
    later = json.loads(wheel_sbom(facts, at=NOON + timedelta(days=1)))
    first = json.loads(wheel_sbom(facts, at=NOON))
    assert later["serialNumber"] == first["serialNumber"]
    assert later["metadata"]["timestamp"] != first["metadata"]["timestamp"]
    other = read_wheel(pure_wheel(tmp_path / "x", version="1.2.1"))
    assert json.loads(wheel_sbom(other, at=NOON))["serialNumber"] != first["serialNumber"]


def test_extras_are_optional_and_one_project_is_one_component(tmp_path):
    facts = read_wheel(pure_wheel(tmp_path))
    with_extras = (
        "torch==2.9; python_version >= '3.10'",
        "Torch==2.8; python_version < '3.10'",
        "pytest>=8; extra == 'test'",
        "not a requirement at all",
    )
    from dataclasses import replace

    changed = replace(facts, metadata=replace(facts.metadata, requires=with_extras))
    told = json.loads(wheel_sbom(changed, at=NOON))
    scopes = {c["name"]: (c["scope"], len(c["properties"])) for c in told["components"]}
    assert scopes == {
        "torch": ("required", 2),
        "pytest": ("optional", 1),
        "not-a-requirement-at-all": ("required", 1),
    }

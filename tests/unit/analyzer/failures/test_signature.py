"""The same failure on another day has the same signature; another failure has another."""

import pytest

from gauntlet.analyzer.failures.signature import masked


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("allocate 4.39 GiB, process 48849", "allocate 12.00 GiB, process 7"),
        ("/tmp/pytest-of-ci/pytest-3/a.txt is gone", "/tmp/pytest-of-ci/pytest-9/b.txt is gone"),
        ("/__w/repo/src/a.cpp:12:7: error: no x", "/home/ci/src/a.cpp:99:1: error: no x"),
        ("at 0x7f00deadbeef", "at 0x7f11"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-e89b-12d3-a456-426614174000"),
        ("at 2026-01-02T03:04:05.678Z", "at 2027-11-12T13:14:15.1Z"),
        ("10.0.0.1:6379 is down", "10.0.0.22:6380 is down"),
        (f"commit {'050ce9e122' * 4}", f"commit {'f2c14040ce' * 4}"),
        ("localhost:8000 refused", "localhost:8123 refused"),
    ],
)  # fmt: skip
def test_what_changes_by_run_is_left_out(one, other):
    assert masked(one) == masked(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("FAILED t/a.py::test_b[16]", "FAILED t/a.py::test_b[32]"),
        ("KeyError: layer", "ValueError: layer"),
        ("GET https://huggingface.co/api/x", "GET https://packages.example.org/api/x"),
        ("src/a.cpp: error", "src/b.cpp: error"),
        ("No module named tiktoken", "No module named xgrammar"),
    ],
)
def test_what_names_the_failure_stays(one, other):
    assert masked(one) != masked(other)


def test_credentials_of_a_url_never_get_into_a_signature():
    assert "s3cret" not in masked("GET https://ann:s3cret@files.example.com/x?token=s3cret failed")

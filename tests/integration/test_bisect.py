"""The real command on real repositories: it names the commit that was made to break."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from repositories import Repository

BROKEN = "x=1\n"
CHECK = 'if [ -e unbuildable.txt ]; then exit 125; fi; . ./a.sh; test "$x" != 1'
# Counts its runs in a file outside of any worktree; each fifth fails although nothing is broken.
FLAKY = (
    'n=$(cat "$COUNTER" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$COUNTER"; '
    '. ./a.sh; [ $((n % 5)) != 3 ] && test "$x" != 1'
)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return Repository(tmp_path / "the repository")


def grow(repository, count=24, *, broken_at=17, unbuildable=(), repaired_at=(), again_at=()):
    """Commits 0 … count; returns their ids."""
    shas = [repository.commit("start", a_sh="x=0\n")]
    for number in range(1, count + 1):
        files = {f"f{number}_txt": f"{number}\n"}
        if number == broken_at or number in again_at:
            files["a_sh"] = BROKEN
        if number in repaired_at:
            files["a_sh"] = "x=0\n"
        if number in unbuildable:
            files["unbuildable_txt"] = "x\n"
        elif number - 1 in unbuildable:
            repository.git("rm", "-q", "unbuildable.txt")
        shas.append(repository.commit(f"Change {number} (#{100 + number})", **files))
    return shas


def argv(repository, *options, check=CHECK, good="HEAD~24", bad="HEAD"):
    where = ["--repo", str(repository.path), "--good", good, "--bad", bad]
    return [sys.executable, "-m", "gauntlet", "bisect", *where, *options, "--", "sh", "-c", check]


def run(repository, *options, status=0, env=(), **asked):
    done = subprocess.run(
        argv(repository, "--json", *options, **asked),
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **dict(env)},
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout) if done.stdout else done.stderr


def untouched(repository):
    assert repository.git("status", "--porcelain") == ""
    assert repository.git("worktree", "list", "--porcelain").count("worktree ") == 1


def test_a_branch_without_the_culprit_is_left_where_it_is_asked_for(repository):
    shas = grow(repository, 12, broken_at=9)
    found = run(repository, "--revert-branch", "revert/nine", good="HEAD~12")
    assert found["revert"]["culprit"] == shas[9]
    assert found["revert"]["commit"] == repository.git("rev-parse", "revert/nine").strip()
    assert repository.git("show", "revert/nine:a.sh").strip() == "x=0"
    assert repository.git("rev-parse", "revert/nine^").strip() == shas[12]
    again = run(repository, "--revert-branch", "revert/nine", good="HEAD~12")
    assert again["revert"]["commit"] == found["revert"]["commit"]
    untouched(repository)


def test_the_commit_that_broke_a_command_is_found_and_proven(repository, tmp_path):
    shas = grow(repository)
    found = run(repository)
    assert found["outcome"] == "culprit"
    culprit = found["culprit"]
    assert (culprit["sha"], culprit["title"]) == (shas[17], "Change 17 (#117)")
    assert (culprit["author"], culprit["pull_request"]) == ("Ada", 117)
    assert culprit["verified"]
    assert culprit["reverting_alone_repairs"]
    assert culprit["probability"] >= 0.9999
    assert shas[17] in found["reproduce"]
    assert found["runs"] == len(found["steps"]) <= 20
    seen = {(step["sha"], step["outcome"]) for step in found["steps"]}
    assert {(shas[17], "failed"), (shas[16], "passed")} <= seen
    untouched(repository)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_dirty_tree_and_the_folder_of_the_caller_stay_as_they_are(repository):
    grow(repository)
    (repository.path / "a.sh").write_text("mine\n")
    (repository.path / "new.txt").write_text("mine too\n")
    before = repository.git("status", "--porcelain")
    assert run(repository)["outcome"] == "culprit"
    assert repository.git("status", "--porcelain") == before
    assert (repository.path / "a.sh").read_text() == "mine\n"


def test_a_flaky_command(repository, tmp_path):
    shas = grow(repository)
    env = {"COUNTER": str(tmp_path / "counter")}
    found = run(repository, "--flake-rate", "0.2", check=FLAKY, env=env)
    assert found["culprit"]["sha"] == shas[17]


def test_commits_that_cannot_be_built_are_skipped(repository):
    shas = grow(repository, unbuildable=(12, 13, 20))
    found = run(repository, "--jobs", "3")
    assert found["culprit"]["sha"] == shas[17]


def test_a_culprit_among_commits_that_cannot_be_built_is_a_range(repository):
    shas = grow(repository, unbuildable=(15, 16))
    # The breaking commit is the first that can be built again.
    found = run(repository, status=5)
    assert found["outcome"] == "range"
    assert found["culprit"] is None
    assert found["range"] == {"first": shas[15], "last": shas[17]}
    assert {each["sha"] for each in found["suspects"]} == set(shas[15:18])


@pytest.mark.slow
def test_a_failing_build_command_is_no_failure(repository):
    shas = grow(repository, unbuildable=(12, 13))
    build = ("--build-command", "test ! -e unbuildable.txt")
    found = run(repository, *build, check='. ./a.sh; test "$x" != 1')
    assert found["culprit"]["sha"] == shas[17]
    assert all(step["outcome"] != "failed" for step in found["steps"] if step["sha"] in shas[:17])


def test_a_merge_is_one_commit_of_the_first_parents(repository):
    shas = grow(repository, 8, broken_at=0)
    repository.git("checkout", "-q", "-b", "side", shas[4])
    for number in range(3):
        repository.commit(f"Side {number}", s_txt=f"{number}\n")
    repository.commit("Side breaks", a_sh=BROKEN)
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "Merge pull request #7 from side", "side")
    merge = repository.head()
    for number in range(6):
        repository.commit(f"After {number}", t_txt=f"{number}\n")
    found = run(repository, good=shas[2])
    assert (found["culprit"]["sha"], found["culprit"]["pull_request"]) == (merge, 7)


def test_a_failure_that_was_repaired_and_came_back_has_both_culprits(repository):
    shas = grow(repository, broken_at=5, repaired_at=(12,), again_at=(20,))
    found = run(repository, "--jobs", "4")
    named = {found["culprit"]["sha"], *(each["sha"] for each in found["others"])}
    assert shas[20] in named
    assert all(sha in {shas[5], shas[20]} for sha in named)


def test_two_independent_culprits_are_both_found(repository):
    shas = [repository.commit("start", a_sh="x=0\n", b_sh="y=0\n")]
    for number in range(1, 25):
        files = {f"f{number}_txt": "x\n"}
        files |= {"a_sh": BROKEN} if number == 7 else {}
        files |= {"b_sh": "y=1\n"} if number == 18 else {}
        shas.append(repository.commit(f"Change {number}", **files))
    found = run(repository, check='. ./a.sh; . ./b.sh; test "$x$y" = 00')
    assert found["culprit"]["sha"] == shas[7]
    assert not found["culprit"]["reverting_alone_repairs"]
    assert [each["sha"] for each in found["others"]] == [shas[18]]


@pytest.mark.parametrize(
    ("check", "outcome"),
    [
        pytest.param("true", "nobody", id="bad-passes"),
        pytest.param("false", "environment", id="good-fails"),
    ],
)
def test_where_no_commit_did_it_none_is_named(repository, check, outcome):
    grow(repository, 6)
    found = run(repository, check=check, good="HEAD~6", status=3)
    assert (found["outcome"], found["culprit"]) == (outcome, None)


def test_a_budget_that_ends_names_suspects_and_the_run_that_would_separate_them(repository):
    shas = grow(repository)
    found = run(repository, "--budget-runs", "5", status=5)
    assert (found["outcome"], found["runs"], found["culprit"]) == ("exhausted", 5, None)
    assert shas[17] in {each["sha"] for each in found["suspects"]}
    assert found["separate"] in shas
    again = run(repository)
    assert again["culprit"]["sha"] == shas[17]
    assert [step["from_journal"] for step in again["steps"]][:6] == [True] * 5 + [False]


def test_a_step_of_a_number_is_found(repository):
    shas = [repository.commit("start", value_txt="10.0")]
    for number in range(1, 13):
        value = 10.4 if number >= 8 else 10.0
        shas.append(repository.commit(f"Change {number}", value_txt=str(value), n_txt=str(number)))
    code = (
        "import json,os,random; random.seed(os.environ['GAUNTLET_RUN']); "
        "v = float(open('value.txt').read()) * random.gauss(1, .01); "
        "print('warming up'); print(json.dumps({'points': [{'tpot_ms': v}]}))"
    )
    command = f'{sys.executable} -c "{code}"'
    levels = ("--before", "10", "--after", "10.4", "--noise-percent", "1")
    asked = {"check": command, "good": shas[0]}
    found = run(repository, "--metric", "points.0.tpot_ms", *levels, **asked)
    assert found["culprit"]["sha"] == shas[8]
    assert found["culprit"]["verified"]


def test_killed_in_the_middle_it_goes_on_where_it_was(repository, tmp_path):
    shas = grow(repository)
    slow = f"echo x >> {tmp_path}/ran; sleep 0.05; {CHECK}"
    command = argv(repository, "--json", check=slow)
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    for _ in range(4):
        assert process.stderr.readline()
    process.kill()
    process.communicate()
    left = list((tmp_path / "tmp").iterdir())
    assert left, "a killed process leaves its folder"
    deadline = time.monotonic() + 30
    found = None
    while found is None:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        # The killed one's lock is free as soon as it is gone.
        assert done.returncode == 0 or time.monotonic() < deadline, done.stderr
        found = json.loads(done.stdout) if done.returncode == 0 else None
    assert found["culprit"]["sha"] == shas[17]
    assert sum(step["from_journal"] for step in found["steps"]) >= 3
    assert not any(each.is_dir() for each in (tmp_path / "tmp").iterdir())
    untouched(repository)


def test_a_run_that_ended_beside_others_is_kept_though_they_are_killed(repository):
    grow(repository)
    bad = repository.head()
    # The good commit never ends: only what the journal has of the bad one survives.
    check = f"test $GAUNTLET_COMMIT = {bad} || sleep 60; {CHECK}"
    process = subprocess.Popen(
        argv(repository, "--jobs", "2", check=check),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline, kept = time.monotonic() + 60, []
    while not kept and time.monotonic() < deadline:
        time.sleep(0.05)
        for journal in (repository.path / ".git").rglob("journal.jsonl"):
            kept = journal.read_text().splitlines()[1:]
    process.kill()
    process.communicate()
    assert [json.loads(line)["sha"] for line in kept] == [bad]


def test_interrupted_it_cleans_up_and_says_how_to_go_on(repository, tmp_path):
    grow(repository)
    command = argv(repository, "--jobs", "2", check=f"sleep 0.3; {CHECK}")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command continues" in said
    assert not any(each.is_dir() for each in (tmp_path / "tmp").iterdir())
    untouched(repository)


@pytest.mark.slow
def test_two_searches_of_one_repository_at_once(repository):
    shas = grow(repository)
    other = CHECK + " || exit 7"
    slow = [argv(repository, "--json", check=f"sleep 0.05; {each}") for each in (CHECK, other)]
    running = [
        subprocess.Popen(each, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for each in slow
    ]
    found = [json.loads(process.communicate(timeout=120)[0]) for process in running]
    assert [each["culprit"]["sha"] for each in found] == [shas[17]] * 2
    untouched(repository)


def test_the_very_same_search_twice_at_once_is_refused(repository):
    grow(repository)
    command = argv(repository, "--json", check=f"sleep 0.2; {CHECK}")
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    first.stderr.readline()
    second = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=60)
    assert second.returncode == 4
    assert "another process runs this very search" in second.stderr

"""A small language for histories: a letter a commit, a word a job, oldest first."""

from datetime import UTC, datetime, timedelta

from gauntlet.analyzer.culprits.model import Commit
from gauntlet.analyzer.incidents.history import History, Run

START = datetime(2026, 11, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)

# P passed; F, G, H failed, each with a signature of its own; I failed by the machine; . not run;
# X failed, then passed when run again; E passed, and failed when run again a day later;
# D failed twice; Q passed twice.
ATTEMPTS = {
    "P": "p",
    "F": "f",
    "G": "g",
    "H": "h",
    "I": "i",
    ".": "",
    "X": "fp",
    "E": "pf",
    "D": "ff",
    "Q": "pp",
    "J": "if",
}

SIGNATURES = {
    "p": "",
    "f": "KeyError in load_weights",
    "g": "undefined symbol in _C.so",
    "h": "assert logprobs == expected",
    "i": "no CUDA device",
}


def sha(number):
    return f"{number:03d}{'c' * 37}"


def commit(number, **changes):
    fields = {
        "sha": sha(number),
        "title": f"Change {number}",
        "author": f"author-{number}",
        "committed_at": START + number * HOUR,
        "pull_request": 1000 + number,
        "paths": (f"engine/part_{number}.py",),
    }
    return Commit(**{**fields, **changes})


def run(job, number, letter, attempt=0, **changes):
    late = changes.pop("late", False)
    later = timedelta(days=1) if letter == "f" and attempt and late else HOUR
    fields = {
        "job_id": f"{job}/{number}/{attempt}/{changes.get('shard')}",
        "job_key": job,
        "sha": sha(number),
        "at": START + number * HOUR + (attempt + 1) * later,
        "outcome": {"p": "passed", "i": "infra"}.get(letter, "failed"),
        "group_key": "kernels",
        "queue": "l4",
        "host": f"host-{number % 3}",
        "failure_class": {"p": "", "i": "infra_machine"}.get(letter, "test_regression"),
        "signature": SIGNATURES[letter],
        "line": SIGNATURES[letter],
    }
    return Run(**{**fields, **changes})


def runs(job, letters, first=1, **changes):
    """The runs of one job: ``runs("kernels", "PPPFF")`` is five commits."""
    return [
        run(job, first + index, outcome, attempt, late=letter == "E", **changes)
        for index, letter in enumerate(letters)
        for attempt, outcome in enumerate(ATTEMPTS[letter])
    ]


def reported(job, rows, first=1, **changes):
    """Runs with reports: a dict of test to letters; ``-`` is a test that did not exist."""
    length = max(len(letters) for letters in rows.values())
    found = []
    for index in range(length):
        said = {test: letters[index] for test, letters in rows.items()}
        failing = frozenset(test for test, letter in said.items() if letter == "F")
        found.append(
            run(
                job,
                first + index,
                "f" if failing else "p",
                failing=failing,
                passing=frozenset(test for test, letter in said.items() if letter == "P"),
                reported=True,
                **changes,
            )
        )
    return found


def history(*parts, commits=40, changed=None):
    """A history of the parts; ``changed`` gives fields of commits by number."""
    every = [run for part in parts for run in part]
    last = max((int(run.sha[:3]) for run in every), default=0)
    made = [commit(n, **(changed or {}).get(n, {})) for n in range(1, min(commits, last) + 1)]
    return History.of(made, every, START + timedelta(days=9))

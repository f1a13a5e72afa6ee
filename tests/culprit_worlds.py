"""Made histories, and an investigation driven over them without a machine."""

import random

from gauntlet.analyzer.culprits.investigation import Case, Investigation
from gauntlet.analyzer.culprits.model import Commit, ProbeResult
from gauntlet.analyzer.culprits.rates import Rates

SURE = Rates.around(0.0, 1.0)


def case_of(n, **settings):
    commits = tuple(Commit(sha=f"{place:03}") for place in range(1, n + 1))
    given = {"prior": (1.0,) * n, "rates": SURE} | settings
    return Case(good=Commit(sha="000"), commits=commits, **given)


def drive(case, outcome_at, *, most=400):
    """Run an investigation; ``outcome_at(sha)`` is an outcome, or a number. Returns it and runs."""
    investigation, ran = Investigation(case), []
    course = investigation.run()
    try:
        ask = next(course)
        while len(ran) < most:
            results = [_result(sha, outcome_at(sha)) for sha in ask.shas]
            ran += [(ask.stage, result.sha, result.outcome) for result in results]
            ask = course.send(results)
    except StopIteration:
        pass
    return investigation, ran


def _result(sha, told):
    if isinstance(told, float):
        return ProbeResult(sha=sha, outcome="passed", seconds=1.0, value=told)
    return ProbeResult(sha=sha, outcome=told, seconds=1.0)


def flaky(broken, *, seed, flake=0.0, fails=1.0):
    """Outcomes of commits that ``broken(place)`` says are broken."""
    chance = random.Random(seed)

    def outcome_at(sha):
        return "failed" if chance.random() < (fails if broken(int(sha)) else flake) else "passed"

    return outcome_at

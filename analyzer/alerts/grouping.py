"""Which readings have one cause. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from gauntlet.analyzer.alerts.model import RANKS, Reading

_LEAST_QUEUES = 3
_SHARE_OF_QUEUES = 0.8
_OUTAGES = frozenset({"hub-outage", "broken-dependency"})


def group(hot: Sequence[Reading]) -> list[list[Reading]]:
    """Put readings that share a cause together, what explains the others first.

    A cause counts where as many readings show it as it asks for. Waiting queues belong to an
    outage where nearly all of them have failures of it.
    """
    shown: dict[str, list[int]] = defaultdict(list)
    least: dict[str, int] = {}
    for index, reading in enumerate(hot):
        for cause in reading.causes:
            shown[cause.key].append(index)
            least[cause.key] = max(cause.least, least.get(cause.key, 1))
    roots = list(range(len(hot)))

    def root(index: int) -> int:
        while roots[index] != index:
            index = roots[index]
        return index

    for key, found in shown.items():
        if len(found) >= least[key]:
            for index in found[1:]:
                roots[root(index)] = root(found[0])
    groups: dict[int, list[Reading]] = defaultdict(list)
    for index, reading in enumerate(hot):
        groups[root(index)].append(reading)
    return [sorted(each, key=_order) for each in _under_outages(list(groups.values()))]


def _under_outages(groups: list[list[Reading]]) -> Iterable[list[Reading]]:
    """Give waiting queues to the outage that shows on them."""
    outages = [each for each in groups if any(r.measure in _OUTAGES for r in each)]
    kept = []
    for each in groups:
        names = {reading.name for reading in each if reading.measure == "queue-wait"}
        alone = len(names) == len(each) and len(names) >= _LEAST_QUEUES
        covered = [(len(names & _queues(outage)), outage) for outage in outages] if alone else []
        most, outage = max(covered, key=lambda found: found[0], default=(0, []))
        if most and most >= _SHARE_OF_QUEUES * len(names):
            outage.extend(each)
        else:
            kept.append(each)
    return kept


def _queues(readings: Iterable[Reading]) -> set[str]:
    return {queue for reading in readings for queue in reading.queues}


def _order(reading: Reading) -> tuple[int, float, str]:
    return RANKS[reading.measure], -reading.value, reading.name

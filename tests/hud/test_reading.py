"""One question is asked once for all viewers, anew behind their backs, and never lost."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gauntlet.core.errors import ExternalServiceError, InfrastructureError, UsageError
from gauntlet.hud.reading import Reader, shared_reader


class SlowStore:
    """A store of one column that counts; ``broken`` makes it fail as a server that went away."""

    def __init__(self, counts):
        self.counts = counts

    def sql(self, _text, _parameters, settings):
        assert settings["max_execution_time"] > 0
        with self.counts.lock:
            self.counts.asked += 1
            number = self.counts.asked
            self.counts.at_once += 1
            self.counts.most_at_once = max(self.counts.most_at_once, self.counts.at_once)
        time.sleep(self.counts.takes_s)
        with self.counts.lock:
            self.counts.at_once -= 1
        if self.counts.broken:
            msg = "the server went away"
            raise ExternalServiceError(msg)
        return [{"number": number, "text": "x" * self.counts.wide}]

    def close(self):
        self.counts.closed += 1


class Counts:
    def __init__(self):
        self.lock = threading.Lock()
        self.asked = self.opened = self.closed = self.at_once = self.most_at_once = 0
        self.takes_s, self.wide, self.broken = 0.02, 1, False

    def open(self, _location):
        self.opened += 1
        return SlowStore(self)


@pytest.fixture
def counts():
    return Counts()


@pytest.fixture
def make(counts):
    made = []

    def reader(**options):
        made.append(Reader("somewhere", opener=counts.open, **options))
        return made[-1]

    yield reader
    for each in made:
        each.close()


def until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_ten_viewers_at_once_ask_one_question_once(make, counts):
    reader = make()
    with ThreadPoolExecutor(10) as viewers:
        answers = list(viewers.map(lambda _: reader.rows("runs"), range(10)))
    assert counts.asked == 1
    assert len({answer.read_at for answer in answers}) == 1
    assert reader.asked == {"runs": 1}


def test_other_parameters_are_another_question(make, counts):
    reader = make()
    reader.rows("job_trend", job_key="a")
    reader.rows("job_trend", job_key="b")
    reader.rows("job_trend", job_key="a", days=7)
    assert counts.asked == 3


def test_an_old_answer_is_given_at_once_and_made_anew_behind_the_viewer(make, counts):
    reader = make(ttl_s=0)
    first = reader.rows("runs")
    counts.takes_s = 0.2
    second = reader.rows("runs")
    assert second.value == first.value
    assert counts.asked <= 2
    until(lambda: reader.rows("runs").value != first.value)


def test_many_viewers_of_an_old_answer_make_one_refresh(make, counts):
    reader = make(ttl_s=0)
    reader.rows("runs")
    counts.takes_s = 0.3
    with ThreadPoolExecutor(10) as viewers:
        list(viewers.map(lambda _: reader.rows("runs"), range(50)))
    assert counts.asked == 2


def test_the_last_answer_stays_while_the_warehouse_is_away(make, counts, caplog):
    reader = make(ttl_s=0)
    first = reader.rows("runs")
    counts.broken = True
    reader.rows("runs")
    until(lambda: "cannot refresh" in caplog.text)
    again = reader.rows("runs")
    assert again == first
    counts.broken = False
    until(lambda: reader.rows("runs").value != first.value)


def test_without_an_earlier_answer_the_error_reaches_the_page(make, counts):
    counts.broken = True
    reader = make()
    with pytest.raises(ExternalServiceError, match="went away"):
        reader.rows("runs")
    counts.broken = False
    assert reader.rows("runs").value


def test_a_server_that_ended_is_found_again(make, counts):
    reader = make()
    reader.rows("runs")
    opened = counts.opened
    counts.broken = True
    with pytest.raises(ExternalServiceError):
        reader.rows("freshness")
    # The store that failed is closed, and one more was tried.
    assert counts.opened == opened + 1
    assert counts.closed >= 1


def test_no_more_queries_run_at_once_than_there_are_connections(make, counts):
    reader = make()
    with ThreadPoolExecutor(12) as viewers:
        list(viewers.map(lambda day: reader.rows("runs", limit=day), range(1, 13)))
    assert counts.asked == 12
    assert counts.most_at_once <= 3


def test_what_is_kept_is_bounded_and_the_least_used_goes_first(make, counts):
    counts.takes_s, counts.wide = 0, 100_000
    reader = make(cache_bytes=1_000_000)
    for limit in range(1, 41):
        reader.frame("runs", limit=limit)
        reader.frame("runs", limit=1)
    kept = reader._region.backend._cache
    assert kept.currsize <= 1_000_000
    asked = counts.asked
    reader.frame("runs", limit=1)
    assert counts.asked == asked
    reader.frame("runs", limit=2)
    assert counts.asked == asked + 1


def test_an_answer_larger_than_the_cache_is_still_an_answer(make, counts):
    counts.wide = 5_000
    reader = make(cache_bytes=1_000)
    assert len(reader.frame("runs").value) == 1


def test_a_page_cannot_change_what_another_page_sees(make):
    reader = make()
    mine = reader.frame("runs").value
    mine["number"] = -1
    mine.loc[0, "text"] = "changed"
    theirs = reader.frame("runs").value
    assert list(theirs["number"]) == [1]
    assert list(theirs["text"]) == ["x"]


def test_answers_read_together_do_not_expire_together(make):
    lifetimes = {Reader._spread(f"query {n}", 60.0) for n in range(50)}
    assert len(lifetimes) > 40
    assert min(lifetimes) >= 45
    assert max(lifetimes) <= 75


def test_many_who_ask_for_the_reader_at_once_get_the_same(monkeypatch):
    def slow(self, _location):
        time.sleep(0.05)

    monkeypatch.setattr(Reader, "__init__", slow)
    with ThreadPoolExecutor(10) as viewers:
        found = list(viewers.map(lambda _: shared_reader("only here"), range(10)))
    assert len({id(reader) for reader in found}) == 1


def test_for_an_answer_that_is_much_too_old_a_viewer_waits(make, counts):
    reader = make(ttl_s=0, too_old_s=0)
    first = reader.rows("runs")
    counts.takes_s = 0.2
    assert reader.rows("runs").value != first.value


def test_a_much_too_old_answer_is_still_given_where_there_is_no_other(make, counts):
    reader = make(ttl_s=0, too_old_s=0)
    first = reader.rows("runs")
    assert not reader.away
    counts.broken = True
    assert reader.rows("runs") == first
    assert reader.away
    counts.broken = False
    assert reader.rows("runs").value != first.value
    assert not reader.away


def test_forgetting_while_the_warehouse_is_away_loses_nothing(make, counts):
    reader = make()
    first = reader.rows("runs")
    counts.broken = True
    reader.forget()
    assert reader.rows("runs") == first


def test_forgetting_asks_anew(make, counts):
    reader = make()
    reader.rows("runs")
    reader.forget()
    reader.rows("runs")
    assert counts.asked == 2


def test_a_query_that_does_not_exist_is_said_with_the_nearest(make):
    with pytest.raises(UsageError, match="run"):
        make().rows("runz")


def test_a_store_that_cannot_be_opened_leaves_its_place_for_the_next_try(counts):
    def locked(_location):
        msg = "the folder is in use"
        raise InfrastructureError(msg)

    reader = Reader("somewhere", opener=locked)
    for _ in range(5):
        with pytest.raises(InfrastructureError):
            reader.rows("runs")
    reader._pool._opener = counts.open
    assert reader.rows("runs").value
    reader.close()


def test_what_an_analyzer_makes_is_kept_like_an_answer(make):
    reader = make()
    calls = []
    for _ in range(3):
        reader.value("verdicts", lambda store: calls.append(store) or "worse", "a", "b")
    assert len(calls) == 1
    assert reader.asked == {"verdicts": 1}

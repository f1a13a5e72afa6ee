"""Who may act on a page, what an act becomes, and that it is kept once."""

from datetime import UTC, datetime, timedelta

import pytest

from gauntlet.core.errors import UsageError
from gauntlet.hud.acting.actors import READ_ONLY, SECRET_HEADER, Actors
from gauntlet.hud.acting.acts import Act, clean

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
USER = "X-Forwarded-User"
SECRET = "0123456789abcdef"


def headers(**values):
    known = {name.replace("_", "-").casefold(): value for name, value in values.items()}

    def all_of(name):
        value = known.get(name.casefold(), [])
        return [value] if isinstance(value, str) else value

    return all_of


@pytest.mark.parametrize(
    ("given", "actor"),
    [
        ({"X_Forwarded_User": "alice@example.com"}, "alice@example.com"),
        ({"x_forwarded_user": " Alice@Example.com "}, "Alice@Example.com"),
        ({"X_Forwarded_User": "mallory@example.com"}, None),
        ({"X_Forwarded_User": ""}, None),
        ({"X_Forwarded_User": ["mallory", "alice@example.com"]}, None),
        ({"X_Forwarded_User": ["alice@example.com", "alice@example.com"]}, None),
        ({"X_Remote_User": "alice@example.com"}, None),
        ({}, None),
    ],
    ids=["on the list", "other case", "not on it", "empty", "two", "twice", "other header", "none"],
)
def test_only_a_listed_user_of_the_one_header_may_act(given, actor):
    assert Actors.of(USER, ["alice@example.com"], None).actor(headers(**given)) == actor


def test_without_a_header_nobody_may_act():
    assert READ_ONLY.actor(headers(X_Forwarded_User="alice@example.com")) is None
    assert READ_ONLY.actor(headers(**{"": ""})) is None


@pytest.mark.parametrize(
    ("sent", "may"),
    [(SECRET, True), ("wrong", False), ([], False), ([SECRET, SECRET], False), ("ä", False)],
    ids=["right", "wrong", "none", "twice", "not ASCII"],
)
def test_a_proxy_is_known_by_its_secret(tmp_path, sent, may):
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    actors = Actors.of(USER, ["alice"], file)
    given = {USER.replace("-", "_"): "alice", SECRET_HEADER.replace("-", "_"): sent}
    assert (actors.actor(headers(**given)) == "alice") is may


@pytest.mark.parametrize(
    ("header", "allowed", "secret", "said"),
    [
        (USER, [], None, "without --allow"),
        (None, ["alice"], None, "without --user-header"),
        (USER, ["alice"], "short", "5 characters"),
        (USER, ["alice"], None, "cannot be read"),
    ],
    ids=["nobody", "no header", "short secret", "no such file"],
)
def test_half_of_a_setting_is_refused(tmp_path, header, allowed, secret, said):
    file = tmp_path / "secret"
    if secret:
        file.write_text(secret)
    given = file if secret or said == "cannot be read" else None
    with pytest.raises(UsageError, match=said):
        Actors.of(header, allowed, given)


def act(**changes):
    given = {
        "kind": "quarantine",
        "subject": "test/a.py::b",
        "reason": "flaky since Monday",
        "actor": "alice",
        "token": "t1",
        "days": 7,
    }
    return Act(**(given | changes))


def test_an_act_becomes_a_decision_with_an_end_and_a_name():
    row = act(owner="kernels-team").row(NOW)
    assert (row.kind, row.subject, row.outcome) == ("quarantine", "test/a.py::b", "quarantined")
    assert (row.actor, row.mode, row.expires_at) == ("alice", "act", NOW + timedelta(days=7))
    assert row.evidence == '{"owner": "kernels-team"}'


def test_the_same_form_sent_twice_is_one_decision():
    assert act().row(NOW).decision_id == act().row(NOW + timedelta(seconds=3)).decision_id
    assert act().row(NOW).decision_id != act(token="t2").row(NOW).decision_id


def test_an_annotation_stays_and_a_withdrawal_ends_nothing_else():
    assert act(kind="annotation", days=None).row(NOW).expires_at is None
    undone = act(kind="waiver", undo=True, days=None).row(NOW)
    assert (undone.outcome, undone.expires_at) == ("withdrawn", None)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reason": "  \u200b "}, "needs a reason"),
        ({"reason": "x" * 501}, "501 characters"),
        ({"days": 31}, "1 to 30 days, not 31"),
        ({"days": None}, "not None"),
        ({"days": 0}, "not 0"),
    ],
    ids=["blank", "long", "too long a time", "no end", "no time"],
)
def test_what_does_not_fit_is_refused_with_what_would(changes, said):
    with pytest.raises(UsageError, match=said):
        act(**changes).row(NOW)


def test_text_cannot_be_made_to_read_otherwise():
    assert clean("a\u202ecod\x00\x1b[31m b\n\nc") == "acod[31m b c"

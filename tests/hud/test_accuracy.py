"""Scores of evals over time, and two evals side by side down to one answer."""

from datetime import timedelta

import pytest
from factories import batch, decision_row, repetition_row, sample_row, score_row

from gauntlet.core.clock import utc_now
from gauntlet.hud.accuracy.answers import finish_text, neighbours, remarks
from gauntlet.hud.accuracy.frames import percent
from gauntlet.hud.reading import Reader
from gauntlet.warehouse.store import open_store

HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:y)"
DAY = timedelta(days=1)
SIDE = {"side": "single"}


def an_eval(number, *, answers=(1.0, 1.0, 0.0, 0.0), text="18", series="series", **changes):
    """One eval of four questions; 0 is the newest, ``number`` days before it."""
    at = utc_now() - number * DAY - timedelta(hours=1)
    run_id = f"{series}{number}"
    repetition_id = f"{run_id}/gsm8k/0/single"
    told = {name: changes.pop(name) for name in ("status", "reasons") if name in changes}
    fingerprint = changes.pop("config_fp", "same")
    rows = [
        repetition_row(
            run_id,
            "gsm8k",
            kind="eval",
            recipe="smoke",
            series_id=series,
            repetition_id=repetition_id,
            config_fp=fingerprint,
            engine_commit=f"{number:040x}",
            started_at=at,
            ended_at=at,
            **SIDE,
            **told,
        ),
        score_row(run_id, series_id=series, **{"n": 1000, **changes}),
    ]
    rows += [
        sample_row(
            run_id,
            item=f"q{index}",
            score=score,
            series_id=series,
            filter="strict",
            question=f"{HOSTILE} {index}",
            response=f"{HOSTILE} so {text}",
            answer=text if score else "17",
            finish_reason="length" if score == 0.0 else "stop",
            output_tokens=12,
            **SIDE,
        )
        for index, score in enumerate(answers)
    ]
    return rows


def several(series, *numbers, **changes):
    return [row for number in numbers for row in an_eval(number, series=series, **changes)]


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A warehouse that tests only read, with a series for each thing that can be."""
    changed = (1.0, 0.0, 1.0, 0.0)
    rows = [
        *several("series", 1),
        *several("series", 0, answers=changed, value=0.74),
        *several("dropped", 3, 2, 1),
        *several("dropped", 0, value=0.5),
        *several("upgraded", 1),
        *several("upgraded", 0, harness_version="9"),
        *several("partial", 1),
        *several("partial", 0, value=0.2, partial=True),
        *several("lost", 3),
        *several("unpaired", 1),
        *several("unpaired", 0, answers=(1.0, 0.0, 1.0, None, 1.0)),
        *several("aged", 2, answers=()),
        *several("aged", 1, 0),
        *several("bare", 0, answers=(), stderr=None, value=7.5),
        *several("alone", 0, answers=(1.0,), stderr=None, value=7.5),
        *several("refused", 2),
        *several("refused", 1, status="invalid", reasons=[HOSTILE]),
        *several("refused", 0, value=None, stderr=None, config_fp="other"),
        decision_row(
            "", "annotation", "series/series", outcome="note", reason=HOSTILE, blocking=False
        ),
    ]
    at = str(tmp_path_factory.mktemp("evals") / "warehouse")
    with open_store(at) as opened:
        opened.insert(batch("evals", *rows))
    return at


@pytest.fixture
def one(show, full):
    """Draw one series."""

    def draw(series="series", reader=None, **query):
        return show("accuracy", reader or Reader(full), series=series, task="gsm8k", **query)

    return draw


@pytest.fixture
def listed(show, full):
    """The overview's line of one series."""

    def line(series):
        shown = show("accuracy", Reader(full), find=series)
        (found,) = shown.tables[0].to_dict("records")
        return found

    return line


def marked_up(shown):
    said = [str(each.value) for each in (*shown.test.markdown, *shown.test.caption)]
    said += [str(each.value) for kind in ("info", "warning") for each in getattr(shown.test, kind)]
    return [*said, *(str(each.proto.body) for each in shown.test.get("html"))]


def test_without_an_eval_the_page_says_what_measures_one(show):
    shown = show("accuracy")
    assert "No eval was measured" in shown.text
    assert "gauntlet bench run" in shown.text


def test_every_series_is_listed_with_its_newest_score_and_change(show, full):
    shown = show("accuracy", Reader(full))
    lines = {line["series"].rpartition("=")[2]: line for line in shown.tables[0].to_dict("records")}
    assert len(lines) == 10
    line = lines["series"]
    assert line["series"] == "./accuracy?task=gsm8k&score=exact_match+strict&series=series"
    assert (line["value"], line["change"]) == ("74.00 %", "-1.00 points")
    assert line["interval"] == "72.04 % to 75.96 %"
    assert next(iter(lines)) == "dropped"  # the gravest first
    assert shown.asked == {"score_history": 1}
    assert show("accuracy", shown.reader).asked == {"score_history": 1}


@pytest.mark.parametrize(
    ("series", "whole", "verdict"),
    [
        ("dropped", "whole", "▼ worse"),
        ("upgraded", "whole", "≠ config-changed"),
        ("partial", "partial", "no drop seen"),
        ("lost", "whole", "∅ missing"),
    ],
)
def test_the_newest_score_is_judged_by_the_nights_before(listed, series, whole, verdict):
    line = listed(series)
    assert (line["whole"], line["verdict"]) == (whole, verdict)


def test_a_filter_that_finds_nothing_says_so(show, full):
    assert "No series has such a name" in show("accuracy", Reader(full), find=HOSTILE).text


def test_two_newest_evals_stand_side_by_side_with_verdict_and_answers(one):
    shown = one()
    assert "of 4 answers 1 were right only before, 1 only now" in shown.said
    assert "Lost, gained 1, 1" in shown.text
    counts, answers, evals = shown.tables
    assert counts[["right", "wrong"]].to_numpy().tolist() == [[1, 1], [1, 1]]
    assert list(answers["change"]) == ["▼ lost", "▲ gained"]
    assert list(answers["finish_after"]) == ["✂ length", "stop"]
    assert len(evals) == 2
    assert "before=series1" in evals["compare"][0]
    assert evals["compare"].isna().tolist() == [False, True]
    asked = {
        "series_scores": 1,
        "decisions_about": 1,
        "accuracy_verdict": 1,
        "eval_pair_counts": 1,
        "eval_pairs": 1,
    }
    assert shown.asked == asked
    assert one(reader=shown.reader).asked == asked


@pytest.mark.parametrize(
    ("query", "count"),
    [({"show": "wrong"}, 3), ({"show": "all"}, 4), ({"find": "q1"}, 1), ({"show": "no"}, 2)],
    ids=["wrong", "all", "found", "not an option"],
)
def test_the_address_says_which_questions_are_listed(one, query, count):
    shown = one(**query)
    assert len(shown.tables[1]) == count
    assert ("No show no" in shown.text) == (query.get("show") == "no")


def test_one_question_shows_raw_answers_as_text_and_never_as_markup(one):
    shown = one(item="q1")
    codes = [each.value for each in shown.test.code]
    assert codes == [f"{HOSTILE} 1", f"{HOSTILE} so 18", f"{HOSTILE} so 18"]
    assert "✓ right" in shown.text
    assert "✕ wrong" in shown.text
    assert "Cut at the token limit: the answer may lack its end." in shown.text
    assert "item=q2" in shown.text  # the next one of the list
    assert not [text for text in marked_up(shown) if "<img" in text or "](javascript" in text]
    assert shown.asked["eval_item"] == 1


def test_a_question_that_nobody_was_asked_is_said_so(one):
    shown = one(item=HOSTILE)
    assert "Neither side was asked" in shown.text
    assert not [text for text in marked_up(shown) if "<img" in text]


def test_questions_of_one_side_alone_are_counted_and_the_rest_is_listed(one):
    shown = one("unpaired", show="wrong")
    assert "The analyzer does not compare these two" in shown.text
    assert "0 questions asked only before, 1 only after" in shown.text
    assert "1 question without a score of a side" in shown.text
    changes = list(shown.tables[1]["change"])
    assert changes == ["▼ lost", "? not scored", "∅ only after", "▲ gained"]


def test_without_kept_answers_the_page_says_since_when_there_are_some(one):
    shown = one("aged", before="aged2/gsm8k/0/single")
    assert "No answers are kept of the eval before" in shown.text
    assert "they are kept since" in shown.text
    (table,) = shown.tables
    assert list(table["answers"]) == [4, 4, 0]


@pytest.mark.parametrize(
    ("series", "said"),
    [("bare", "there are not two"), ("alone", "the next one can be compared")],
)
def test_one_eval_alone_is_compared_with_nothing(one, series, said):
    shown = one(series)
    assert said in shown.text
    assert "1 score without a known standard error" in shown.text
    assert shown.tables[0]["interval"].tolist() == ["\N{EN DASH}"]


def test_refused_and_valueless_evals_are_counted_and_listed(one):
    shown = one("refused")
    assert "1 eval without any value: not drawn" in shown.text
    table = shown.tables[-1]
    assert list(table["status"]) == ["valid", "invalid", "valid"]
    assert list(table["why"]) == ["", HOSTILE, ""]
    assert not [text for text in marked_up(shown) if "<img" in text]


def test_what_an_address_names_wrongly_is_said_so(one):
    assert "no such series" in one(HOSTILE).text
    shown = one(before=HOSTILE, part="-1", score="none")
    assert "This series has no such eval" in shown.text
    assert "No such part of the list" in shown.text
    assert "No such score" in shown.text


def test_annotations_of_the_series_are_told_as_text(one):
    shown = one()
    assert any(HOSTILE in str(each.value) for each in shown.test.text)


def test_a_list_has_neighbours_within_its_ends():
    assert neighbours(["a", "b", "c"], "b") == ("a", "c")
    assert neighbours(["a"], "a") == (None, None)
    assert neighbours(["a"], "z") == (None, None)


def test_small_words():
    assert finish_text(None) == "\N{EN DASH}"
    assert percent(0.5) == "50.00 %"
    assert percent(7.25) == "7.25"
    nothing = dict.fromkeys(
        (
            "only_before", "only_after", "not_scored", "both_graded_alike", "cut_before",
            "cut_after",
        ),
        0,
    )  # fmt: skip
    assert remarks(nothing) == []
    assert "graded" in remarks({**nothing, "both_graded_alike": 2})[0]

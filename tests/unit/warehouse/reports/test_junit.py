import gzip
from datetime import UTC, datetime

import numpy as np
import pytest
from unit.warehouse.reports.documents import (
    NOW,
    case,
    document,
    outcomes,
    read,
    reasons,
    suite,
)

from gauntlet.core.errors import ExitCode
from gauntlet.warehouse.migrations import load_migrations
from gauntlet.warehouse.reports.junit import parse_junit
from gauntlet.warehouse.reports.report import Limits, Outcome, UnreadableReportError
from gauntlet.warehouse.reports.source import file_chunks

FAILURE = '<failure message="assert 1 == 2">E   assert 1 == 2</failure>'


def test_outcomes_are_those_of_the_table():
    sql = " ".join(s for migration in load_migrations() for s in migration.statements)
    enum = sql.split("outcome     Enum8(")[1].split(")")[0]
    assert enum == ", ".join(f"'{o.word}' = {o.value}" for o in Outcome)


@pytest.mark.parametrize(
    ("inside", "outcome"),
    [
        ("", "passed"),
        ("<system-out>hello</system-out>", "passed"),
        ("<properties><property name='a' value='b'/></properties>", "passed"),
        ("<skipped />", "skipped"),
        ('<skipped type="pytest.skip" message="no GPU">a.py:1: no GPU</skipped>', "skipped"),
        ('<skipped type="pytest.xfail" message="known" />', "xfailed"),
        ('<skipped message="xfail-marked test passes unexpectedly" />', "xpassed"),
        ('<failure message="[XPASS(strict)] known">[XPASS(strict)] known</failure>', "failed"),
        (FAILURE, "failed"),
        ("<error>boom</error>", "error"),
        (f"<skipped />{FAILURE}", "failed"),
        (f"<error>teardown</error>{FAILURE}<skipped />", "error"),
        ("<unknown><failure>not a child of the case</failure></unknown>", "passed"),
    ],
)
def test_the_worst_of_the_children_is_the_outcome(inside, outcome):
    assert outcomes(read(document(case(inside)))) == {"tests.test_a::test_x": outcome}


@pytest.mark.parametrize(
    ("attributes", "outcome", "measured"),
    [
        ({"status": "run"}, "passed", True),
        ({"status": "notrun", "time": "0."}, "skipped", False),
        ({"status": "notrun", "result": "suppressed", "time": "0"}, "skipped", False),
        ({"status": "run", "result": "skipped"}, "skipped", False),
        ({"status": "disabled"}, "skipped", False),
        ({"status": "FAILED"}, "failed", True),
        ({"status": "error"}, "error", True),
        ({"status": "run", "result": "completed"}, "passed", True),
    ],
)
def test_a_case_that_says_so_in_its_attributes_did_not_run_or_pass(attributes, outcome, measured):
    report = read(document(case(**attributes)))
    assert report.counts() == {outcome: 1}
    assert np.isfinite(report.durations_ms[0]) == measured


def test_messages_and_texts_are_kept_for_what_did_not_plainly_pass():
    report = read(
        document(
            case(name="a"),
            case(FAILURE, name="b", file="tests/test_a.py", line="11"),
            case("<error type='OSError'>  first\nsecond\n</error>", name="c"),
            case("<skipped type='pytest.skip' />", name="d"),
        )
    )
    assert [(d.index, d.message, d.text, d.file, d.line) for d in report.details] == [
        (1, "assert 1 == 2", "E   assert 1 == 2", "tests/test_a.py", 11),
        (2, "first", "first\nsecond", "", None),
        (3, "pytest.skip", "", "", None),
    ]


def test_what_a_failed_test_printed_fills_the_room_that_its_text_leaves():
    output = "".join(f"line {n}\n" for n in range(5000))
    short = read(document(case(f"{FAILURE}<system-out>{output}</system-out>"))).details[0].text
    assert short.startswith("E   assert 1 == 2\n")
    assert short.endswith("line 4999")
    assert len(short) <= 8192
    long = "x" * 9000
    text = (
        read(document(case(f"<failure>{long}</failure><system-out>{output}</system-out>")))
        .details[0]
        .text
    )
    assert "line" not in text
    assert "[808 characters left out]" in text


def test_a_long_text_keeps_its_beginning_and_its_end():
    body = "begin " + "x" * 1_000_000 + " end"
    text = read(document(case(f"<failure>{body}</failure>"))).details[0].text
    assert text.startswith("begin x")
    assert text.endswith("x end")
    assert len(text) < 8300


def test_a_suite_s_own_output_belongs_to_its_only_failure():
    output = "<system-out>the log</system-out>"
    one = read(document(case(name="a"), case("<error />", name="b"), output))
    assert "the log" in one.details[0].text
    two = read(document(case(FAILURE, name="a"), case("<error />", name="b"), output))
    assert [detail.text for detail in two.details] == ["E   assert 1 == 2", ""]


def test_a_failure_outside_every_case_is_a_case_named_after_its_suite():
    report = read(document("<error message='no GPU'>set-up</error>", case(), name="gpu"))
    assert outcomes(report) == {"gpu": "error", "tests.test_a::test_x": "passed"}
    assert report.details[0].message == "no GPU"
    assert np.isnan(report.durations_ms[0])


@pytest.mark.parametrize(
    ("attempts", "own", "expected"),
    [
        ('<flakyFailure message="1"><stackTrace>at A</stackTrace></flakyFailure>', "",
         ["failed", "passed"]),
        ('<flakyError message="1"/><flakyFailure message="2"/>', "",
         ["error", "failed", "passed"]),
        ('<rerunFailure message="2"/>', FAILURE, ["failed", "failed"]),
        ('<rerunError message="2"/>', "<error/>", ["error", "error"]),
    ],
)  # fmt: skip
def test_attempts_that_a_writer_tells_of_are_occurrences_before_the_last(attempts, own, expected):
    report = read(document(case(own + attempts), case(name="other")))
    assert outcomes(report) == {"tests.test_a::test_x": expected, "tests.test_a::other": "passed"}
    assert report.occurrences.tolist() == [*range(len(expected)), 0]
    assert np.isnan(report.durations_ms[:-2]).all()
    assert report.durations_ms[-2] == 500
    assert len(report.details) == len(expected) - expected.count("passed")


def test_the_text_of_an_attempt_is_its_own():
    attempt = '<flakyFailure message="1"><stackTrace>at A</stackTrace></flakyFailure>'
    report = read(document(case(attempt)))
    assert [(d.message, d.text) for d in report.details] == [("1", "at A")]


@pytest.mark.parametrize(
    "text",
    [
        suite(case()),
        f"<testsuites><testsuite name='a'>{suite(case())}</testsuite></testsuites>",
        f'<testsuites xmlns="urn:x">{suite(case())}</testsuites>',
        document(case()).replace("<t", "<j:t").replace("</t", "</j:t")
        .replace("<j:testsuites", '<j:testsuites xmlns:j="urn:x"', 1),
        f"\n\n<?xml version='1.0'?>\n{document(case())}",
        f'<?xml version="1.1" encoding="UTF-16"?>{document(case())}',
        f"<!DOCTYPE testsuites>{document(case())}",
        document("<properties/>", "<!-- <testcase name='no' time='1' /> -->", case()),
    ],
    ids=["a suite", "nested", "namespace", "prefixes", "blank lines", "XML 1.1", "doctype",
         "comment"],
)  # fmt: skip
def test_cases_are_found_however_the_document_is_built(text):
    assert outcomes(read(text)) == {"tests.test_a::test_x": "passed"}


@pytest.mark.parametrize(
    ("time", "milliseconds"),
    [("0.000", 0), ("1.5", 1500), ("1,234.5", 1234500), ("12,345,678.25", None), ("1e1", 10000),
     ("86400", 86_400_000), (None, np.nan), ("", np.nan)],
)  # fmt: skip
def test_times_are_read_as_they_are_written(time, milliseconds):
    report = read(document(case(time=time)))
    expected = [] if milliseconds is None else [milliseconds]
    np.testing.assert_array_equal(report.durations_ms, np.array(expected, np.float32))


@pytest.mark.parametrize(
    ("time", "reason"),
    [
        ("-0.001", "time: '-0.001' is negative"),
        ("nan", "time: 'nan' is not a finite number"),
        ("inf", "time: 'inf' is not a finite number"),
        ("86400.1", "time: '86400.1' is longer than a day"),
        ("1782907200.5", "time: '1782907200.5' is longer than a day"),
        ("0,5", "time: '0,5' is not a number"),
        ("0,123", "time: '0,123' is not a number"),
        ("fast", "time: 'fast' is not a number"),
    ],
)
def test_impossible_times_are_refused_with_their_place_and_the_case(time, reason):
    report = read(document(case(name="a"), "\n", case(FAILURE, time=time), case(name="b")))
    assert report.nodeids == ["tests.test_a::a", "tests.test_a::b"]
    (problem,) = report.problems
    assert (problem.position, problem.reasons) == ("testcase 2 (line 2)", (reason,))
    assert f'time="{time}"' in problem.raw
    assert "E   assert 1 == 2" in problem.raw


def test_an_impossible_time_of_an_earlier_attempt_is_refused_too():
    report = read(document(case("<flakyFailure time='-1'/>"), case("<flakyError time='2'/>")))
    assert report.durations_ms.tolist() == [2000, 500]
    assert reasons(report) == ["an earlier attempt: time: '-1' is negative"]


@pytest.mark.parametrize("name", ["", "  ", None])
def test_a_case_without_a_name_is_refused_with_all_that_is_wrong_with_it(name):
    report = read(document(case(name=name, time="-1")))
    assert report.nodeids == []
    assert reasons(report) == ["time: '-1' is negative", f"name: {name!r} names no test"]


def test_cases_are_counted_past_refused_ones_and_attempts():
    report = read(
        document(case(time="x"), case("<flakyFailure/>"), "<error/>", case(), case(time="y"))
    )
    assert [p.position for p in report.problems] == [
        "testcase 1 (line 1)",
        "testcase 4 (line 1)",
    ]


def test_many_refused_cases_are_counted_past_the_limit():
    report = read(document(*[case(time="x")] * 12), limits=Limits(problems=10))
    assert len(report.problems) == 11
    assert report.problems[-1].reasons == ("2 more were refused; only the first 10 are kept",)


def test_what_is_refused_is_cut_to_a_bounded_length():
    report = read(document(case(name="n" * 5000, time="x")))
    assert len(report.problems[0].raw) == 2048


@pytest.mark.parametrize(
    ("timestamp", "started_at", "assumed"),
    [
        ("2026-06-30T10:00:00+02:00", datetime(2026, 6, 30, 8, tzinfo=UTC), False),
        ("2026-06-30T10:00:00Z", datetime(2026, 6, 30, 10, tzinfo=UTC), False),
        ("2026-06-30T10:00:00.5", datetime(2026, 6, 30, 10, 0, 0, 500_000, tzinfo=UTC), True),
        ("2026-07-01T20:00:00", datetime(2026, 7, 1, 20, tzinfo=UTC), True),
    ],
)
def test_a_time_without_a_zone_is_read_as_utc_and_marked(timestamp, started_at, assumed):
    report = read(document(case(), timestamp=timestamp))
    assert (report.started_at, report.zone_assumed) == (started_at, assumed)
    assert report.problems == []


@pytest.mark.parametrize(
    ("timestamp", "reason"),
    [
        ("2026-07-01T14:00:00Z", "lies in the future"),
        ("2026-07-03T14:00:00", "lies in the future"),
        ("1970-01-01T00:00:00Z", "lies before 2015-01-01"),
        ("yesterday", "timestamp: 'yesterday' is not an ISO 8601 time"),
        ("0001-01-01T00:00:00+14:00", "lies before 2015-01-01"),
        ("9999-12-31T23:59:59-14:00", "lies in the future"),
    ],
)
def test_a_time_that_cannot_be_is_refused_and_the_cases_stay(timestamp, reason):
    report = read(document(case(), timestamp=timestamp))
    assert report.started_at is None
    assert report.counts() == {"passed": 1}
    assert report.problems[0].position == "testsuite 1 (line 1)"
    assert reason in reasons(report)[0]


def test_the_earliest_suite_says_when_a_report_began():
    late = suite(case(), timestamp="2026-06-30T10:00:00Z", hostname="")
    early = suite(case(name="y"), timestamp="2026-06-30T09:00:00Z", hostname="gpu-3")
    report = read(f"<testsuites>{late}{early}</testsuites>")
    assert report.started_at == datetime(2026, 6, 30, 9, tzinfo=UTC)
    assert report.hostname == "gpu-3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (document(tests=6), ["tests: says 6, but there is no testcase"]),
        ('<testsuites tests="2"/>', ["tests: says 2, but there is no testcase"]),
        ('<testsuites tests="2"><testsuite name="a" tests="2"/></testsuites>',
         ["tests: says 2, but there is no testcase"]),
        (document(tests=0), []),
        ("<testsuites/>", []),
        (document(case(time="x"), tests=1), ["time: 'x' is not a number"]),
    ],
)  # fmt: skip
def test_a_suite_that_claims_cases_and_has_none_is_refused_once(text, expected):
    report = read(text)
    assert report.nodeids == []
    assert reasons(report) == expected


def test_a_suite_that_stands_in_the_file_twice_counts_once():
    once = suite(case(FAILURE, name="a"), case(name="b"), timestamp="2026-06-30T10:00:00Z")
    report = read(f"<testsuites>{once}{once}{suite(case(name='c'))}</testsuites>")
    assert outcomes(report) == {
        "tests.test_a::a": "failed",
        "tests.test_a::b": "passed",
        "tests.test_a::c": "passed",
    }
    assert report.duplicates == 2
    assert [detail.index for detail in report.details] == [0]


@pytest.mark.parametrize(
    "other",
    [
        suite(case(FAILURE, name="a"), case(name="b", time="0.6")),
        suite(case(FAILURE, name="a"), case(name="b"), hostname="elsewhere"),
        suite(case("<error/>", name="a"), case(name="b")),
        suite(case(FAILURE.replace("==", "!="), name="a"), case(name="b")),
        suite(case(FAILURE, name="a"), case(name="b"), name="again"),
    ],
    ids=["time", "host", "outcome", "text", "name"],
)
def test_a_suite_that_differs_in_anything_is_another_run(other):
    report = read(
        f"<testsuites>{suite(case(FAILURE, name='a'), case(name='b'))}{other}</testsuites>"
    )
    assert report.duplicates == 0
    assert report.occurrences.tolist() == [0, 0, 1, 1]


def test_a_suite_is_no_repetition_of_the_suite_around_it():
    report = read(suite(suite(suite(case(), case(name="y")))))
    assert (report.duplicates, len(report.nodeids)) == (0, 2)


def test_a_nested_suite_that_stands_there_twice_counts_once():
    inner = suite(case(), name="inner", timestamp="2026-06-30T10:00:00Z")
    outer = suite(inner, case(name="own"), name="outer")
    report = read(f"<testsuites>{outer}{outer}</testsuites>")
    assert (report.duplicates, len(report.nodeids)) == (2, 2)


def test_more_results_of_one_test_than_can_be_numbered_are_refused():
    report = read(document(case(FAILURE), *[case()] * 65_537, case(FAILURE)))
    assert report.occurrences.tolist() == list(range(65_536))
    assert reasons(report) == ["name: more than 65536 results of one test in one report"]
    assert [detail.index for detail in report.details] == [0]


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.95])
def test_what_was_read_before_a_document_breaks_off_is_kept(cut):
    whole = document(*[case(name=f"t{n}") for n in range(100)])
    report = read(whole[: int(len(whole) * cut)])
    kept = len(report.nodeids)
    assert report.nodeids == [f"tests.test_a::t{n}" for n in range(kept)]
    assert abs(kept - 100 * cut) < 3
    assert len(report.problems) == 1


@pytest.mark.parametrize("only_expat", [False, True])
@pytest.mark.parametrize("between", ["", "\n  "])
def test_the_place_of_a_break_is_line_and_column_of_the_file(only_expat, between):
    cases = between.join(case(name=f"é{n}") for n in range(50))
    text = document(cases, case("<failure>&nope;</failure>"))
    report = read(text, only_expat=only_expat)
    before = text[: text.index("&nope;")]
    column = len(before) - before.rfind("\n")
    (problem,) = report.problems
    assert problem.position == f"line {before.count(chr(10)) + 1}, column {column}"
    assert problem.reasons[0] == "XML: undefined entity"


@pytest.mark.parametrize(
    ("inside", "kept"),
    [
        ("", None),
        ("<system-out>still run", None),
        ("<skipped>why", None),
        ("<failure message='no'>E   as", "failed"),
        ("<error/>", "error"),
    ],
)
def test_a_case_that_is_cut_counts_only_where_it_had_failed(inside, kept):
    report = read(f"<testsuite>{case(name='a')}<testcase name='b' time='1'>{inside}")
    expected = {"tests.test_a::a": "passed"} | ({"b": kept} if kept else {})
    assert outcomes(report) == expected
    assert "testcase 2 (line 1) is cut" in reasons(report)[1]
    assert "<testcase" in report.problems[0].raw or kept


def test_two_documents_in_one_file_break_after_the_first():
    report = read(document(case()) + document(case(name="y")))
    assert report.nodeids == ["tests.test_a::test_x"]
    assert reasons(report) == ["XML: junk after document element"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "report.xml: no JUnit XML: empty"),
        (b"  \n", "report.xml: no JUnit XML: empty"),
        (b'{"tests": []}', r"not well-formed .*; it begins with '\{\"tests"),
        (b"<!DOCTYPE html><html><body>502</body></html>", "the root element is <html>"),
        (b"<html><testsuite>", "the root element is <html>"),
        (b"<assemblies><assembly/></assemblies>", "the root element is <assemblies>"),
        (b"<testsuite", "unclosed token"),
        (b"\x00\x01\x02", "no JUnit XML"),
        (b"\x1f\x8b\x08broken", "gzip"),
    ],
)
def test_what_is_no_junit_document_is_an_error_that_says_why(data, message):
    with pytest.raises(UnreadableReportError, match=message) as caught:
        read(data)
    assert caught.value.exit_code is ExitCode.USAGE
    assert caught.value.hint


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY a "ha">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY % p SYSTEM "http://127.0.0.1/x.dtd"> %p;',
    ],
)
def test_documents_that_declare_entities_are_refused(declaration):
    text = f"<!DOCTYPE t [{declaration}]>{document(case('<failure>&a;</failure>'))}"
    with pytest.raises(UnreadableReportError, match="line 1 declares the entity"):
        read(text)


@pytest.mark.parametrize(
    ("data", "expected", "repaired"),
    [
        (document(case(name="a\x1b[31mb\x00")).encode(), "a\ufffd[31mb\ufffd", 2),
        (document(case(name="a&#27;[31m&#x0;&#xD800;&#10;")).encode(),
         "a\ufffd[31m\ufffd\ufffd\n", 3),
        (document(case(name="a\xe9")).encode("latin-1"), "a\ufffd", 1),
        (b"<?xml version='1.0' encoding='iso-8859-1'?>"
         + document(case(name="a\xe9")).encode("latin-1"), "a\xe9", 0),
        (b"<?xml version='1.0' encoding='nonsense'?>"
         + document(case(name="a\xe9")).encode(), "a\xe9", 0),
        (document(case(name="a\xe9")).encode("utf-16"), "a\xe9", 0),
        (document(case(name="a\xe9")).encode("utf-8-sig"), "a\xe9", 0),
        (document(case(name="a\ud800b")).encode("utf-8", "surrogatepass"),
         "a\ufffd\ufffd\ufffdb", 3),
        (document(case(name="\ufffe")).encode(), "\ufffd", 1),
        (document(case(name="헴\U00012488")).encode(), "헴\U00012488", 0),
    ],
    ids=["controls", "references", "bad bytes", "latin-1", "unknown encoding", "utf-16", "bom",
         "surrogate", "no character", "wide"],
)  # fmt: skip
def test_what_is_no_text_is_replaced_and_counted_rather_than_the_file_lost(
    data, expected, repaired
):
    report = read(data)
    assert report.nodeids == [f"tests.test_a::{expected}"]
    assert report.repaired == repaired
    assert report.problems == []


def test_packed_files_are_read_and_a_cut_one_is_kept_up_to_there():
    data = gzip.compress(document(*[case(name=f"t{n}") for n in range(20_000)]).encode())
    assert len(read(data).nodeids) == 20_000
    assert len(read(data + gzip.compress(b" ")).nodeids) == 20_000
    report = read(data[: len(data) // 2])
    assert 5_000 < len(report.nodeids) < 15_000
    assert reasons(report)[0] == "gzip: the stream is cut"


def test_a_file_is_read_in_pieces_and_one_that_is_not_there_is_said_so(tmp_path):
    path = tmp_path / "report.xml"
    path.write_text(document(*[case(name=f"t{n}") for n in range(5000)]), encoding="utf-8")
    assert len(list(file_chunks(path))) == 2
    assert len(parse_junit(file_chunks(path), now=NOW).nodeids) == 5000
    for wrong in (tmp_path / "none.xml", tmp_path):
        with pytest.raises(UnreadableReportError, match=f"cannot read {wrong}"):
            parse_junit(file_chunks(wrong), now=NOW)


def test_more_bytes_than_allowed_are_not_read():
    data = gzip.compress(document(*[case(name=f"t{n}") for n in range(20_000)]).encode())
    report = read(data, limits=Limits(bytes=100_000))
    assert 1000 < len(report.nodeids) < 3000
    assert reasons(report)[0] == "more than 100000 bytes; the rest was not read"


@pytest.mark.parametrize(
    ("text", "limits", "message"),
    [
        (document("<!--" + " " * 5000 + "-->"), Limits(tag=1000), "a tag or comment of more than"),
        (document(*[case()] * 20), Limits(cases=10), "report.xml: line 1: more than 10 cases"),
    ],
)
def test_what_would_fill_the_memory_is_refused(text, limits, message):
    pieces = [text.encode()[n : n + 1500] for n in range(0, len(text), 1500)]
    with pytest.raises(UnreadableReportError, match=message):
        parse_junit(pieces, origin="report.xml", now=NOW, limits=limits)


def test_a_report_without_cases_has_columns_of_the_right_kind():
    report = parse_junit([b"<testsuites/>"], now=NOW)
    assert report.counts() == {}
    kinds = [a.dtype.str for a in (report.outcomes, report.durations_ms, report.occurrences)]
    assert kinds == ["|i1", "<f4", "<u2"]

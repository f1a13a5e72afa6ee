"""What holds for any report: however it is cut into pieces, and whichever reader takes a case."""

import gzip
from contextlib import suppress
from itertools import pairwise
from xml.sax.saxutils import quoteattr

from hypothesis import example, given, settings
from hypothesis import strategies as st
from unit.warehouse.reports.documents import NOW

from gauntlet.warehouse.reports.junit import parse_junit
from gauntlet.warehouse.reports.report import UnreadableReportError

thorough = settings(max_examples=150, deadline=None)

# Few of each, so that names repeat, layouts change, and odd ones meet plain ones.
NAMES = st.sampled_from(
    ["test_a", "test_b[1-2]", "tést", "a&b", "<", 'q"', "l\nf", "t\tb", " ", "", "x" * 40]
)
TIMES = st.sampled_from(["0.001", "1.5", "1,234.5", "-1", "nan", "x", "", "1e3", "90000"])
CLASSES = st.sampled_from(["tests.test_m", "tests.test_m.TestC", "", "a b"])
CHILDREN = st.sampled_from(
    [
        "", "", "",
        "<skipped/>", "<failure message='m'>text &amp; more</failure>", "<error>e\n</error>",
        "<system-out>o</system-out>",
        "<flakyError message='f'><stackTrace>s</stackTrace></flakyError>",
        "<failure><![CDATA[<testcase name='no' time='1' />]]></failure>",
        "<testcase name='inner' time='1' />", "text",
    ]
)  # fmt: skip
BETWEEN = st.sampled_from(
    ["", "", "", "\n  ", "\r\n", "\t", "<!-- <testcase name='no' time='1' /> -->", "é",
     "<system-out>s\n</system-out>", "<properties><property name='p' value='v'/></properties>",
     "<?pi <testcase name='no' time='1' />?>", "<error>outside</error>"]
)  # fmt: skip
BREAKS = st.sampled_from(["", "", "", "<broken", "</testcase>", "&nope;", "\x1b", "&#27;"])


@st.composite
def cases(draw):
    attributes = [("classname", draw(CLASSES)), ("name", draw(NAMES)), ("time", draw(TIMES))]
    if draw(st.booleans()):
        attributes.insert(1, ("file", draw(st.sampled_from(["tests/test_m.py", "other.py"]))))
    if not draw(st.integers(0, 5)):
        attributes.append(("status", draw(st.sampled_from(["run", "notrun"]))))
    if not draw(st.integers(0, 5)):
        attributes = draw(st.permutations(attributes))[: draw(st.integers(1, 4))]
    raw = draw(st.integers(0, 9)) == 0
    told = "".join(f' {k}="{v}"' if raw else f" {k}={quoteattr(v)}" for k, v in attributes)
    inside = draw(CHILDREN)
    if not inside:
        return f"<testcase{told}{draw(st.sampled_from([' />', '/>', '></testcase>']))}"
    return f"<testcase{told}>{inside}</testcase>"


@st.composite
def documents(draw):
    suites = []
    for _ in range(draw(st.integers(0, 3))):
        inside = "".join(draw(BETWEEN) + draw(cases()) for _ in range(draw(st.integers(0, 6))))
        tests = draw(st.sampled_from(["", ' tests="3"']))
        at = draw(st.sampled_from(["", ' timestamp="2026-06-30T10:00:00"', ' timestamp="x"']))
        suite = f'<testsuite name="s"{tests}{at}>{inside}{draw(BREAKS)}</testsuite>'
        suites += [suite] * draw(st.sampled_from([1, 1, 2]))
    head = draw(st.sampled_from(["", "\n", '<?xml version="1.0"?>']))
    end = draw(st.sampled_from(["</testsuites>", "</testsuites>", ""]))
    return f"{head}<testsuites>{''.join(suites)}{end}"


def pieces(data, cuts):
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


CUTS = st.lists(st.integers(0, 3000), max_size=12)


@thorough
@given(text=documents(), cuts=CUTS)
@example(text="<testsuites><testsuite name='s'><testcase name='a' time='1' />", cuts=[45])
def test_a_report_is_the_same_in_any_pieces_and_by_either_reader(text, cuts):
    data = text.encode()
    whole = parse_junit([data], now=NOW)
    assert parse_junit(pieces(data, cuts), now=NOW) == whole
    assert parse_junit([data], now=NOW, only_expat=True) == whole
    assert parse_junit([data[i : i + 1] for i in range(len(data))], now=NOW) == whole


@thorough
@given(text=documents(), cuts=CUTS)
def test_a_packed_report_is_the_same(text, cuts):
    data = text.encode()
    packed = gzip.compress(data, mtime=0)
    assert parse_junit(pieces(packed, cuts), now=NOW) == parse_junit([data], now=NOW)


@thorough
@given(data=st.binary(max_size=200), cuts=CUTS)
def test_any_bytes_give_a_report_or_an_error_that_says_so(data, cuts):
    framed = b"<testsuites><testsuite name='s'>" + data
    assert parse_junit([framed], now=NOW) == parse_junit(pieces(framed, cuts), now=NOW)
    with suppress(UnreadableReportError):
        assert parse_junit([data], now=NOW).nodeids == []


@thorough
@given(text=documents())
def test_columns_are_parallel_and_every_detail_has_its_row(text):
    report = parse_junit([text.encode()], now=NOW)
    size = len(report.nodeids)
    columns = (report.outcomes, report.durations_ms, report.occurrences)
    assert [len(column) for column in columns] == [size] * 3
    indexes = [detail.index for detail in report.details]
    assert indexes == [i for i in range(size) if report.outcomes[i] != 1]
    numbered = list(zip(report.nodeids, report.occurrences.tolist(), strict=True))
    assert len(set(numbered)) == size

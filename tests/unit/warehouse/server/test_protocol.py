import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.warehouse.server import protocol
from gauntlet.warehouse.server.form import merge_form
from gauntlet.warehouse.server.protocol import RefusedError, engine_refusal, parse_request


def parsed(url="", method="POST", **headers):
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return parse_request(method, url.encode(), named)


def test_a_url_is_split_into_query_parameters_settings_and_transport():
    request = parsed(
        "query=SELECT+%7Bx%3AString%7D&param_x=a%5Ctb&database=other&max_threads=2"
        "&wait_end_of_query=1&query_id=q-1&session_id=s&client_protocol_version=54405&user=u"
    )
    assert request.query == b"SELECT {x:String}"
    assert request.parameters == {"x": "a\\tb"}
    assert request.settings == {"max_threads": "2"}
    assert (request.database, request.query_id) == ("other", "q-1")
    assert (request.wait, request.in_session, request.read_only) == (True, True, False)
    assert parsed(method="GET").read_only


@pytest.mark.parametrize(
    ("url", "headers", "expected"),
    [
        pytest.param("", {}, "TabSeparated", id="none"),
        pytest.param("default_format=CSV", {}, "CSV", id="in the url"),
        pytest.param("default_format=CSV", {"x_clickhouse_format": "JSON"}, "JSON", id="a header"),
    ],
)
def test_the_default_format_is_where_the_client_puts_it(url, headers, expected):
    assert parsed(url, **headers).default_format == expected


@pytest.mark.parametrize(
    ("url", "method", "code"),
    [
        pytest.param("", "PUT", 48, id="method"),
        pytest.param("compress=1", "POST", 48, id="native compression"),
        pytest.param("role=admin", "POST", 48, id="role"),
        pytest.param("a-b=1", "POST", 115, id="no name of a setting"),
        pytest.param("param_a%27=1", "POST", 115, id="no name of a parameter"),
        pytest.param("default_format=A%20B", "POST", 73, id="no name of a format"),
        pytest.param("query_id=%0d%0aX-Other:1", "POST", 36, id="a query id of two lines"),
    ],
)
def test_what_is_not_served_is_refused_and_not_ignored(url, method, code):
    with pytest.raises(RefusedError) as caught:
        parsed(url, method)
    assert caught.value.code == code
    assert caught.value.text.startswith(f"Code: {code}. DB::Exception: ")


def basic(user, key):
    return "Basic " + base64.b64encode(f"{user}:{key}".encode()).decode()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"X-ClickHouse-Key": "k"}, "k", id="header"),
        pytest.param({"Authorization": "Bearer k"}, "k", id="bearer"),
        pytest.param({"authorization": basic("default", "a:b")}, "a:b", id="basic"),
        pytest.param({"Authorization": "Basic !"}, "", id="broken"),
        pytest.param({"Authorization": "Digest k"}, None, id="another scheme"),
    ],
)
def test_a_key_may_come_in_three_ways(headers, expected):
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    found = protocol.credential(encoded)
    assert found == expected
    assert protocol.matches(found, "k") is (expected == "k")


@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        pytest.param(
            "Streaming query failed: Code: 395. DB::Exception: x. (N)", 395, 500, id="while reading"
        ),
        pytest.param("Code: 60. DB::Exception: no t. (UNKNOWN_TABLE)", 60, 404, id="no table"),
        pytest.param("Code: 62. DB::Exception: bad. (SYNTAX_ERROR)", 62, 400, id="syntax"),
        pytest.param("Code: 159. DB::Exception: late. (TIMEOUT)", 159, 408, id="timeout"),
        pytest.param("", 1002, 500, id="nothing said"),
    ],
)
def test_an_engine_error_keeps_its_code_and_text(text, code, status):
    error = engine_refusal(text)
    assert (error.code, error.status) == (code, status)
    assert error.text.startswith(f"Code: {code}. ")


def test_no_error_has_a_status_that_makes_clients_send_a_write_again():
    retried = {429, 503, 504}
    codes = {code for code in range(1100) if engine_refusal(f"Code: {code}. x").status in retried}
    assert codes == {protocol.ABORTED}


def test_a_summary_leaves_out_what_was_not_counted():
    assert json.loads(protocol.summary_header({"written_rows": 3})) == {"written_rows": "3"}


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=50))
def test_the_client_finds_the_error_at_the_end_of_a_result(reason):
    from clickhouse_connect.driver.transform import extract_exception_with_tag

    text = f"Code: 1. DB::Exception: {reason}. (X)"
    tag = protocol.exception_tag()
    found = extract_exception_with_tag(b"rows" + protocol.exception_block(tag, text), tag)
    assert found == text


def test_the_preamble_puts_a_connection_into_the_state_that_is_asked_for():
    request = parsed("database=a%60b&max_threads=2&param_x=it%27s&log_comment=mine", "GET")
    assert protocol.preamble(request, comment="mark") == [
        b"USE `a\\`b`",
        b"SET max_threads = '2', log_comment = 'mine mark', param_x = 'it\\'s', readonly = '2'",
    ]


def form(*parts, boundary="b"):
    fields = [f"--{boundary}\r\nContent-Disposition: form-data; {p}" for p in parts]
    return "\r\n".join([*fields, f"--{boundary}--\r\n"]).encode()


def posted(boundary="b"):
    return parsed("max_threads=2", content_type=f'multipart/form-data; boundary="{boundary}"')


def test_a_form_brings_the_query_and_its_parameters():
    body = form('name="query"\r\n\r\nSELECT 1', 'name="param_x"\r\n\r\na\r\n--c\r\n')
    request = merge_form(posted(), body)
    assert request.query == b"SELECT 1"
    assert request.parameters == {"x": "a\r\n--c\r\n"}
    assert request.settings == {"max_threads": "2"}
    assert request.boundary is None


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(form('name="query"\r\n\r\nSELECT 1')[:-6], 36, id="cut"),
        pytest.param(form('name="query"\r\n\r\nx', boundary="other"), 36, id="another boundary"),
        pytest.param(form('name="t"; filename="t"\r\n\r\nx'), 48, id="external data"),
        pytest.param(form("x\r\n\r\ny"), 36, id="no name"),
        pytest.param(b"", 36, id="empty"),
    ],
)
def test_a_form_that_is_not_whole_or_not_served_is_refused(body, code):
    with pytest.raises(RefusedError) as caught:
        merge_form(posted(), body)
    assert caught.value.code == code

"""The unmodified client against the local server of an embedded store."""

import contextlib
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import clickhouse_connect
import httpx
import pyarrow.ipc
import pyarrow.parquet
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError, StreamFailureError
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.core.errors import InfrastructureError
from gauntlet.warehouse.folder_lock import lock_folder
from gauntlet.warehouse.server.endpoint import Endpoint, connect
from gauntlet.warehouse.server.launch import find, find_or_start
from gauntlet.warehouse.server.state import (
    log_file,
    own_state,
    read_state,
    scratch_folder,
    state_file,
    write_state,
)

MIB = 1 << 20


def stop(folder, number=signal.SIGTERM):
    """Stop the server of a folder and wait until it has left the folder."""
    state = read_state(folder)
    if state is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(state.pid, number)
    lock_folder(folder, 20).close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("served") / "warehouse"
    yield found
    stop(found)


@pytest.fixture(scope="module")
def endpoint(folder):
    return find_or_start(folder, idle_s=60)


@pytest.fixture(scope="module")
def client(endpoint):
    with connect(endpoint) as opened:
        yield opened


@pytest.fixture
def own_folder(tmp_path):
    """A folder whose server, if there is one in the end, is stopped."""
    found = tmp_path / "warehouse"
    yield found
    stop(found, signal.SIGKILL)


@pytest.fixture
def table(client, request):
    """An empty table of two columns, with a name of its own."""
    name = f"t{abs(hash(request.node.nodeid))}"
    client.command(f"CREATE TABLE {name} (a UInt64, b String) ENGINE = MergeTree ORDER BY a")
    yield name
    client.command(f"DROP TABLE {name}")


def until(condition, within_s=20.0):
    """Wait for what must come; say so where it does not."""
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)
    return found


def running(client, word):
    """How many statements with this comment run; the question itself has it in pieces."""
    text = "SELECT count() FROM system.processes WHERE position(query, '/*' || {word:String}) > 0"
    return client.query(text, {"word": f"{word}*/"}).first_row[0]


@contextlib.contextmanager
def asked(endpoint, sql, url="/"):
    """A request on a connection of its own, whose answer nobody reads."""
    with socket.create_connection(("127.0.0.1", endpoint.port)) as connection:
        body = sql.encode()
        head = f"POST {url} HTTP/1.1\r\nHost: x\r\nX-ClickHouse-Key: {endpoint.token}\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        yield connection


def post(endpoint, sql, **parameters):
    return httpx.post(
        endpoint.url,
        content=sql,
        params=parameters,
        headers={"X-ClickHouse-Key": endpoint.token},
        trust_env=False,
        timeout=30,
    )


# Rows in, rows out.


@pytest.mark.parametrize("compress", [False, "lz4", "zstd", "gzip"])
def test_a_hundred_thousand_rows_come_in_once_and_come_out_again(endpoint, table, compress):
    numbers = list(range(100_000))
    with clickhouse_connect.get_client(
        host="127.0.0.1", port=endpoint.port, password=endpoint.token, compress=compress
    ) as default:
        columns = [numbers, [str(n) for n in numbers]]
        summary = default.insert(table, columns, column_names=["a", "b"], column_oriented=True)
        assert summary.written_rows == 100_000
        found = default.query(f"SELECT a, b FROM {table} ORDER BY a", column_oriented=True)
    assert [list(column) for column in found.result_set] == columns


@given(value=st.one_of(st.none(), st.text(alphabet=st.characters(codec="utf-8"))))
@settings(max_examples=60, deadline=None)
def test_a_parameter_arrives_as_it_was_given(client, value):
    found = client.query("SELECT {x:Nullable(String)} AS x, 1 AS y", {"x": value})
    assert found.result_rows == [(value, 1)]


def test_parameters_too_long_for_a_url_arrive_as_well(client):
    names = [f"it's\\{n}" for n in range(2000)]
    text = "SELECT length({names:Array(String)}), {names:Array(String)}[2000]"
    assert client.query(text, {"names": names}).first_row == (2000, "it's\\1999")


def test_settings_and_database_count_for_their_request_alone(client):
    text = "SELECT getSetting('max_block_size'), currentDatabase()"
    assert client.query(text, settings={"max_block_size": 4321}).first_row[0] == 4321
    assert client.query(text, settings={"database": "system"}).first_row[1] == "system"
    assert client.query(text).first_row == (65409, "default")


def test_commands_answer_as_those_of_a_server_do(client, table):
    assert client.command("SELECT 7") == 7
    assert client.command(f"SELECT a FROM {table}") == ""
    assert client.command(f"EXISTS TABLE {table}") == 1
    assert client.command(f"INSERT INTO {table} VALUES", data="(1, 'x'), (2, 'y')") is not None
    assert client.command(f"INSERT INTO {table} SELECT 3, 'z'").written_rows == 1
    assert client.query(f"SELECT b FROM {table} ORDER BY a").result_rows == [("x",), ("y",), ("z",)]


def test_times_are_utc_wherever_the_machine_stands(client, endpoint):
    answer = post(endpoint, "SELECT toDateTime('2025-01-01 00:00:00'), timezone()")
    assert answer.text == "2025-01-01 00:00:00\tUTC\n"
    assert answer.headers["X-ClickHouse-Timezone"] == "UTC"
    stamp = client.query("SELECT toUnixTimestamp('2025-01-01 00:00:00')").first_row[0]
    assert stamp == 1_735_689_600


def rows_of(name, data):
    """The numbers in a result, read by others than ClickHouse."""
    if name in {"JSON", "JSONEachRow"}:
        text = data.decode()
        rows = json.loads(text)["data"] if name == "JSON" else map(json.loads, text.splitlines())
        return [row["number"] for row in rows]
    if name in {"TabSeparated", "CSVWithNames"}:
        lines = data.decode().splitlines()
        return list(map(int, lines[name == "CSVWithNames" :]))
    source = pyarrow.BufferReader(data)
    if name == "Parquet":
        table = pyarrow.parquet.read_table(source)
    else:
        opened = pyarrow.ipc.open_file if name == "Arrow" else pyarrow.ipc.open_stream
        table = opened(source).read_all()
    return table.column("number").to_pylist()


@pytest.mark.parametrize("wait", [0, 1])
@pytest.mark.parametrize(
    "name",
    ["TabSeparated", "CSVWithNames", "JSON", "JSONEachRow", "Arrow", "ArrowStream", "Parquet"],
)
def test_a_result_of_several_blocks_is_whole_in_every_format(client, name, wait):
    text = "SELECT number FROM numbers(200000) ORDER BY number"
    data = client.raw_query(text, fmt=name, settings={"wait_end_of_query": wait})
    assert rows_of(name, data) == list(range(200_000))


def test_frames_come_out_as_from_a_server(client):
    frame = client.query_df("SELECT number AS n, toString(number) AS s FROM numbers(3)")
    assert frame.to_dict("list") == {"n": [0, 1, 2], "s": ["0", "1", "2"]}
    table = client.query_arrow("SELECT number AS n FROM numbers(3)")
    assert table.column("n").to_pylist() == [0, 1, 2]


def test_totals_are_not_lost(endpoint):
    sql = "SELECT number % 2 AS k, count() FROM numbers(5) GROUP BY k WITH TOTALS ORDER BY k"
    assert post(endpoint, sql).text == "0\t3\n1\t2\n\n0\t5\n"


# What is wrong.


@pytest.mark.parametrize(
    ("sql", "code", "status"),
    [
        pytest.param("SELEC 1", 62, 400, id="syntax"),
        pytest.param("SELECT nope", 47, 400, id="column"),
        pytest.param("SELECT * FROM nope", 60, 404, id="table"),
        pytest.param("SELECT {x:Int8}", 456, 400, id="parameter"),
        pytest.param("SELECT 1 FORMAT Nope", 73, 400, id="format"),
        pytest.param("INSERT INTO nope FORMAT CSV\n1", 60, 404, id="insert"),
        pytest.param("SELECT 1; SELECT 2", 62, 400, id="two statements"),
        pytest.param("SELECT throwIf(1)", 395, 500, id="while it runs"),
    ],
)
@pytest.mark.parametrize("wait", ["0", "1"])
def test_an_error_has_the_engine_s_code_and_text(endpoint, client, sql, code, status, wait):
    answer = post(endpoint, sql, wait_end_of_query=wait)
    assert (answer.status_code, answer.headers["X-ClickHouse-Exception-Code"]) == (
        status,
        str(code),
    )
    assert answer.text.startswith(f"Code: {code}. DB::Exception: ")
    with pytest.raises(DatabaseError) as caught:
        client.command(sql)
    assert caught.value.code == code


def test_an_unknown_setting_is_an_error_and_not_ignored(endpoint):
    answer = post(endpoint, "SELECT 1", no_such_setting="1")
    assert answer.headers["X-ClickHouse-Exception-Code"] == "115"


def keep(kept, items):
    """Take items until there are no more, and keep those that came before an error."""
    for item in items:
        kept.append(item)


LATE = "SELECT throwIf(number = 3000000) FROM numbers(4000000) SETTINGS max_threads = 1"


def test_an_error_after_the_first_rows_is_an_error_for_every_reader(endpoint, client):
    blocks = []
    with (
        client.query_row_block_stream(LATE) as stream,
        pytest.raises(StreamFailureError, match="throwIf") as caught,
    ):
        keep(blocks, map(len, stream))
    assert caught.value.code == 395
    assert sum(blocks) > 0
    with pytest.raises(DatabaseError, match="throwIf"):
        client.query(LATE)


def test_a_result_that_broke_off_has_no_end(endpoint):
    received = []
    with httpx.stream(
        "POST",
        endpoint.url,
        content=f"{LATE} FORMAT CSV",
        headers={"X-ClickHouse-Key": endpoint.token},
        trust_env=False,
    ) as answer:
        assert answer.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError):
            keep(received, answer.iter_bytes())
    tag = answer.headers["X-ClickHouse-Exception-Tag"].encode()
    assert b"".join(received).endswith(b" " + tag + b"\r\n__exception__\r\n")


def test_who_has_no_key_learns_nothing(endpoint):
    with pytest.raises(DatabaseError, match="AUTHENTICATION_FAILED") as caught:
        clickhouse_connect.get_client(host="127.0.0.1", port=endpoint.port, password="wrong")
    assert caught.value.code == 516
    with pytest.raises(InfrastructureError, match="does not answer"):
        connect(Endpoint(port=endpoint.port, token="wrong"))
    assert httpx.post(endpoint.url, content="SELECT 1", trust_env=False).status_code == 403
    assert httpx.get(f"{endpoint.url}/ping", trust_env=False).text == "Ok.\n"


def test_it_listens_on_this_machine_alone(endpoint):
    listening = [
        words[1]
        for table in ("tcp", "tcp6")
        for words in map(str.split, Path(f"/proc/net/{table}").read_text().splitlines())
        if words[3] == "0A" and words[1].endswith(f":{endpoint.port:04X}")
    ]
    assert listening == [f"0100007F:{endpoint.port:04X}"]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        pytest.param("SELECT count() FROM {}", None, id="reads"),
        pytest.param("SELECT count() FROM {} FORMAT CSVWithNames", None, id="reads through a file"),
        pytest.param("DROP TABLE {}", "164", id="writes"),
    ],
)
def test_a_get_changes_nothing(endpoint, table, sql, code):
    headers = {"X-ClickHouse-Key": endpoint.token}
    question = {"query": sql.format(table), "max_threads": "1"}
    answer = httpx.get(endpoint.url, params=question, headers=headers, trust_env=False)
    assert answer.headers.get("X-ClickHouse-Exception-Code") == code, answer.text


# Side by side.


def test_clients_in_threads_and_processes_work_at_once(endpoint, table):
    def work(who):
        with connect(endpoint) as own:
            for n in range(5):
                rows = [[who * 1_000_000 + n * 1000 + k, "x"] for k in range(1000)]
                own.insert(table, rows, column_names=["a", "b"])
                count = f"SELECT count() FROM {table} WHERE intDiv(a, 1000000) = {who}"
                assert own.query(count).first_row == ((n + 1) * 1000,)

    code = (
        "import sys\n"
        "from gauntlet.warehouse.server.endpoint import Endpoint, connect\n"
        "port, token, table, who = sys.argv[1:]\n"
        "with connect(Endpoint(port=int(port), token=token)) as own:\n"
        "    for n in range(5):\n"
        "        rows = [[int(who) * 1_000_000 + n * 1000 + k, 'x'] for k in range(1000)]\n"
        "        own.insert(table, rows, column_names=['a', 'b'])\n"
    )
    known = [str(endpoint.port), endpoint.token, table]
    others = [
        subprocess.Popen([sys.executable, "-c", code, *known, str(who)]) for who in (8, 9, 10)
    ]
    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work, who) for who in range(8)]:
            done.result()
    assert [other.wait(60) for other in others] == [0, 0, 0]
    with connect(endpoint) as own:
        text = f"SELECT count(), uniqExact(a) FROM {table}"
        assert own.query(text).first_row == (55_000, 55_000)


def sleeping(word):
    """A statement that takes five minutes, hardly any processor, and gives a row at once."""
    return f"SELECT /*{word}*/ sleepEachRow(0.1) FROM numbers(3000) SETTINGS max_block_size = 1"


def test_a_client_that_leaves_ends_its_query_and_nothing_else(endpoint, client):
    with asked(endpoint, sleeping("left")):
        until(lambda: running(client, "left"))
        assert client.ping()
        assert client.query("SELECT 1").first_row == (1,)
    until(lambda: not running(client, "left"))


@pytest.mark.parametrize("url", ["/", "/?wait_end_of_query=1"])
def test_a_client_that_leaves_a_stream_half_read_ends_its_query(endpoint, client, url):
    endless = "SELECT /*endless*/ number FROM numbers(1000000000000) FORMAT CSV"
    with asked(endpoint, endless, url) as connection:
        until(lambda: running(client, "endless"))
        if url == "/":
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    until(lambda: not running(client, "endless"))


def test_more_queries_than_workers_wait_for_their_turn(endpoint, client):
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(asked(endpoint, sleeping(n))) for n in range(8)]
        for connection in slow:
            assert connection.recv(1) == b"H"  # its answer has begun: it has its turn
        with ThreadPoolExecutor(1) as threads:
            ninth = threads.submit(client.query, "SELECT 1")
            assert client.ping()
            time.sleep(0.3)
            assert not ninth.done()
            slow[0].close()
            assert ninth.result(30).first_row == (1,)


# Much of it.


def memory_mib(pid, key):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))


@contextlib.contextmanager
def memory_growth(folder, limit_mib):
    """Check how far the server's memory grows meanwhile, at the most."""
    pid = read_state(folder).pid
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak counts from now on
    before = memory_mib(pid, "VmRSS")
    yield
    assert memory_mib(pid, "VmHWM") - before < limit_mib


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wait"),
    [
        pytest.param("Native", 0, id="streamed"),
        pytest.param("Native", 1, id="when it is whole"),
        pytest.param("CSVWithNames", 0, id="through a file"),
    ],
)
def test_a_large_result_is_never_held_whole(folder, client, name, wait):
    text = "SELECT number, repeat('x', 100) FROM numbers(2000000)"
    size = 0
    with memory_growth(folder, 170):
        stream = client.raw_stream(text, fmt=name, settings={"wait_end_of_query": wait})
        with contextlib.closing(stream):
            while piece := stream.read(MIB):
                size += len(piece)
    assert size > 200 * MIB
    assert list(scratch_folder(folder).iterdir()) == []


@pytest.mark.slow
def test_a_large_insert_is_never_held_whole(folder, client, table):
    block = client.raw_query(
        "SELECT number AS a, repeat('y', 400) AS b FROM numbers(25000)", fmt="Native"
    )
    assert len(block) * 80 > 770 * MIB
    # The engine gathers blocks of its own before it writes them: here smaller ones than usual.
    small = {"min_insert_block_size_bytes": 8 * MIB, "max_insert_threads": 1}
    with memory_growth(folder, 500):
        client.raw_insert(table, ["a", "b"], (block for _ in range(80)), settings=small)
    assert client.command(f"SELECT count() FROM {table}") == 2_000_000
    assert list(scratch_folder(folder).iterdir()) == []


# What breaks.


def test_an_insert_that_is_cut_leaves_nothing(endpoint, client, table):
    # More than the engine puts into one block: it would have stored the first ones long ago.
    piece = b"7,x\n" * (16 << 10)
    with socket.create_connection(("127.0.0.1", endpoint.port)) as connection:
        head = f"POST / HTTP/1.1\r\nHost: x\r\nX-ClickHouse-Key: {endpoint.token}\r\n"
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for data in (f"INSERT INTO {table} FORMAT CSV\n".encode(), *[piece] * 200):
            connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))
        connection.shutdown(socket.SHUT_WR)
        # The end of the connection: by then the server has seen that the rest does not come.
        assert connection.recv(1) == b""
    assert client.command(f"SELECT count() FROM {table}") == 0


@pytest.mark.parametrize(
    "encoding", [pytest.param("gzip", id="cut"), pytest.param("br", id="not known")]
)
def test_an_insert_that_cannot_be_decoded_leaves_nothing(endpoint, client, table, encoding):
    data = gzip.compress(b"7,x\n" * 3_000_000)[:-20]
    answer = httpx.post(
        endpoint.url,
        params={"query": f"INSERT INTO {table} FORMAT CSV"},
        content=data,
        headers={"X-ClickHouse-Key": endpoint.token, "Content-Encoding": encoding},
        trust_env=False,
    )
    assert answer.headers["X-ClickHouse-Exception-Code"] == "271"
    assert client.command(f"SELECT count() FROM {table}") == 0


def test_a_batch_sent_again_under_its_token_is_stored_once(client):
    client.command(
        "CREATE TABLE once (a UInt64) ENGINE = MergeTree ORDER BY a "
        "SETTINGS non_replicated_deduplication_window = 100"
    )
    rows = [[n] for n in range(1000)]
    for _ in range(2):
        client.insert(
            "once", rows, column_names=["a"], settings={"insert_deduplication_token": "b1"}
        )
    assert client.command("SELECT count() FROM once") == 1000


def test_a_server_killed_while_it_stores_has_whole_batches_after(own_folder):
    first = find_or_start(own_folder, idle_s=60)
    acknowledged = []
    with connect(first) as own:
        own.command("CREATE TABLE t (batch UInt32, n UInt32) ENGINE = MergeTree ORDER BY batch")

        def insert():
            with contextlib.suppress(Exception):
                for batch in range(100_000):
                    rows = [[batch, n] for n in range(500)]
                    own.insert("t", rows, column_names=["batch", "n"])
                    acknowledged.append(batch)

        writer = threading.Thread(target=insert)
        writer.start()
        until(lambda: len(acknowledged) >= 20)
        pid = read_state(own_folder).pid
        os.kill(pid, signal.SIGKILL)
        writer.join(30)
    second = find_or_start(own_folder, idle_s=60)
    assert second != first
    with connect(second) as own:
        sizes = dict(own.query("SELECT batch, count() FROM t GROUP BY batch").result_rows)
    assert set(sizes.values()) == {500}
    assert set(acknowledged) <= set(sizes)


# Found, started, ended.


def gone(pid):
    """Whether a process is no more; ours are reaped as soon as they end."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_it_is_found_and_not_started_again(folder, endpoint):
    assert find(folder) == endpoint
    assert find_or_start(folder) == endpoint


def test_those_who_start_at_once_get_one_server(own_folder):
    with ThreadPoolExecutor(3) as threads:
        starts = [threads.submit(find_or_start, own_folder, idle_s=30) for _ in range(3)]
        found = {start.result(60) for start in starts}
    assert len(found) == 1
    words = f"--warehouse\0{own_folder}\0".encode()
    servers = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            servers += [line.parent.name] if words in line.read_bytes() else []
    assert servers == [str(read_state(own_folder).pid)]


def test_it_ends_when_nobody_needs_it_and_leaves_nothing_behind(own_folder):
    command = [sys.executable, "-m", "gauntlet", "warehouse", "serve", "--idle-s", "1"]
    with subprocess.Popen(
        [*command, "--warehouse", str(own_folder)], stderr=subprocess.PIPE, text=True
    ) as server:
        announced = server.stderr.readline()
        state = read_state(own_folder)
        assert announced.startswith(f"{state.endpoint.url} serves {own_folder}")
        assert state.token not in announced
        with connect(state.endpoint) as own:
            # Longer than the server waits for somebody to ask: it waits for the answer as well.
            assert own.command("SELECT sleep(1.5)") == 0
        assert server.wait(30) == 0
    names = {path.name for path in own_folder.parent.iterdir()}
    assert names == {"warehouse", "warehouse.lock"}


def test_a_terminated_server_finishes_what_runs(own_folder):
    endpoint = find_or_start(own_folder, idle_s=60)
    pid = read_state(own_folder).pid
    with connect(endpoint) as own, ThreadPoolExecutor(1) as threads:
        slow = threads.submit(own.command, "SELECT /*last*/ sleep(1.5) + 5")
        with connect(endpoint) as other:
            until(lambda: running(other, "last"))
        os.kill(pid, signal.SIGTERM)
        until(lambda: not state_file(own_folder).exists())
        assert slow.result(30) == 5
    until(lambda: gone(pid))
    assert find(own_folder) is None


@pytest.mark.slow
def test_a_terminated_server_ends_what_takes_too_long(own_folder):
    endpoint = find_or_start(own_folder, idle_s=60)
    pid = read_state(own_folder).pid
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(post, endpoint, sleeping("late"), wait_end_of_query="1")
        with connect(endpoint) as other:
            until(lambda: running(other, "late"))
        os.kill(pid, signal.SIGTERM)
        answer = slow.result(30)
    assert (answer.status_code, answer.headers["X-ClickHouse-Exception-Code"]) == (503, "236")
    assert "the server ends" in answer.text
    until(lambda: gone(pid))


class _Stranger(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Ok.\n")

    def log_message(self, *_):
        pass


@pytest.fixture
def stranger():
    """Another service, on a port that was once a server's."""
    with HTTPServer(("127.0.0.1", 0), _Stranger) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_what_is_left_of_other_servers_is_not_taken_for_one(own_folder, endpoint, stranger):
    own_folder.parent.mkdir(exist_ok=True)
    for port, token in (
        (1, "t"),  # nobody listens
        (stranger, "t"),  # somebody else does
        (endpoint.port, "t"),  # another server, with another key
        (endpoint.port, endpoint.token),  # another server, which takes the key
    ):
        write_state(own_folder, own_state(own_folder, Endpoint(port=port, token=token)))
        assert find(own_folder) is None
    started = find_or_start(own_folder, idle_s=30)
    assert started.port not in {1, stranger, endpoint.port}
    assert find(own_folder) == started


def test_a_folder_that_another_process_has_is_said_so(own_folder):
    with (
        lock_folder(own_folder, 0),
        pytest.raises(InfrastructureError, match="in use by another process, which is no server"),
    ):
        find_or_start(own_folder, wait_s=1.0)


def test_a_server_that_cannot_start_says_why(own_folder):
    own_folder.parent.mkdir(exist_ok=True)
    own_folder.write_text("no folder")
    words = r"did not start\n(?s:.*)cannot open the warehouse"
    with pytest.raises(InfrastructureError, match=words) as caught:
        find_or_start(own_folder)
    assert str(log_file(own_folder)) in caught.value.hint
    own_folder.unlink()

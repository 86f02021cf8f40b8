"""What the server says, to whom, and what it never does."""

import base64
import io
import signal
import socket
import threading
import time
from pathlib import Path

import msgspec
import pytest
from PIL import Image
from synthetic import picture
from viewing import ask, catalog, going_on, made_run, real_runs, served, set_status, view, viewed

import snellen
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.media import decode_image, digest_bytes
from snellen.report.page.samples import describe
from snellen.view.local_server import HOST
from snellen.view.run_view import RunLibrary
from snellen.view.server import PageServer


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return real_runs(tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="module")
def server(runs):
    with served(runs[0].path.parent) as server:
        yield server


def test_the_catalog_has_every_run_with_its_number(server, runs):
    rows = {row["key"]: row for row in catalog(server)}
    assert set(rows) == {run.name for run in runs}
    for run in runs:
        headline = run.report().summary.headline
        row = rows[run.name]
        assert row["score"] == f"{headline.value:.1f}"
        assert row["interval"] == f"{headline.interval.low:.1f}–{headline.interval.high:.1f}"
        assert (row["model"], row["status"], row["n"]) == (run.info.model, "complete", 60)
        assert [label for _, label, _ in row["flags"]] == ["limit 60"]
        assert dict(row["baselines"]).keys() == {"chance", "frequent"}
        head = ask(server, "/api/run", run=run.name).json
        assert (head["value"], head["interval"]) == (row["score"], row["interval"])
        assert not head["live"]


def test_idle_connections_are_closed_and_are_not_too_many(runs, monkeypatch):
    monkeypatch.setenv("SNELLEN_MAX_CONNECTIONS", "5")
    monkeypatch.setattr("snellen.view.local_server._Handler.timeout", 1.0)
    before = threading.active_count()
    with served(runs[0].path.parent) as server:
        idle = [socket.create_connection((HOST, server.server_port), 10) for _ in range(40)]
        # Closed at once, or after a second of silence: each of them is told so by an end.
        assert [one.recv(1) for one in idle[5:]] == [b""] * 35
        assert threading.active_count() <= before + 1 + 5
        assert [one.recv(1) for one in idle[:5]] == [b""] * 5
        for one in idle:
            one.close()
        assert ask(server, "/api/catalog").status == 200


def test_samples_are_those_of_the_file(server, runs):
    run = runs[1]
    records = list(run.records())
    columns = ask(server, "/api/columns", run=run.name).json
    assert columns["ids"] == [record.id for record in records]
    assert (columns["rows"], columns["more"], columns["live"]) == (60, False, False)
    told = ask(server, "/api/samples", run=run.name, rows="59,3").json
    expected = [describe(records[at]) for at in (59, 3)]
    assert told == msgspec.json.decode(msgspec.json.encode(expected))


def test_search_is_done_by_the_server(server, runs):
    run = runs[1]
    told = ask(server, "/api/search", run=run.name, text="PICTURE").json
    bits = base64.b64decode(told["bits"])
    found = {at for at in range(told["rows"]) if bits[at >> 3] & (1 << (at & 7))}
    expected = {
        at
        for at, record in enumerate(run.records())
        if "picture" in msgspec.json.encode(record.passes).decode().lower().replace('"media"', "")
        or "picture" in record.question.lower()
    }
    assert found == expected
    assert 0 < len(found) < 60


def test_two_runs_are_compared_as_on_the_command_line(server, runs):
    first, second = runs
    told = ask(server, "/api/compare", first=first.name, second=second.name).json
    difference = second.report().summary.headline.value - first.report().summary.headline.value
    assert difference > 0
    assert told["difference"] == f"+{difference:.1f}"
    assert told["n"] == 60
    back = ask(server, "/api/compare", first=second.name, second=first.name).json
    assert back["difference"] == f"–{difference:.1f}"


def test_the_leaves_are_the_parts_of_the_report(server, runs):
    told = ask(server, "/api/numbers", run=runs[1].name).json
    assert "By group" in told["result"]
    assert "How the 60 samples ended" in told["result"]
    assert runs[1].info.data.digest in told["protocol"]


def test_pictures_come_from_the_data_when_asked_for(server, runs):
    record = next(record for record in runs[1].records() if record.media)
    digest = record.media[0]
    path = f"/media/{runs[1].name}/{digest}"
    whole = ask(server, path, sample=record.id, whole=1)
    assert digest_bytes(whole.body) == digest
    small = ask(server, path, sample=record.id)
    assert small.headers["Content-Type"] == "image/jpeg"
    assert decode_image(small.body).size == decode_image(whole.body).size
    assert not (runs[1].path / "media").exists()


def test_pictures_beside_a_run_need_no_data(tmp_path):
    run = made_run(tmp_path, count=20)
    digest = digest_bytes(picture(0))
    with served(tmp_path) as server:
        small = ask(server, f"/media/{run.name}/{digest}")
        assert Image.open(io.BytesIO(small.body)).size == (160, 160)
        assert ask(server, f"/media/{run.name}/{'0' * 64}", sample="0").status == 404


def test_pictures_made_for_the_asking_are_made_again(tmp_path):
    done = snellen.evaluate("random", "eyechart", out=tmp_path, limit=4, html=False, variant=Variant(control="black"))
    run = done.runs[0]
    record = next(record for record in run.records() if record.media)
    with served(tmp_path) as server:
        path = f"/media/{run.name}/{record.media[0]}"
        whole = ask(server, path, sample=record.id, whole=1)
    assert digest_bytes(whole.body) == record.media[0]
    assert decode_image(whole.body).getextrema() == ((0, 0), (0, 0), (0, 0))


OUTSIDE = [
    "/../../../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/media/../../../etc/passwd",
    "/media/{run}/../run.json",
    "/media/{run}/..%2Frun.json",
    "/media/{run}/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/media/{run}/run.json",
    "/media/..%2F{run}/" + "0" * 64,
    "/media/{run}/" + "0" * 64 + "/x",
    "/{run}/run.json",
    "/run.json",
    "//etc/passwd",
    "/api/../api/catalog",
    "/api/catalog/",
    "/api/runs",
]


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.attack("paths that climb out of the run folder", "404, no file")
def test_no_address_leads_to_another_file(server, runs, path):
    answer = ask(server, path.replace("{run}", runs[0].name))
    assert answer.status in (404, 422)
    assert list(answer.json) == ["error"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "BREW"])
@pytest.mark.attack("other methods than GET", "405")
def test_only_get_is_allowed(server, method):
    assert ask(server, "/api/catalog", method=method).status == 405


@pytest.mark.parametrize("host", ["example.org", "example.org:80", "127.0.0.1.example.org:80", ""])
@pytest.mark.attack("a foreign Host header", "403")
def test_refuses_requests_with_another_host(server, host):
    connection = ask(server, "/api/catalog", host=host or "x")
    assert connection.status == 403


@pytest.mark.attack("a request from another machine", "not reachable")
def test_the_server_is_bound_to_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert ask(server, "/", host=f"localhost:{server.server_port}").status == 200


@pytest.mark.parametrize(
    ("path", "query", "said"),
    [
        ("/api/run", {"run": "nothing"}, "no run 'nothing'"),
        ("/api/run", {}, "lacks something"),
        ("/api/samples", {"rows": "1,x"}, "lacks something"),
        ("/api/samples", {"rows": "-1"}, "lacks something"),
        ("/api/samples", {"rows": "99999"}, "lacks something"),
    ],
)
def test_a_wrong_address_is_one_sentence(server, runs, path, query, said):
    if path == "/api/samples":
        query = {"run": runs[0].name, **query}
    answer = ask(server, path, **query)
    assert answer.status == 422
    assert said in answer.json["error"]


def test_server_follows_an_active_run(tmp_path):
    run = real_runs(tmp_path)[0]
    rest = going_on(run, 20)
    with served(run.path) as server:
        head = ask(server, "/api/run", run=run.name).json
        assert (head["live"], head["n"], head["done"], head["samples"]) == (True, 20, 20, 60)
        part = ask(server, "/api/columns", run=run.name).json
        assert (part["rows"], part["live"]) == (20, True)
        with (run.path / "samples.jsonl").open("ab") as file:
            file.write(b"".join(rest[:-1]) + rest[-1][:10])
        part = ask(server, "/api/columns", run=run.name, **{"from": 20}, generation=1).json
        assert (part["from"], part["rows"], len(part["ids"])) == (20, 59, 39)
        with (run.path / "samples.jsonl").open("ab") as file:
            file.write(rest[-1][10:])
        set_status(run.path, "complete")
        part = ask(server, "/api/columns", run=run.name, **{"from": 59}, generation=1).json
        assert (part["rows"], part["live"]) == (60, False)
        # Started again from nothing: numbers no longer mean the same samples.
        (run.path / "samples.jsonl").write_bytes(rest[0])
        part = ask(server, "/api/columns", run=run.name, **{"from": 60}, generation=1).json
        assert (part["generation"], part["from"], part["rows"]) == (2, 0, 1)


def test_runs_that_appear_in_the_folder_are_shown(tmp_path):
    made_run(tmp_path, "one", count=10)
    with served(tmp_path) as server:
        assert len(catalog(server)) == 1
        made_run(tmp_path, "two", count=10)
        server.library.catalog.refresh(now=True)
        assert [one["model"] for one in catalog(server)] == ["one", "two"]


def test_runs_of_the_same_name_get_distinct_keys(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        made_run(tmp_path / name, count=10)
    with served(tmp_path / "a", tmp_path / "b") as server:
        keys = [one["key"] for one in catalog(server)]
        assert keys == ["snellen_tiny--made--0123abcd", "snellen_tiny--made--0123abcd~2"]
        assert all(ask(server, "/api/run", run=key).json["key"] == key for key in keys)


def test_a_run_whose_benchmark_is_gone_shows_its_samples(tmp_path):
    run = made_run(tmp_path, count=10)
    going_on(run, 5)
    with served(tmp_path) as server:
        head = ask(server, "/api/run", run=run.name).json
        assert "value" not in head
        assert len(head["notices"]) == 1
        assert ask(server, "/api/columns", run=run.name).json["rows"] == 5
        catalog(server)
        deadline = time.monotonic() + 30
        while not (row := catalog(server)[0])["problem"] and time.monotonic() < deadline:
            time.sleep(0.02)
        assert row["problem"] == head["notices"][0]
        assert (row["status"], row["done"], row["samples"]) == ("running", 5, 10)


def test_a_taken_port_is_one_sentence(runs):
    shelf = RunLibrary([runs[0].path])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} is taken by another program"):
            PageServer(shelf, port)
    with pytest.raises(UsageError, match="expected 0 to 65535"):
        PageServer(shelf, 70_000)


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path):
    process = view(str(tmp_path / "gone"))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err == f"snellen: no run in {tmp_path / 'gone'}: there is no such file or folder\n"


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_viewer_cleanly(runs, end):
    with viewed(str(runs[0].path), "--port", "0") as (process, _):
        process.send_signal(end)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out.strip(), err) == (0, "", "")


@pytest.mark.attack(
    "another user of the machine asks the viewer, without its address or with a wrong token",
    "403 for pages, data, pictures and what is stored; the printed address lets in",
)
def test_nothing_is_read_without_the_printed_address(tmp_path):
    run = made_run(tmp_path)
    with served(tmp_path) as server:
        strangers = ("", f"snellen-{server.server_port}=guessed", f"other={server.token}")
        for path in ("/", "/api/catalog", f"/api/run?run={run.name}", "/media/x/y", "/video/x/y"):
            for cookie in strangers:
                refused = ask(server, path, headers={"Cookie": cookie})
                assert refused.status == 403, (path, cookie)
                assert "open the address that snellen printed" in refused.json["error"]
        change = {"X-Snellen-Token": server.token, "Cookie": ""}
        assert ask(server, "/api/annotate", "POST", body=b"{}", headers=change).status == 403
        token = server.url.partition("token=")[2]
        assert token != server.token
        entered = ask(server, f"/?token={token}", headers={"Cookie": ""})
        assert (entered.status, entered.headers["Location"]) == (303, "/")
        cookie, *rest = entered.headers["Set-Cookie"].split("; ")
        assert (cookie, rest) == (server.cookie, ["HttpOnly", "SameSite=Strict", "Path=/"])
        assert ask(server, "/", headers={"Cookie": f"a=b; {cookie}"}).status == 200
        assert ask(server, "/api/catalog", headers={"Cookie": ""}, token=token).status == 200
        assert token.encode() not in ask(server, "/").body
        # The control: a server without such a token is read by anybody.
        server.read_token = ""
        assert ask(server, "/api/catalog", headers={"Cookie": ""}).status == 200

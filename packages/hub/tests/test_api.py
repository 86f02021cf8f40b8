"""The hub as it is used: commands, a server and a worker as processes, submissions from outside."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_scoring import predictions, write_data

from snellen.cli import main

HUB = [sys.executable, "-m", "snellen", "hub"]
KEY = "a key of the tests, and long enough"


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "SNELLEN_HUB_KEY": KEY, **more}


def command(*arguments: object, stdin: str = "", code: int = 0, **more: str) -> str:
    """Run a command in this process: starting one takes a second. Returns what it prints."""
    printed = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        for name, value in {"SNELLEN_HUB_KEY": KEY, **more}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        try:
            ended: object = main([*map(str, arguments)])
        except SystemExit as error:
            ended = error.code
    assert ended == code, printed.getvalue()
    return printed.getvalue()


class Served:
    """A hub with its server and worker as processes."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}"
        self.token = ""

    def get(self, path: str, token: str = "", method: str = "GET") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(self.url + path, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                body = response.read()
                return response.status, json.loads(body) if body[:1] in b"[{" else body.decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())["detail"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A hub made, filled and started by its commands, as a newcomer types them."""
    place = tmp_path_factory.mktemp("served")
    hub = Served(place / "hub", free_port())
    data = write_data(place / "signs.tsv")
    public = write_data(place / "public.tsv", with_answers=False)
    command("hub", "init", hub.folder, "--owner", "olga", stdin="a long password\n")
    command("hub", "account", hub.folder, "ann", stdin="another password\n")
    hub.token = command("hub", "account", hub.folder, "ann", "--token").strip()
    command("hub", "benchmark", hub.folder, "open-signs", "--data", data, "--title", "Signs")
    command("hub", "benchmark", hub.folder, "hidden-signs", "--data", data, "--hidden", f"public={public}")
    port = hub.url.rpartition(":")[2]
    processes = [
        subprocess.Popen([*HUB, "serve", str(hub.folder), "--port", port], env=environment()),
        subprocess.Popen([*HUB, "worker", str(hub.folder)], env=environment()),
    ]
    end = time.monotonic() + 60
    while True:
        try:
            if hub.get("/health")[0] == 200:
                break
        except OSError:
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.1)
    yield hub
    for process in processes:
        process.send_signal(signal.SIGTERM)
    assert [process.wait(30) for process in processes] == [0, 0]


def submit(served: Served, content: bytes, place: Path, *flags: str, code: int = 0) -> str:
    file = place / "predictions.jsonl"
    file.write_bytes(content)
    return command("submit", file, "--hub", served.url, *flags, code=code, SNELLEN_HUB_TOKEN=served.token)


def test_from_a_file_to_a_published_score(served: Served, tmp_path: Path) -> None:
    flags = (
        "--benchmark",
        "open-signs",
        "--name",
        "my-model",
        "--publish",
        "--json",
        "--facts",
        "parameters=8,weights=open,organisation=Signs, Inc.",
    )
    sent = json.loads(submit(served, predictions(45), tmp_path, *flags))
    assert (sent["status"], sent["visibility"]) == ("scored", "published")
    assert sent["score"]["headline"]["value"] == 75.0
    code, board = served.get("/api/v1/benchmarks/open-signs/board")
    assert code == 200
    ((row,),) = (table["rows"] for table in board["tables"])
    assert (row["model"], row["account"], row["evidence"]) == ("my-model", "ann", "submitted")
    assert row["cells"]["score"]["low"] < 75 < row["cells"]["score"]["high"]
    assert {"category.even", "category.odd"} <= set(row["cells"])
    code, text = served.get("/api/v1/benchmarks/open-signs/board?form=csv")
    assert text.splitlines()[0].startswith("model,rank,score,score.low,score.high,")
    assert text.splitlines()[1].startswith("my-model,1,75.0,")


def test_a_run_folder_is_submitted_as_it_is(served: Served, tmp_path: Path) -> None:
    command(
        "run",
        "-m",
        "random",
        "-b",
        served.folder.parent / "public.tsv",
        "--columns",
        "gold=",
        "--no-html",
        "-q",
        "--out",
        tmp_path,
    )
    (run,) = (path.parent for path in tmp_path.glob("*/run.json"))
    sent = command(
        "submit",
        run,
        "--hub",
        served.url,
        "--benchmark",
        "hidden-signs",
        "--publish",
        "--json",
        SNELLEN_HUB_TOKEN=served.token,
    )
    state = json.loads(sent)
    assert (state["model"], state["status"]) == ("random", "scored")


def test_hidden_answers_do_not_leave(served: Served, tmp_path: Path) -> None:
    flags = ("--benchmark", "hidden-signs", "--name", "m", "--publish", "--json")
    state = json.loads(submit(served, predictions(45), tmp_path, *flags))
    score = state["score"]
    assert score["headline"]["n"] == sum(score["outcomes"].values()) == 18
    described = served.get("/api/v1/benchmarks/hidden-signs")[1]["parts"]
    assert described == {"public": 18, "revealed": 0, "private": 42, "reveals": []}
    code, data = served.get("/api/v1/benchmarks/hidden-signs/data")
    assert code == 200
    assert "What is 1?" in data
    assert all(line.split("\t")[6] == "" for line in data.splitlines()[1:])
    for path in ("", "/board", "/board?form=csv"):
        assert served.get(f"/api/v1/benchmarks/hidden-signs{path}")[0] == 200


def test_a_private_submission_is_its_owners_alone(served: Served, tmp_path: Path) -> None:
    state = json.loads(
        submit(served, predictions(30), tmp_path, "--benchmark", "open-signs", "--name", "secret-model", "--json")
    )
    path = f"/api/v1/submissions/{state['id']}"
    assert served.get(path, served.token)[0] == 200
    assert served.get(path) == (404, f"there is no submission {state['id']}")
    other = command("hub", "account", served.folder, "olga", "--token").strip()
    assert served.get(path, other)[0] == 404
    assert served.get(f"{path}/publish", other, "POST")[0] == 404
    assert served.get(f"{path}/withdraw", other, "POST")[0] == 404
    assert served.get(f"{path}/withdraw", served.token, "POST")[1]["visibility"] == "withdrawn"
    assert served.get(f"{path}/publish", served.token, "POST")[0] == 409


@pytest.mark.parametrize(
    ("path", "token", "method", "code", "sentence"),
    [
        ("/api/v1/submissions", "", "GET", 401, "needs a token"),
        ("/api/v1/submissions", "snl_wrong", "GET", 401, "unknown, expired or revoked"),
        ("/api/v1/benchmarks/nothing", "", "GET", 404, "no benchmark nothing"),
        ("/api/v1/benchmarks/..%2f..%2fetc", "", "GET", 404, "Not Found"),
        ("/api/v1/benchmarks/Upper", "", "GET", 422, "name: String should match pattern"),
        ("/api/v1/benchmarks/open-signs/board?form=xml", "", "GET", 422, "form: String should"),
        ("/api/v1/submissions/0000000000000000", "", "GET", 404, "there is no submission"),
    ],
)
def test_mistakes_give_one_sentence(
    served: Served, path: str, token: str, method: str, code: int, sentence: str
) -> None:
    status, detail = served.get(path, token, method)
    assert status == code
    assert sentence in detail


@pytest.mark.parametrize(
    ("content", "flags", "sentence"),
    [
        (
            b'{"index": "x", "prediction": "A"}\n',
            ("--benchmark", "open-signs", "--name", "m"),
            "1 of 1 ids are not of this benchmark",
        ),
        (b"no json\n", ("--benchmark", "open-signs", "--name", "m"), "JSON"),
        (predictions(1), ("--benchmark", "no-signs", "--name", "m"), "no benchmark no-signs"),
        (predictions(1), ("--name", "m"), "needs --benchmark"),
        (
            predictions(1),
            ("--benchmark", "open-signs", "--name", "m", "--facts", "size=8"),
            "the field facts cannot be read",
        ),
        (predictions(1), ("--benchmark", "open-signs", "--name", "m\x07"), "printable"),
    ],
)
def test_a_submission_with_a_mistake_is_refused(
    served: Served, tmp_path: Path, content: bytes, flags: tuple[str, ...], sentence: str
) -> None:
    assert sentence in submit(served, content, tmp_path, *flags, code=2)


def test_health_metrics_and_headers(served: Served) -> None:
    assert served.get("/health")[1]["status"] == "ok"
    assert 'snellen_hub_jobs{status="queued"}' in served.get("/metrics")[1]
    with urllib.request.urlopen(f"{served.url}/api/v1/benchmarks", timeout=30) as response:
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("hub", "serve", "nowhere"), "nowhere holds no hub"),
        (("hub", "account", "nowhere", "x"), "nowhere holds no hub"),
        (("submit", "nothing.tsv", "--hub", "http://127.0.0.1:9"), "nothing.tsv does not exist"),
        (("submit", ".", "--hub", "elsewhere"), "neither a run folder"),
    ],
)
def test_commands_explain_mistakes(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in command(*arguments, code=2)


def test_a_dead_hub_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_bytes(predictions(1))
    said = command(
        "submit",
        file,
        "--hub",
        "http://127.0.0.1:9",
        "--benchmark",
        "b",
        "--name",
        "m",
        "--wait",
        "0",
        code=2,
        SNELLEN_HUB_TOKEN="snl_x",
    )
    assert "cannot be reached" in said
    assert "SNELLEN_HUB_TOKEN is not set" in command(
        "submit", file, "--hub", "http://127.0.0.1:9", "--benchmark", "b", "--name", "m", code=2
    )


@pytest.mark.release
def test_submit_waits_for_a_server_that_is_starting(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_bytes(predictions(45))
    port = free_port()
    asked = [
        "submit",
        str(file),
        "--hub",
        f"http://127.0.0.1:{port}",
        "--benchmark",
        "open-signs",
        "--name",
        "early",
        "--wait",
    ]
    sending = subprocess.Popen(
        [sys.executable, "-m", "snellen", *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment() | {"SNELLEN_HUB_TOKEN": served.token},
    )
    assert sending.stderr is not None
    assert "does not answer yet; trying for 60 s" in sending.stderr.readline()
    late = subprocess.Popen([*HUB, "serve", str(served.folder), "--port", str(port)], env=environment())
    try:
        printed, problem = sending.communicate(timeout=200)
        assert (sending.returncode, problem) == (0, "")
        assert "early: scored, private; accuracy 75.0, n = 60" in printed
    finally:
        late.send_signal(signal.SIGTERM)
        assert late.wait(30) == 0


def test_submissions_are_listed_and_withdrawn(served: Served, tmp_path: Path) -> None:
    flags = ("--benchmark", "hidden-signs", "--name", "mistaken", "--wait", "--json")
    sent = json.loads(submit(served, predictions(30), tmp_path, *flags))
    assert (sent["status"], sent["visibility"]) == ("scored", "private")
    hub = ("submit", "--hub", served.url)
    token = {"SNELLEN_HUB_TOKEN": served.token}
    line = command(*hub, "--list", **token).splitlines()[0]
    assert line.startswith(f"{sent['id']}: hidden-signs, mistaken: scored, private")
    said = command(*hub, "--withdraw", sent["id"], **token)
    assert "mistaken: scored, withdrawn" in said
    (first, *_) = json.loads(command(*hub, "--list", "--json", **token))
    assert (first["id"], first["visibility"]) == (sent["id"], "withdrawn")
    other = command("hub", "account", served.folder, "olga", "--token").strip()
    refused = command(*hub, "--withdraw", sent["id"], code=2, SNELLEN_HUB_TOKEN=other)
    assert f"there is no submission {sent['id']} of yours" in refused
    listed = command(*hub, "--list", SNELLEN_HUB_TOKEN=other)
    assert listed.strip() == "you have submitted nothing to this hub"
    command(*hub, code=2, **token)
    command(*hub, "p.csv", "--list", code=2, **token)


def test_hosts_set_phases_remotely(served: Served) -> None:
    asked = ("hub", "phases", f"{served.url}/api/v1", "hidden-signs")
    flags = ("--phase", "Public,2127-03-01,2127-05-01,50", "--phase", "Last,2127-05-01,2127-06-01")
    ann = {"SNELLEN_HUB_TOKEN": served.token}
    refused = command(*asked, *flags, **ann, code=2)
    assert refused == f"snellen: {served.url}: ann is no host of hidden-signs\n"
    command("hub", "account", served.folder, "ann", "--manage", "hidden-signs")
    assert "50 submissions of a team\nLast: 2127-05" in command(*asked, *flags, **ann)
    assert "50 submissions of a team\nLast: 2127-05" in command(*asked, **ann)
    for token, sentence in (("snl_x", "on the page /account/tokens"), ("a\nb", "that no token")):
        said = command(*asked, "--phase", "none", SNELLEN_HUB_TOKEN=token, code=2)
        assert sentence in said
        assert "a\nb" not in said
    assert "has no phases" in command(*asked, "--phase", "none", **ann)
    command("hub", "account", served.folder, "ann", "--manage", "hidden-signs:none")
    assert "no benchmark other" in command(*asked[:-1], "other", code=2, **ann)
    reveal = ("phases", served.url, "hidden-signs", "--reveal", "now")
    for action in (("account", served.url, "ann"), ("init", served.url), reveal):
        assert "is an address, and this needs the folder" in command("hub", *action, code=2)


def test_hosts_set_phases_with_the_base_install(served: Served) -> None:
    """Without what a server needs, as `snellen submit`."""
    without = (
        "import sys; sys.modules |= dict.fromkeys(sys.argv.pop(1).split(','));"
        "from snellen.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    extra = "sqlalchemy,fastapi,starlette,uvicorn,argon2,authlib,fsspec,cryptography,psycopg"

    def ask(place: object, *flags: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", without, extra, "hub", "phases", str(place), "hidden-signs", *flags],
            env=environment(SNELLEN_HUB_TOKEN=served.token),
            text=True,
            capture_output=True,
            check=False,
        )

    assert ask(served.url).stdout.startswith("hidden-signs has no phases")
    refused = ask(served.url, "--phase", "Public,2127-03-01,2127-05-01,50")
    assert (refused.returncode, refused.stderr) == (2, f"snellen: {served.url}: ann is no host of hidden-signs\n")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: {}/api/v1/benchmarks/b\r\n\r\n", "it sends to {}; give"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhub!", "answers as no hub does"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "answers as no hub does"),
        (b"220 mail.example ESMTP\r\n", "answers as no hub does"),
        (b"", "cannot be reached"),
    ],
)
def test_refuses_server_that_is_not_a_hub(answer: bytes, sentence: str) -> None:
    """The token goes nowhere else, and the command ends in a sentence."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as other:
        elsewhere = f"http://127.0.0.1:{other.getsockname()[1]}"

        def answer_once() -> None:
            with server.accept()[0] as connection:
                connection.recv(10_000)
                connection.sendall(answer.replace(b"{}", elsewhere.encode()))

        answering = threading.Thread(target=answer_once)
        answering.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        said = command("hub", "phases", url, "b", code=2, SNELLEN_HUB_TOKEN="snl_secret")
        answering.join(30)
        assert sentence.format(elsewhere) in said
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.accept()


def test_a_hub_is_not_made_twice(served: Served) -> None:
    said = command("hub", "init", served.folder, stdin="a long password\n", code=2)
    assert "holds a hub already" in said
    assert "current" in command("hub", "doctor", served.folder, "--upgrade")
    assert "10 to 200 characters" in command("hub", "account", served.folder, "short", stdin="short\n", code=2)

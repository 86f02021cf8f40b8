"""Models and data from a hub: fetched by commit, found again offline, refused in one sentence."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hub_command import Command
from hub_server import Hub

from snellen.store.runs import RunFolder, find_runs

MODEL, DATA = "hf/acme/tiny-vlm", "hf://acme/questions?split=test"
NOBODY = "http://127.0.0.1:9"
"""Port 9 (discard): nothing listens there."""


class Fetched:
    """The first run: everything comes from the hub."""

    def __init__(self, snellen: Command, hub: Hub) -> None:
        before = len(hub.asked)
        done = snellen("run", "-m", MODEL, "-b", DATA, "--out", "online", "--generation", "max_new_tokens=4")
        assert done.returncode == 0, done.stderr
        self.asked = hub.asked[before:]
        self.run = only_run(snellen.home / "online")


@pytest.fixture(scope="session")
def fetched(hub: Hub, home: Path) -> Fetched:
    return Fetched(Command(hub.url, home), hub)


def only_run(out: Path) -> RunFolder:
    (run,) = find_runs(out)
    return run


def sentence(snellen: Command, *words: str) -> str:
    """What is said about a mistake: one line, exit code 2."""
    done = snellen(*words)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("snellen: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.release
def test_the_identity_is_the_commit_and_no_path(fetched: Fetched, hub: Hub, home: Path) -> None:
    identity = fetched.run.info.config.identity
    commit = hub.repositories["models", "acme/tiny-vlm"].commit
    assert (identity.provider, identity.name) == ("hf", "acme/tiny-vlm")
    assert identity.facts["revision"] == commit
    assert identity.facts["processor"] == "LlavaProcessor pil"
    assert str(home) not in str(identity)
    weights = f"GET /acme/tiny-vlm/bytes/{commit}/model.safetensors"
    assert fetched.asked.count(weights) == 1


@pytest.mark.release
def test_pictures_of_a_data_set_on_the_hub_reach_the_model(fetched: Fetched, hub: Hub) -> None:
    records = {record.id: record for record in fetched.run.records()}
    assert sorted(records) == [f"test-{number}" for number in range(4)]
    assert len({record.media for record in records.values()}) == 4
    thumbnails = {path.name.split(".")[0] for path in (fetched.run.path / "media").iterdir()}
    assert len(thumbnails) == 4
    assert not any("train" in record for record in records)


@pytest.mark.release
def test_offline_finds_both_in_the_cache(fetched: Fetched, snellen: Command, hub: Hub) -> None:
    before = len(hub.asked)
    words = ("run", "-m", MODEL, "-b", DATA, "--out", "offline", "--generation", "max_new_tokens=4")
    done = snellen(*words, HF_HUB_OFFLINE="1")
    assert done.returncode == 0, done.stderr
    assert len(hub.asked) == before
    run = only_run(snellen.home / "offline")
    assert run.info.config == fetched.run.info.config
    assert run.info.counts.sent == 4
    replies = [{r.id: r.passes[0].output.text for r in one.records()} for one in (run, fetched.run)]
    assert replies[0] == replies[1]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("hf/acme/nothing", "there is no model 'acme/nothing' on the hub"),
        ("hf/acme/login", "'acme/login' is gated: accept its terms at"),
        ("hf/acme/ask-first", "then log in with `hf auth login`"),
        ("hf/acme/tiny-vlm:revision=v9", "'acme/tiny-vlm' has no revision 'v9'"),
        ("hf/acme/empty", "has no config.json"),
    ],
)
def test_a_model_the_hub_does_not_give(snellen: Command, model: str, said: str) -> None:
    assert said in sentence(snellen, "run", "-m", model, "-b", "eyechart")


@pytest.mark.release
@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("hf://acme/none?split=test", "'acme/none' doesn't exist on the Hub"),
        ("hf://acme/secret?split=test", "is a gated dataset"),
        ("hf://acme/questions", "has the splits train, test; choose one"),
        ("hf://acme/questions?split=tset", "did you mean test?"),
    ],
)
def test_a_data_set_the_hub_does_not_give(snellen: Command, data: str, said: str) -> None:
    assert said in sentence(snellen, "run", "-m", "random", "-b", data)


@pytest.mark.release
def test_a_server_that_is_down(fetched: Fetched, snellen: Command) -> None:
    """What is cached is used; the rest is refused at once, not after minutes of trying."""
    down = replace(snellen, endpoint=NOBODY)
    said = sentence(down, "run", "-m", "hf/acme/other", "-b", "eyechart")
    assert f"{NOBODY} cannot be asked" in said
    said = sentence(down, "run", "-m", "random", "-b", "hf://acme/other?split=test")
    assert "not in the cache, and the hub cannot be asked" in said
    done = down("run", "-m", "random", "-b", DATA, "--out", "down", "-q", "--no-html")
    assert (done.returncode, done.stderr) == (0, "")
    assert only_run(snellen.home / "down").info.data == fetched.run.info.data


@pytest.mark.release
def test_offline_a_revision_is_that_revision_or_refused(fetched: Fetched, snellen: Command, hub: Hub) -> None:
    commit = hub.repositories["datasets", "acme/questions"].commit
    words = ("run", "-m", "random", "-q", "--no-html", "-b")
    for revision in ("main", commit):
        done = snellen(*words, f"{DATA}&revision={revision}", "--out", f"at {revision}", HF_HUB_OFFLINE="1")
        assert (done.returncode, done.stderr) == (0, "")
    done = snellen(*words, f"{DATA}&revision={'0' * 40}", HF_HUB_OFFLINE="1")
    assert done.returncode == 2
    assert "in the cache, but not its revision 0000" in done.stderr


@pytest.fixture
def publish(hub: Hub, home: Path) -> Callable[[str], dict[str, str]]:
    """Installs a benchmark, as a package does, whose data file is at an address of the hub; its
    environment to run in."""
    data = hub.repositories["datasets", "acme/files"].folder / "questions.tsv"
    rows = "".join(f"{number}\tWhat is {number}?\tone\ttwo\tA\n" for number in range(5))
    data.write_text(f"index\tquestion\tA\tB\tanswer\n{rows}")
    right = hashlib.md5(data.read_bytes()).hexdigest()
    url = f"{hub.url}/datasets/acme/files/bytes/main/questions.tsv"

    def install(md5: str) -> dict[str, str]:
        package = home / f"plugin-{md5}"
        facts = package / "acme_bench-1.0.dist-info"
        facts.mkdir(parents=True)
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-bench\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text("[snellen.benchmarks]\nacme = acme_bench:ACME\n")
        (package / "acme_bench.py").write_text(
            "from snellen.benchmarks.declaration.declaration import Declaration\n"
            "from snellen.benchmarks.declaration.published import Published, published_tsv\n"
            "from snellen.benchmarks.declaration.scoring import choices\n"
            f"FILE = published_tsv({url!r}, {(right if md5 == 'right' else md5)!r})\n"
            "ACME = Declaration(name='acme', version='1', title='Acme', scoring=choices(),\n"
            "    data=Published({'split': ('test',)}, {('test',): FILE}))\n"
        )
        return {"PYTHONPATH": str(package), "SNELLEN_CACHE": str(package / "cache")}

    return install


def test_pulling_a_published_file(publish: Callable[[str], dict[str, str]], snellen: Command, hub: Hub) -> None:
    environment = publish("right")
    first = snellen("data", "pull", "acme", **environment)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.endswith("questions.tsv: 5 rows\n")
    asked = len(hub.asked)
    again = snellen("data", "pull", "acme", **environment)
    assert again.stdout == first.stdout
    words = ("run", "-m", "random", "-b", "acme", "--out", "pulled", "-q", "--no-html")
    assert snellen(*words, **environment).returncode == 0
    assert len(list(only_run(snellen.home / "pulled").records())) == 5
    assert len(hub.asked) == asked


def test_a_published_file_that_is_another_now(publish: Callable[[str], dict[str, str]], snellen: Command) -> None:
    wrong = "0" * 32
    environment = publish(wrong)
    done = snellen("data", "pull", "acme", **environment)
    assert done.returncode == 2
    assert f"but {wrong} was expected" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(Path(environment["SNELLEN_CACHE"]).rglob("questions.tsv"))

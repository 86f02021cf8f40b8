"""Names of the catalog as a user types them, with small models where the hub's cache would be."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from family_tiled import FAMILIES as TILED
from own_code_checkpoints import minicpmv
from questions_for_models import noise

from snellen.engine.servers.managed import presets

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """A folder of the hub's cache and a command line that sees no other, without a network."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rows = [base64.b64encode(noise(seed)).decode() for seed in range(2)]
        lines = [f"{i}\t{row}\tWhich hue ({i})?\tred\tblue\tA\n" for i, row in enumerate(rows)]
        header = "index\timage\tquestion\tA\tB\tanswer\n"
        (folder / "hue.tsv").write_text(header + "".join(lines), encoding="utf-8")

    def add(self, id: str, checkpoint: Path) -> None:
        """Put a checkpoint where the hub's cache has that id."""
        home = self.folder / "hub" / f"models--{id.replace('/', '--')}"
        shutil.copytree(checkpoint, home / "snapshots" / COMMIT)
        (home / "refs").mkdir()
        (home / "refs" / "main").write_text(COMMIT, encoding="utf-8")

    def run(self, model: str, *more: str) -> subprocess.CompletedProcess[str]:
        """`snellen run -m MODEL` on two questions."""
        return subprocess.run(
            self.command(model, *more),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
            env=self.environment(),
        )

    def answer(self, model: str, reply: str) -> tuple[int, str]:
        """The same on a terminal, where `reply` is typed: the exit code, and what the terminal shows."""
        terminal, program = pty.openpty()
        command, environment = self.command(model), {**self.environment(), "TERM": "dumb", "COLUMNS": "400"}
        with subprocess.Popen(
            command, stdin=program, stderr=program, stdout=subprocess.DEVNULL, cwd=self.folder, env=environment
        ) as process:
            os.close(program)
            os.write(terminal, f"{reply}\n".encode())
            shown = b""
            with contextlib.suppress(OSError):  # the other end was closed
                while chunk := os.read(terminal, 10_000):
                    shown += chunk
        os.close(terminal)
        return process.returncode, " ".join(shown.decode(errors="replace").split())

    def command(self, model: str, *more: str) -> list[str]:
        return [sys.executable, "-m", "snellen", "run", "-m", model, "-b", "hue.tsv", "--no-html", *more]

    def environment(self) -> dict[str, str]:
        inherited = os.environ.get("PYTHONPATH", "")
        path = os.pathsep.join([str(self.folder / "packages"), inherited]).rstrip(os.pathsep)
        return {
            **os.environ,
            "HF_HOME": str(self.folder),
            "HF_HUB_OFFLINE": "1",
            "SNELLEN_CONSENTS": str(self.folder / "consents.json"),
            "PYTHONPATH": path,
            "OMP_NUM_THREADS": "1",
            "PATH": os.pathsep.join([str(self.folder / "programs"), os.environ["PATH"]]),
        }


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(tmp_path)


@pytest.mark.release
def test_a_name_is_asked_as_its_converted_twin(hub: Hub, tmp_path: Path) -> None:
    (family,) = [family for family in TILED if family.name == "InternVL3"]
    hub.add("OpenGVLab/InternVL3-1B-hf", family.build(tmp_path / "twin"))
    done = hub.run("InternVL3-1B:device=cpu,max_new_tokens=4")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert "is loaded as its converted twin OpenGVLab/InternVL3-1B-hf" in said
    assert "accuracy" in done.stdout


@pytest.mark.release
def test_a_name_is_asked_by_its_own_code_with_consent(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "original"
    folder.mkdir()
    hub.add("openbmb/MiniCPM-V-2_6", minicpmv(folder))
    name = "MiniCPM-V-2_6:device=cpu,max_new_tokens=4"
    refused = hub.run(name)
    assert refused.returncode == 2
    assert "own code (minicpmv), which needs pip install timm" in refused.stderr or "--load openbmb" in refused.stderr
    wanting = hub.run(f"{name},trust_remote_code=yes")
    if wanting.returncode:
        # The original's code imports it; that of the small model does not.
        assert "imports timm; take another way: -m vllm/openbmb/MiniCPM-V-2_6" in wanting.stderr
        (tmp_path / "packages" / "timm").mkdir(parents=True)
        (tmp_path / "packages" / "timm" / "__init__.py").touch()
        wanting = hub.run(f"{name},trust_remote_code=yes")
    assert wanting.returncode == 0, wanting.stderr
    assert "asked by the checkpoint's own code" in " ".join(wanting.stderr.split())
    assert "accuracy" in wanting.stdout


VLLM = """#!{python}
# Stands where vLLM would: notes its arguments and answers every question with A.
import json, pathlib, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

pathlib.Path({noted!r}).write_text(json.dumps(sys.argv[1:]))
MODEL = sys.argv[2]
REPLY = {{"id": "1", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [
    {{"index": 0, "finish_reason": "stop", "message": {{"role": "assistant", "content": "A"}}}}]}}


class Handler(BaseHTTPRequestHandler):
    def answer(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer({{"object": "list", "data": [{{"id": MODEL, "object": "model"}}]}})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(REPLY)


port = int(sys.argv[sys.argv.index("--port") + 1])
ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@pytest.fixture
def noted(hub: Hub) -> Path:
    """The file in which a program in vLLM's place notes its arguments."""
    programs, noted = hub.folder / "programs", hub.folder / "arguments.json"
    programs.mkdir()
    program = programs / "vllm"
    program.write_text(VLLM.format(python=sys.executable, noted=str(noted)), encoding="utf-8")
    program.chmod(0o755)
    return noted


OVIS = "AIDC-AI/Ovis2-34B@53006418a206066ab75217483dc49da0afdfa33a"


def test_without_a_terminal_code_of_others_needs_a_line(hub: Hub, noted: Path) -> None:
    refused = hub.run("Ovis2-34B")
    assert refused.returncode == 2
    assert "runs Python of AIDC-AI/Ovis2-34B and its authors in a server that Snellen starts (vllm)" in refused.stderr
    assert refused.stderr.rstrip().endswith(f"--load {OVIS}")
    assert not noted.exists()
    done = hub.run("Ovis2-34B", "--load", OVIS)
    assert done.returncode == 0, done.stderr
    arguments = json.loads(noted.read_text(encoding="utf-8"))
    assert arguments[:2] == ["serve", "AIDC-AI/Ovis2-34B"]
    assert arguments[-3:] == ["--trust-remote-code", "--revision", OVIS.partition("@")[2]]
    assert "Ovis2-34B" in done.stdout
    other = hub.run("Ovis2-34B", "--load", OVIS[:-1] + "0")
    assert other.returncode == 2
    assert not (hub.folder / "consents.json").exists()


def test_on_a_terminal_one_question_is_asked_and_its_answer_kept(hub: Hub, noted: Path) -> None:
    code, shown = hub.answer("Ovis2-34B", "n")
    assert (code, noted.exists()) == (2, False)
    assert "Run it? [y/N]" in shown
    assert "Ovis2-34B was not asked: its code may not run" in shown
    code, shown = hub.answer("Ovis2-34B", "y")
    assert (code, noted.exists()) == (0, True), shown
    repository, commit = OVIS.split("@")
    assert json.loads((hub.folder / "consents.json").read_text("utf-8")) == {repository: [commit]}
    again = hub.run("Ovis2-34B", "--out", "again")
    assert again.returncode == 0, again.stderr
    code, shown = hub.answer(f"Ovis2-34B:revision={'0' * 40}", "n")
    assert (code, "Run it? [y/N]" in shown) == (2, True)


def test_a_file_of_consents_that_is_none_is_a_sentence(hub: Hub, noted: Path) -> None:
    (hub.folder / "consents.json").write_text("[]", encoding="utf-8")
    done = hub.run("Ovis2-34B")
    assert done.returncode == 2
    assert "does not say whose code may run" in done.stderr
    assert not noted.exists()


def test_a_name_is_asked_behind_a_server_with_consent_to_its_code(hub: Hub, noted: Path) -> None:
    done = hub.run("vllm/InternVL2-8B:trust_remote_code=yes")
    assert done.returncode == 0, done.stderr
    arguments = json.loads(noted.read_text(encoding="utf-8"))
    assert arguments[:2] == ["serve", "OpenGVLab/InternVL2-8B"]
    assert arguments[-1] == "--trust-remote-code"
    assert "accuracy" in done.stdout
    (run,) = hub.folder.rglob("run.json")
    identity = json.loads(run.read_text(encoding="utf-8"))["config"]["identity"]
    assert "trust_remote_code" not in identity["facts"]


@pytest.mark.parametrize("server", ["vllm", "sglang", "lmdeploy", "transformers"])
def test_only_consent_lets_a_server_run_a_checkpoints_code(server: str) -> None:
    launch = presets()[server]
    assert "trust" not in launch.command
    assert launch.with_own_code().command == f"{launch.command} --trust-remote-code"

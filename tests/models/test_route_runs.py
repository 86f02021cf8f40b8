"""Names of the catalog as a user types them, with small models where the hub's cache would be."""

from __future__ import annotations

import base64
import json
import os
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

    def run(self, model: str) -> subprocess.CompletedProcess[str]:
        """`snellen run -m MODEL` on two questions."""
        command = [sys.executable, "-m", "snellen", "run", "-m", model, "-b", "hue.tsv", "--no-html"]
        inherited = os.environ.get("PYTHONPATH", "")
        path = os.pathsep.join([str(self.folder / "packages"), inherited]).rstrip(os.pathsep)
        environment = {
            **os.environ,
            "HF_HOME": str(self.folder),
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": path,
            "OMP_NUM_THREADS": "1",
            "PATH": os.pathsep.join([str(self.folder / "programs"), os.environ["PATH"]]),
        }
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=environment)


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
    assert "openbmb/MiniCPM-V-2_6:trust_remote_code=yes" in refused.stderr
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


def test_a_name_is_asked_behind_a_server_with_consent_to_its_code(hub: Hub) -> None:
    programs, noted = hub.folder / "programs", hub.folder / "arguments.json"
    programs.mkdir()
    program = programs / "vllm"
    program.write_text(VLLM.format(python=sys.executable, noted=str(noted)), encoding="utf-8")
    program.chmod(0o755)
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

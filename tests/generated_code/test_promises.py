"""What is promised of programs: attacks on a file and a process of these tests, with all layers of
protection and with layers that the kernel refuses, as in containers; and what `snellen` says."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from PIL import Image
from tests.generated_code.hostile_programs import RUN_PROGRAM, load_programs, named_processes, run_hostile, run_user
from tests.generated_code.refused_layers import EVERY_LAYER, source, start_workers

from snellen.core.errors import UsageError
from snellen.generated_code import promises
from snellen.generated_code.limited import CallFailed, call_limited
from snellen.generated_code.limits import ProgramLimits
from snellen.generated_code.program import ProgramJob, ProgramReport
from snellen.generated_code.protection import EMPTY_ROOT, FILTER, LANDLOCK, LAYERS, NAMESPACES, RESOURCE_LIMITS
from snellen.generated_code.runner import ProgramRunner, WorkerLost, WorkerProcess, Workers

pytestmark = pytest.mark.timeout(300)
LAYOUT = Path(__file__).parents[1] / "benchmarks" / "layouts" / "chartmimic.jsonl"
SAMPLE = {
    program.name: program
    for program in load_programs()
    if program.name
    in (
        "reads a file of the user",
        "empties a file by its path",
        "changes the times of a file",
        "gives a process one second",
        "has a pipe kill a process",
        "connects by TCP",
        "holds files without a name",
        "forks without end",
    )
}


@pytest.fixture(scope="module")
def started() -> Iterator[dict[str, Workers]]:
    """One set of workers for each of the refused layers, and whatever they leave behind."""
    made: dict[str, Workers] = {}
    yield made
    for workers in made.values():
        workers.close()


@pytest.fixture
def workers(request: pytest.FixtureRequest, started: dict[str, Workers]) -> Workers:
    """Workers whose process is refused the layers that the test names."""
    return start_once(request.param, started)


def start_once(refused: str, started: dict[str, Workers]) -> Workers:
    if refused not in started:
        started[refused] = start_workers(refused.split())
    return started[refused]


def failure_of(workers: Workers, program: str, seconds: float = 30.0) -> str:
    """How a program fails."""
    job = msgspec.msgpack.encode(ProgramJob(program, "contents"))
    result = workers.call(RUN_PROGRAM, job, ProgramLimits(wall_seconds=seconds))
    failure = result.failure or msgspec.msgpack.decode(result.data, type=ProgramReport).failure
    assert failure is not None
    return f"{failure.kind}: {failure.message}"


@pytest.mark.parametrize(
    ("workers", "missing", "broken"),
    [
        ("", (), ()),
        ("namespaces", (NAMESPACES, EMPTY_ROOT), ()),
        ("mounts", (EMPTY_ROOT,), ()),
        ("mount_setattr", (), ()),
        ("landlock", (LANDLOCK,), ()),
        ("limits", (RESOURCE_LIMITS,), ()),
        ("namespaces landlock", (NAMESPACES, EMPTY_ROOT, LANDLOCK), ("files",)),
        pytest.param("filter", (FILTER,), (), marks=pytest.mark.release),
    ],
    indirect=["workers"],
)
def test_a_missing_layer_is_made_up_for_by_others_or_noticed(
    workers: Workers, missing: Sequence[str], broken: Sequence[str]
) -> None:
    lacking = set(workers.ready().protection.missing) ^ set(missing)
    if lacking:
        pytest.skip(f"this system lacks {', '.join(sorted(lacking))}")
    assert tuple(promises.broken_promises(workers)) == broken
    if not broken:
        user = run_user(workers)
        done = {name: run_hostile(workers, SAMPLE[name], user) for name in SAMPLE}
        assert {name: what for name, what in done.items() if what} == {}


@pytest.mark.parametrize(("refused", "missing"), [((), LAYERS[1:]), (("limits",), LAYERS)])
def test_another_system_has_resource_limits_if_all_were_set(refused: Sequence[str], missing: Sequence[str]) -> None:
    code = (
        f"{source(refused)}\nimport sys\nfrom pathlib import Path\n"
        "from snellen.generated_code.limits import ProgramLimits\n"
        "from snellen.generated_code.protection import protect\n"
        "sys.platform = 'darwin'\n"
        "print(*protect(ProgramLimits(), Path(), (), None).missing, sep='|')"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip().split("|") == list(missing)


@pytest.mark.parametrize("workers", [EVERY_LAYER], indirect=True)
def test_the_same_programs_succeed_without_any_layer(workers: Workers) -> None:
    user = run_user(workers)
    done = {name for name in SAMPLE if run_hostile(workers, SAMPLE[name], user)}
    # These are held by the worker itself: it looks at memory and at processes.
    assert done == set(SAMPLE) - {"holds files without a name", "forks without end"}


@pytest.mark.parametrize("workers", [EVERY_LAYER], indirect=True)
def test_broken_promises_give_one_sentence(workers: Workers) -> None:
    broken = promises.broken_promises(workers)
    assert {"files", "network"} <= set(broken)
    assert "leftovers" not in broken
    with pytest.raises(UsageError) as refused:
        promises.refuse_unless_held(broken, workers.ready().protection)
    said = str(refused.value)
    assert promises.PROMISES["network"] in said
    assert "this system lacks namespaces for processes and network" in said
    assert said.endswith("or give run_code=unprotected")
    promises.refuse_unless_held({}, workers.ready().protection)


@pytest.mark.parametrize("workers", [""], indirect=True)
def test_an_attack_that_does_not_end_shows_nothing(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "_LIMITS", ProgramLimits(wall_seconds=0.0))
    broken = promises.broken_promises(workers)
    assert set(broken) >= {"files", "memory", "leftovers"}
    assert broken["files"] == "not known: it ran for more than 0 seconds"


@pytest.mark.parametrize("workers", ["", "namespaces", "namespaces filter"], indirect=True)
def test_no_folder_of_a_program_is_left(workers: Workers) -> None:
    # Its path is longer than the kernel takes one.
    deep = "import os\nfor _ in range(30):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)\n1 / 0"
    closed = "import os\nos.mkdir('d', 0o300)\nopen('d/f', 'w').close()\n1 / 0"
    for program in (deep, closed):
        assert failure_of(workers, program) == "error: ZeroDivisionError: division by zero"
        found = failure_of(workers, "import os\nraise ValueError(os.listdir())")
        assert found == "error: ValueError: ['program.py']"
    worker = workers._worker()
    folder = Path(worker._folder)
    workers._idle.put(worker)
    assert folder.is_dir()
    assert not Path(folder, "home").exists()


@pytest.mark.parametrize("workers", ["setresuid"], indirect=True)
def test_programs_run_where_root_cannot_become_another_user(workers: Workers) -> None:
    program = "open('own', 'w').write('x')\nraise ValueError(open('own').read())"
    assert failure_of(workers, program) == "error: ValueError: x"


@pytest.mark.parametrize("refused", ["filter", EVERY_LAYER])
def test_a_program_that_clears_its_parent_death_signal_is_ended(refused: str, started: dict[str, Workers]) -> None:
    name = f"orphan{os.getpid()}{len(refused)}"
    program = (
        f"import ctypes, os, time\nlibc = ctypes.CDLL(None)\nlibc.prctl(15, b'{name}', 0, 0, 0)\n"
        "libc.prctl(1, 0, 0, 0, 0)\nos.fork()\nlibc.prctl(1, 0, 0, 0, 0)\ntime.sleep(60)"
    )
    workers = start_once(refused, started)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(failure_of, workers, program)
        until = time.monotonic() + 10
        while len(named_processes(name)) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        # The control: a process of that name, and one that it has started, are there.
        assert len(named_processes(name)) == 2
        workers.stop()
        with pytest.raises(WorkerLost):
            running.result(20)
    assert named_processes(name) == []
    started.pop(refused).close()


FORGE = """
import msgspec, os, stat, struct
def is_pipe(number):
    try:
        return stat.S_ISFIFO(os.fstat(number).st_mode)
    except OSError:
        return False
contents = {"texts": ["x"], "calls": {"plot": 1}, "colours": [], "places": [], "axes": 1}
contents |= %s
report = msgspec.msgpack.encode({"contents": contents})
report = memoryview(struct.pack("=Q", len(report)) + report)
pipe = next(filter(is_pipe, range(3, 256)))
while report:
    report = report[os.write(pipe, report):]
os._exit(0)
"""
"""A program that writes its report itself."""
CUT_REPORT = FORGE.replace("len(report))", "2 * len(report))") % "{}"
BAD_COLOUR = FORGE % '{"colours": [["line", "#ZZZZZZ"]]}'
MALFORMED = {
    BAD_COLOUR: "matching regex",
    FORGE % '{"calls": {"plot": 10**12}}': "<= 1000000",
    FORGE % '{"texts": [str(i) for i in range(200000)]}': "length <= 100000",
    FORGE % '{"texts": ["x" * (5 << 20)]}': "longer than 4 MB",
    FORGE % '{"axes": "many"}': "Expected `int`",
}


@pytest.mark.parametrize(("program", "reason"), MALFORMED.items(), ids=range(len(MALFORMED)))
def test_a_malformed_report_is_a_failure_with_a_reason(runner: ProgramRunner, program: str, reason: str) -> None:
    failure = runner.run(program).failure
    assert failure is not None
    assert failure.kind == "report"
    assert failure.message.startswith("its report is not that of a chart: ")
    assert reason in failure.message
    sane = runner.run(FORGE % "{}")
    assert sane.contents is not None


MODEL = """
import json
from pathlib import Path

def replies(request):
    return json.loads(Path("replies.json").read_text())[int(request.ref.sample)]
"""


def picture(shade: int) -> str:
    """One of its own for each sample: equal requests have one reply."""
    data = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(data, "PNG")
    return base64.b64encode(data.getvalue()).decode()


def run_snellen(folder: Path, refused: str, value: str, *programs: str) -> subprocess.CompletedProcess[str]:
    """`snellen run` with a model of such replies, in a process that is refused some layers."""
    row = json.loads(LAYOUT.read_text().splitlines()[0])
    rows = [row | {"index": str(at), "image": picture(at)} for at in range(len(programs))]
    Path(folder, "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    replies = [f"```python\n{program}\n```" for program in programs]
    Path(folder, "replies.json").write_text(json.dumps(replies))
    Path(folder, "model.py").write_text(MODEL)
    code = f"{source(refused.split())}\nimport os, sys\nos.execv(sys.argv[1], sys.argv[1:])"
    snellen = str(Path(sys.executable).with_name("snellen"))
    command = f"run --load model.py -m replies -b chartmimic:run_code={value} --data data.jsonl"
    return subprocess.run(
        [sys.executable, "-c", code, snellen, *command.split(), "--out", "out"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.release
def test_where_nothing_holds_snellen_refuses(tmp_path: Path) -> None:
    said = run_snellen(tmp_path, EVERY_LAYER, "yes", "plt.plot([1])")
    assert said.returncode == 2, said
    assert "Traceback" not in said.stdout + said.stderr
    for part in (
        "of what is promised of a program this does not hold: ",
        promises.PROMISES["files"],
        "this system lacks namespaces",
        "or give run_code=unprotected",
    ):
        assert part in " ".join(said.stderr.split()), said.stderr


def test_unprotected_programs_run_and_the_run_reports_it(tmp_path: Path) -> None:
    """One of them draws, one crashes, which is wrong, and two write reports that cannot be read,
    which is no answer, also when the run is started again."""
    chart = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3], [2, 4, 3], color='red')"
    programs = (chart, "import os\nos.kill(os.getpid(), 11)", BAD_COLOUR, CUT_REPORT)
    said = run_snellen(tmp_path, EVERY_LAYER, "unprotected", *programs)
    assert said.returncode == 1, said
    assert "Traceback" not in said.stdout + said.stderr
    assert "(run_code=unprotected" in said.stdout
    (page,) = tmp_path.glob("out/*/report.html")
    for part in ("programs ran unprotected, where this does not hold: it reads and changes", ">unprotected</dd>"):
        assert part in page.read_text()
    (run,) = tmp_path.glob("out/*/run.json")
    assert '"run_code":"unprotected"' in run.read_text().replace(" ", "")
    for is_again in (False, True):
        if is_again:
            said = run_snellen(tmp_path, EVERY_LAYER, "unprotected", *programs)
            assert "requests: 0 sent" in said.stderr
        (samples,) = tmp_path.glob("out/*/samples.jsonl")
        scored = {
            record["id"]: (record["score"], record["groups"]["program"])
            for record in map(json.loads, samples.read_text().splitlines())
        }
        assert scored == {"0": (0.75, "drawn"), "1": (0.0, "killed")}
        failed = [json.loads(line) for line in samples.with_name("failures.jsonl").read_text().splitlines()]
        why = {record["id"]: (record["outcome"], record["passes"][0]["verdicts"][0]["output"]) for record in failed}
        assert {outcome for outcome, _ in why.values()} == {"failed"}
        assert why["2"][1]["message"].startswith("its report is not that of a chart: ")
        assert why["3"][1]["message"] == "its report ends half-way"


def test_a_worker_that_cannot_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = len(list(Path("/proc/self/fd").iterdir()))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(tmp_path / "no-python"))
        with pytest.raises(WorkerLost, match=r"does not start.*no-python"):
            WorkerProcess()
    assert list(tmp_path.iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_limited_call_returns_its_result_or_its_limit() -> None:
    limits = ProgramLimits(wall_seconds=20.0, memory_mb=512)
    assert call_limited("base64:b64encode", b"snellen", limits) == b"c25lbGxlbg=="
    module = "snellen.generated_code.program:run_program"
    with pytest.raises(CallFailed, match="ValidationError: Expected") as failed:
        call_limited(module, b"\x07", limits)
    assert failed.value.failure.kind == "error"
    endless = msgspec.msgpack.encode(ProgramJob("while True: pass", "contents"))
    begun = time.monotonic()
    with pytest.raises(CallFailed, match=r"more than 0\.3 seconds"):
        call_limited(module, endless, ProgramLimits(wall_seconds=0.3))
    assert time.monotonic() - begun < 10
    large = msgspec.msgpack.encode(ProgramJob("x = bytearray(600 << 20)", "contents"))
    with pytest.raises(CallFailed, match="more than 512 MB") as failed:
        call_limited(module, large, limits)
    assert failed.value.failure.kind == "memory"
    assert call_limited("base64:b64encode", b"again", limits) == b"YWdhaW4="

"""What a program may not do, done by programs that try."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from snellen.generated_code import runner as runner_module
from snellen.generated_code.leftovers import processes_below
from snellen.generated_code.limits import ProgramLimits
from snellen.generated_code.program import ProgramJob, ProgramReport
from snellen.generated_code.runner import ProgramRunner, WorkerLost, worker_environment

pytestmark = pytest.mark.timeout(300)
CHART = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('done')\n"


def message(runner: ProgramRunner, program: str) -> str:
    """How the program failed; empty if it drew a chart."""
    report = runner.run(program)
    return "" if report.failure is None else f"{report.failure.kind}: {report.failure.message}"


def test_a_chart_is_drawn_in_an_empty_folder_of_its_own(runner: ProgramRunner) -> None:
    program = (
        "import os\nfrom pathlib import Path\n"
        "assert os.listdir() == ['program.py'], os.listdir()\n"
        "assert Path.home() == Path.cwd()\nPath('note.txt').write_text('x')\n"
    )
    for _ in range(2):
        report = runner.run(program + CHART)
        assert report.failure is None
        assert report.contents is not None
        assert report.contents.texts == ("done",)


def test_a_picture_is_a_png(runner: ProgramRunner) -> None:
    report = runner.run(CHART, "picture")
    assert report.picture.startswith(b"\x89PNG")
    assert report.contents is None


@pytest.mark.parametrize(
    ("program", "failure"),
    [
        ("1 / 0", "error: ZeroDivisionError: division by zero"),
        ("for x in", "error: SyntaxError: invalid syntax"),
        ("import no_such_library", "error: ModuleNotFoundError: No module named 'no_such_library'"),
        ("import sys\nsys.exit(3)", "ended: it ended itself before it was drawn: exit code 3"),
        ("import os\nos._exit(4)", "ended: it ended itself before it was drawn: exit code 4"),
        ("import os\nos.abort()", "killed: it was ended by SIGABRT"),
        ("x = bytearray(10 << 30)", "memory: it asked for more than 2048 MB"),
        ("x = [0] * (1 << 30)", "memory: it asked for more than 2048 MB"),
        ("open('big', 'wb').write(bytes(2 << 20))", "error: OSError: [Errno 27] File too large"),
        ("def f():\n    f()\nf()", "error: RecursionError"),
        ("x = '\ud800'", "error: UnicodeEncodeError"),
        ("\0", "error: "),
        ("raise KeyboardInterrupt", "error: KeyboardInterrupt"),
    ],
)
def test_how_a_program_fails_is_data(runner: ProgramRunner, program: str, failure: str) -> None:
    assert message(runner, program).startswith(failure)


def hasty_message(runner: ProgramRunner, program: str, limits: ProgramLimits) -> str:
    """As `message`, under other limits."""
    job = msgspec.msgpack.encode(ProgramJob(program, "contents"))
    result = runner.programs.call("snellen.generated_code.program:run_program", job, limits)
    failure = result.failure or msgspec.msgpack.decode(result.data, type=ProgramReport).failure
    return "" if failure is None else f"{failure.kind}: {failure.message}"


def test_an_endless_loop_ends(runner: ProgramRunner) -> None:
    limits = ProgramLimits(wall_seconds=0.3)
    ignored = "import signal\nsignal.signal(15, signal.SIG_IGN)\nwhile True: pass"
    for program in (ignored, "import time\ntime.sleep(60)"):
        begun = time.monotonic()
        told = hasty_message(runner, program, limits)
        assert told == "timeout: it ran for more than 0.3 seconds"
        assert time.monotonic() - begun < 20
    assert message(runner, CHART) == ""


@pytest.mark.release
def test_the_processor_is_limited_beside_the_clock(runner: ProgramRunner) -> None:
    limits = ProgramLimits(wall_seconds=100.0, cpu_seconds=1)
    told = hasty_message(runner, "while True: pass", limits)
    assert told == "timeout: it took more than 1 seconds of the processor"


def test_program_writes_only_to_its_folder(runner: ProgramRunner, tmp_path: Path) -> None:
    for place in (tmp_path / "evil", Path("/tmp/evil"), Path.home() / "evil"):
        assert "error: " in message(runner, f"open({str(place)!r}, 'w')")
        assert not place.exists()
    kept = tmp_path / "kept"
    kept.write_text("mine")
    for act in ("os.remove(p)", "os.rename(p, 'x')", "os.truncate(p, 0)", "os.chmod(p, 0)"):
        assert "error: " in message(runner, f"import os\np = {str(kept)!r}\n{act}"), act
    assert kept.read_text() == "mine"
    assert os.access(kept, os.R_OK)


def test_program_cannot_read_files_of_the_user(runner: ProgramRunner, tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text("secret")
    for path in (str(secret), "/etc/passwd", "/proc/self/environ"):
        assert "error: " in message(runner, f"open({path!r}).read()"), path
    assert "error: " in message(runner, f"import os\nos.listdir({str(tmp_path)!r})")
    parent = "import os\nopen(f'/proc/{os.getppid()}/environ', 'rb').read()"
    assert "error: " in message(runner, parent)


def test_program_cannot_read_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: ProgramRunner) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "OPENAI_API_KEY" not in worker_environment(str(tmp_path), tmp_path)
    told = message(runner, "import os\nraise ValueError(sorted(os.environ))")
    assert "HOME" in told
    assert "KEY" not in told
    assert "TOKEN" not in told


def test_program_has_no_network(runner: ProgramRunner) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 5)"
        assert "PermissionError" in message(runner, connect)
    assert "PermissionError" in message(runner, "import socket\nsocket.socket(socket.AF_UNIX).connect('/run/x')")


def test_program_cannot_start_processes(runner: ProgramRunner) -> None:
    refused = os.strerror(errno.EAGAIN)
    assert refused in message(runner, "import os\nwhile True:\n    os.fork()")
    assert refused in message(runner, "import subprocess\nsubprocess.run(['true'])")
    assert "PermissionError" in message(runner, "import os\nos.execv('/bin/true', ['true'])")
    thread = "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()\n"
    assert message(runner, thread + CHART) == ""


def test_program_cannot_signal_other_processes(runner: ProgramRunner) -> None:
    for pid in (os.getpid(), "os.getppid()", -1):
        told = message(runner, f"import os\nos.kill({pid}, 9)")
        assert "PermissionError" in told or "ProcessLookupError" in told
    assert "killed" in message(runner, "import os\nos.kill(os.getpid(), 9)")
    assert message(runner, CHART) == ""


def test_program_cannot_raise_its_limits(runner: ProgramRunner) -> None:
    raised = (
        "import resource\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_AS)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 * hard, 2 * hard))"
    )
    assert message(runner, raised).startswith("error: ")


def test_forged_report_does_no_harm(runner: ProgramRunner) -> None:
    """A program can write to the pipe of its report: what it says is believed, not more."""
    write = "import os\nfor n in range(3, 20):\n    try:\n        os.write(n, {})\n"
    write += "    except OSError:\n        pass\n"
    long = write.format("(1 << 40).to_bytes(8, 'little')")
    assert message(runner, long) == "report: its report is longer than 64 MB"
    garbled = write.format("(3).to_bytes(8, 'little') + b'abc'")
    assert message(runner, "import os\nos.kill(os.getpid(), 40)") == "killed: it was ended by signal 40"
    assert message(runner, garbled).startswith("report: its report is not that of a chart")
    assert message(runner, CHART) == ""


def test_numbers_that_are_drawn_are_the_same_again(runner: ProgramRunner) -> None:
    program = (
        "import random\nimport numpy as np\nimport matplotlib.pyplot as plt\n"
        "plt.title(f'{random.random()} {np.random.rand()} {hash(str(1))}')"
    )
    first, second = runner.run(program).contents, runner.run(program).contents
    assert first is not None
    assert first == second


@pytest.mark.release
def test_a_lost_worker_is_replaced(runner: ProgramRunner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    worker = runner.programs._worker()
    worker._process.kill()
    worker._process.wait()
    runner.programs._idle.put(worker)
    assert message(runner, CHART) == ""
    monkeypatch.setattr(runner_module, "_START", "raise SystemExit")
    with pytest.raises(WorkerLost, match="gone"):
        ProgramRunner(tmp_path).run(CHART)


def test_a_worker_that_still_imports_ends_with_its_runner(tmp_path: Path) -> None:
    begun, done = tmp_path / "begun", tmp_path / "done"
    (tmp_path / "slow_module.py").write_text(
        "import pathlib, time\n"
        f"pathlib.Path({str(begun)!r}).touch()\n"
        "for _ in range(600): time.sleep(0.1)\n"
        f"pathlib.Path({str(done)!r}).touch()\n"
    )
    code = "from snellen.generated_code.runner import WorkerProcess\nWorkerProcess(['slow_module'])"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    started = subprocess.Popen([sys.executable, "-c", code], env=environment)
    while not begun.exists():
        assert started.poll() is None
        time.sleep(0.02)
    workers = list(processes_below(str(started.pid)))
    started.kill()
    started.wait()
    assert workers
    while any(is_running(pid) for pid in workers):
        time.sleep(0.02)
    assert not done.exists()


def is_running(pid: str) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@pytest.mark.release
def test_abandoned_program_is_stopped(runner: ProgramRunner) -> None:
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(runner.run, "import time\ntime.sleep(50)")
        begun = time.monotonic()
        while not runner.programs._busy:
            time.sleep(0.01)
        runner.stop()
        with pytest.raises(WorkerLost):
            running.result()
    assert time.monotonic() - begun < 20
    assert message(runner, CHART) == ""


@pytest.mark.release
def test_nothing_is_left_behind(tmp_path: Path) -> None:
    made = ProgramRunner(tmp_path, modules=())
    worker = made.programs._worker()
    folder, process = worker._folder, worker._process
    assert Path(folder).is_dir()
    worker.close()
    assert not Path(folder).exists()
    assert process.returncode is not None


def test_the_tests_of_protection_run_where_it_holds() -> None:
    """Elsewhere they fail rather than pass over it in silence."""
    assert sys.platform.startswith("linux")

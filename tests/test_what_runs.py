"""What conftest.py leaves out, counts, and refuses; each case is a small suite of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

ROOT = Path(__file__).parents[1]
KEPT = "def test_kept(golden):\n    assert (golden('kept') / 'rows.csv').read_text() == 'kept'\n"
OUTSIDE = """
import pytest

@pytest.mark.external_golden("outside")
def test_outside(golden):
    assert (golden("outside") / "rows.csv").read_text() == "outside"

@pytest.mark.external_golden("outside")
@pytest.mark.parametrize("n", range(3))
def test_others(n):
    pass

@pytest.mark.external_golden
def test_all(golden):
    assert (golden(".") / "outside").is_dir()
"""
NOT_SAID = "def test_not_said(golden):\n    golden('outside')\n"
RELEASE = "import pytest\n\n@pytest.mark.release\ndef test_slow():\n    pass\n"
SKIPS = "import pytest\n\ndef test_skips():\n    pytest.skip('{}')\n"
NO_GOLDEN = "*5 tests of golden data outside the repository were not run; set SNELLEN_GOLDEN*"


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A copy of the mechanism, and one set inside."""
    monkeypatch.delenv("SNELLEN_GOLDEN", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    tests = pytester.mkdir("tests")
    for path in (ROOT / "conftest.py", ROOT / "tests" / "allowed_skips.txt", ROOT / "tests" / "kinds.py"):
        shutil.copy(path, pytester.path / path.relative_to(ROOT))
    (tests / "kinds.toml").write_text('system = ["."]\n')
    (tests / "golden" / "kept").mkdir(parents=True)
    (tests / "golden" / "kept" / "rows.csv").write_text("kept")
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\naddopts = "--strict-markers -rs"\n')
    return pytester


def run(suite: pytest.Pytester, *arguments: str, **files: str) -> pytest.RunResult:
    for name, text in files.items():
        (suite.path / "tests" / f"test_{name}.py").write_text(text)
    if "-n" in arguments:
        return suite.runpytest_subprocess("-p", "xdist", *arguments, "tests")
    return suite.runpytest_inprocess(*arguments, "tests")


@pytest.fixture
def collection(suite: pytest.Pytester) -> Path:
    """Sets outside the repository."""
    home = suite.mkdir("collection")
    (home / "outside").mkdir()
    (home / "outside" / "rows.csv").write_text("outside")
    return home


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_sets_outside_are_left_out_and_counted(suite: pytest.Pytester, workers: tuple[str, ...]) -> None:
    done = run(suite, *workers, kept=KEPT, outside=OUTSIDE)
    assert done.parseoutcomes()["passed"] == 1
    assert done.ret == pytest.ExitCode.OK
    done.stdout.fnmatch_lines([NO_GOLDEN])


def test_sets_outside_are_read_where_they_are_named(
    suite: pytest.Pytester, collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLEN_GOLDEN", str(collection))
    done = run(suite, kept=KEPT, outside=OUTSIDE)
    done.assert_outcomes(passed=6)
    assert "were not run" not in done.stdout.str()


def test_sets_outside_are_read_beside_the_checkout(suite: pytest.Pytester) -> None:
    home = suite.path.parent / "shared" / "golden" / "outside"
    home.mkdir(parents=True)
    (home / "rows.csv").write_text("outside")
    run(suite, outside=OUTSIDE).assert_outcomes(passed=5)


def test_a_missing_set_or_folder_is_a_failure(
    suite: pytest.Pytester, collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLEN_GOLDEN", str(collection))
    done = run(suite, outside=OUTSIDE.replace('golden("outside")', 'golden("another")'))
    done.assert_outcomes(passed=4, failed=1)
    monkeypatch.setenv("SNELLEN_GOLDEN", str(collection / "nowhere"))
    done = run(suite)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*SNELLEN_GOLDEN=*nowhere: there is no such folder*"])


def test_a_test_that_does_not_name_its_set_fails_everywhere(
    suite: pytest.Pytester, collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for home in ("", str(collection)):
        monkeypatch.setenv("SNELLEN_GOLDEN", home)
        done = run(suite, not_said=NOT_SAID)
        done.assert_outcomes(failed=1)
        done.stdout.fnmatch_lines(["*mark it: external_golden('outside')*"])


def test_release_marks_select_tests(suite: pytest.Pytester) -> None:
    done = run(suite, kept=KEPT, release=RELEASE)
    done.assert_outcomes(passed=1, deselected=1)
    done.stdout.fnmatch_lines(["1 tests of a release were not run; make test-release runs them"])
    run(suite, "-m", "release").assert_outcomes(passed=1, deselected=1)


@pytest.mark.parametrize(
    ("text", "ok"),
    [
        (SKIPS.format("no browser: none of chromium is installed"), True),
        (SKIPS.format("no golden data"), False),
        ("import pytest\npytest.importorskip('no_such_module')\n\ndef test_it():\n    pass\n", False),
        ("import pytest\n\n@pytest.mark.xfail\ndef test_it():\n    assert 0\n", True),
    ],
)
def test_a_skip_is_an_error_unless_it_is_listed(suite: pytest.Pytester, text: str, ok: bool) -> None:
    done = run(suite, kept=KEPT, skipping=text)
    assert done.ret == (pytest.ExitCode.OK if ok else pytest.ExitCode.TESTS_FAILED)
    assert done.parseoutcomes()["passed"] == 1
    assert ("ERROR tests/test_skipping.py" in done.stdout.str()) == (not ok)


def test_skips_of_worker_processes_are_known(suite: pytest.Pytester) -> None:
    module = "import pytest\npytest.importorskip('no_such_module')\n"
    done = run(suite, "-n", "1", kept=KEPT, skips=SKIPS.format("no data"), module=module)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["ERROR tests/test_module.py*", "ERROR tests/test_skips.py*no data"])

"""What a data set of VLMEvalKit needs, read in its code."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from snellen.bridge.catalogue import read_catalogue
from snellen.bridge.worker.vlmevalkit_needs import asks_judge, find_broken, find_needs

CODE = """
import abc
import json
try:
    import prismatic
    import kaleidoscope
except ImportError:
    pass


class Plain:
    def evaluate(self, file, **named):
        return json.loads(file)


class Judged(Plain):
    def prepare_dataset(self):
        import unpacker

    def evaluate(self, file, **named):
        from .helper import compare
        return compare(prismatic.open(file), build_judge(**named))


class Astray(Plain):
    def evaluate(self, file, **named):
        from .nowhere import compare
        return compare(file)


class Half(abc.ABC):
    @abc.abstractmethod
    def evaluate(self, file): ...


class Either(Plain):
    def evaluate(self, file, model="exact_matching", **named):
        return file if model == "exact_matching" else build_judge(model=model)
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    folder = tmp_path / "vlmeval_small"
    folder.mkdir()
    (folder / "__init__.py").write_text(CODE)
    (folder / "helper.py").write_text("import spectroscope\nimport re\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("vlmeval_small")
    sys.modules.pop("vlmeval_small")


def test_packages_that_are_not_installed_are_named(small: Any) -> None:
    assert find_needs(small.Plain) == []
    assert find_needs(small.Judged) == ["the package prismatic", "the package spectroscope"]


def test_what_cannot_work_is_seen_without_running_it(small: Any) -> None:
    assert find_broken(small.Plain) == find_broken(small.Judged) == ""
    assert find_broken(small.Half) == "Half lacks the method evaluate"
    assert find_broken(small.Astray) == "it imports .nowhere, which is not there"


def test_a_judge_is_needed_where_there_is_no_way_without(small: Any) -> None:
    assert [asks_judge(one) for one in (small.Plain, small.Judged, small.Either)] == [False, True, None]


def test_the_catalogue_says_it_of_every_task() -> None:
    tasks = {task.name: task for task in read_catalogue("vlmevalkit").tasks()}
    assert len(tasks) > 700
    assert tasks["MMDU"].wants() == ("a judge",)
    assert tasks["POPE"].wants() == ()
    assert any("package torchvision" in one for one in tasks["MVBench_8frame"].wants())

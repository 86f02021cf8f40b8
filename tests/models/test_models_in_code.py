"""Models that are handed over in code: functions, classes, objects, by themselves or by name."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import snellen
from snellen import Capabilities, Generate, Generated, Identity, Results
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.core.output import Compared
from snellen.core.request import Compare
from snellen.engine.loop.preflight import check_roles
from snellen.models.naming.code_digest import digest_code
from snellen.models.naming.wrapping import wrap_model

ROWS = "".join(f"{name}\tWhich {name}?\tred\tblue\tA\n" for name in "abcd")


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "questions.tsv"
    path.write_text("index\tquestion\tA\tB\tanswer\n" + ROWS)
    return str(path)


@pytest.fixture
def evaluate(tmp_path: Path, data: str) -> Callable[..., Results]:
    def run(models: Any, **changes: Any) -> Results:
        options = {"out": tmp_path / "out", "html": False, **changes}
        return snellen.evaluate(models, data, **options)

    return run


def always_a(request: Generate) -> str:
    return "A"


async def later_a(request: Generate) -> Generated:
    return Generated("A")


def always(request: Generate, reply: str) -> str:
    return reply


class Constant:
    def __init__(self, reply: str = "A") -> None:
        self.reply = reply

    def answer(self, request: Generate) -> str:
        return self.reply


class Batches:
    batch_size = 3

    def answer_batch(self, requests: list[Generate]) -> list[str | Generated]:
        return ["A", *(Generated("A") for _ in requests[1:])]


class Callable_:
    async def __call__(self, request: Generate) -> str:
        return "A"


class Whole:
    identity = Identity("mine", "whole", {"revision": "1"})
    capabilities = Capabilities()

    def answer(self, request: Generate) -> Generated:
        return Generated("A")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (always_a, "always_a"),
        (later_a, "later_a"),
        (lambda request: "A", "lambda"),
        (lambda request: later_a(request), "lambda"),
        (functools.partial(always, reply="A"), "always"),
        (functools.partial(later_a), "later_a"),
        (Constant().answer, "answer"),
        (Constant, "Constant"),
        (Constant(), "Constant"),
        (Batches, "Batches"),
        (Batches(), "Batches"),
        (Callable_(), "Callable_"),
        (Whole, "whole"),
        (Whole(), "whole"),
        ([Whole()], "whole"),
        ({"by any name": always_a}, "by any name"),
        (snellen.wrap_model(always_a, "renamed"), "renamed"),
        (snellen.wrap_model(Constant, reply="A"), "Constant"),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_model_of_any_form_answers(evaluate: Callable[..., Results], model: Any, name: str) -> None:
    (run,) = evaluate(model).runs
    assert run.info.model == name
    assert run.info.status == "complete"
    assert run.report().summary.headline.value == 100.0


def test_several_models_by_list_and_by_name(evaluate: Callable[..., Results]) -> None:
    assert [run.info.model for run in evaluate(["random", always_a, Whole]).runs] == ["random", "always_a", "whole"]
    by_name = {"chance": "random:seed=1", "a": Constant("A"), "b": Constant("B")}
    scores = {run.info.model: run.report().summary.headline.value for run in evaluate(by_name).runs}
    assert scores == {"chance": scores["chance"], "a": 100.0, "b": 0.0}


def test_a_plan_takes_the_same_models(data: str, tmp_path: Path) -> None:
    planned = snellen.plan({"mine": always_a, "chance": "random"}, data, out=tmp_path / "out")
    assert [line.model for line in planned.lines] == ["mine", "chance"]
    assert planned.missing == []
    assert [line.estimate.requests for line in planned.lines if line.estimate] == [4, 4]


def test_a_model_that_is_named_twice_is_asked_once(evaluate: Callable[..., Results]) -> None:
    names = [run.info.model for run in evaluate(["random", Whole, "random", Whole()]).runs]
    assert names == ["random", "whole"]


def test_two_models_of_one_name_are_refused(evaluate: Callable[..., Results]) -> None:
    with pytest.raises(UsageError, match="two models are called 'Constant'"):
        evaluate([Constant("A"), Constant("B")])


class Unfriendly:
    """Neither answers nor can be called."""


def two_arguments(request: Generate, more: str) -> str:
    return more


class Needs:
    def __init__(self, path: str) -> None: ...

    def answer(self, request: Generate) -> str:
        return "A"


class AsyncBatches:
    async def answer_batch(self, requests: list[Generate]) -> list[str]:
        return []


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (7, "an object of type int is not a model; expected a name, a function of a request"),
        (Unfriendly(), "Unfriendly is not a model"),
        (Unfriendly, "the class Unfriendly is not a model"),
        ([Unfriendly()], "Unfriendly is not a model"),
        (two_arguments, "cannot be called with a request alone: missing a required argument"),
        (Needs, "the class Needs cannot be made: missing a required argument: 'path'"),
        (AsyncBatches(), "answer_batch of AsyncBatches is async"),
        ({1: always_a}, "the name 1 is not a string"),
        ([], "no model is named"),
        ("no-such-model", "unknown model 'no-such-model'"),
    ],
)
def test_anything_else_gets_a_sentence(evaluate: Callable[..., Results], model: Any, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        evaluate(model)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"processor": object()}, "a processor belongs to a transformers model"),
        ({"size": 3}, "the function always_a takes no options; got size"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        snellen.wrap_model(always_a, **options)


def test_an_identity_of_its_own_takes_no_other_name() -> None:
    with pytest.raises(UsageError, match="has an Identity of its own"):
        snellen.wrap_model(Whole(), "other")


def test_capabilities_of_a_function_can_be_given() -> None:
    text_only = Capabilities(inputs=frozenset({"text"}))
    assert snellen.wrap_model(always_a, capabilities=text_only).capabilities == text_only


def test_a_server_is_started_for_a_name_alone(evaluate: Callable[..., Results]) -> None:
    with pytest.raises(UsageError, match="an object in this process has no server"):
        evaluate(always_a, serve="vllm serve {model}")


def test_replicas_are_made_of_a_name_alone(evaluate: Callable[..., Results]) -> None:
    from snellen.engine.ray.placement import RayCluster

    with pytest.raises(UsageError, match="replicas on Ray open a model by its name"):
        evaluate(always_a, cluster=RayCluster(replicas=2))


def model_of(value: Any, **how: Any) -> Model:
    return snellen.wrap_model(value, **how)


def make(reply: object) -> Callable[[Generate], str]:
    return lambda request: str(reply)


with_events = (make(Event()), make(Event()))
HELPER = "A"


def uses_a_global(request: Generate) -> str:
    return HELPER + helper_of_it()


def helper_of_it() -> str:
    return "!"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (always_a, later_a),
        (lambda request: "A", lambda request: "B"),
        (make("A"), make("B")),
        (functools.partial(always, reply="A"), functools.partial(always, reply="B")),
        (Constant("A"), Constant("B")),
        (Constant("A").answer, Constant("B").answer),
        (with_events[0], with_events[1]),
    ],
)
def test_models_that_may_answer_otherwise_have_other_identities(one: Any, other: Any) -> None:
    assert model_of(one).identity != model_of(other).identity
    assert model_of(one).identity == model_of(one).identity
    assert model_of(other).identity == model_of(other).identity


def test_an_identity_follows_what_a_function_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    before = model_of(uses_a_global).identity
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "HELPER", "B")
        assert model_of(uses_a_global).identity != before
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "helper_of_it", always_a)
        assert model_of(uses_a_global).identity != before
    assert model_of(uses_a_global).identity == before


def test_an_object_of_unknown_content_is_good_for_this_process_and_said() -> None:
    model = model_of(make(Event()), name="mine")
    (remark,) = model.remarks  # type: ignore[attr-defined]
    assert remark.startswith("mine: stored replies are reused in this Python process alone")
    assert "reply (threading.Event)" in remark


def test_a_revision_takes_the_place_of_the_source() -> None:
    model = model_of(make(Event()), name="mine", revision="7")
    assert model.identity == Identity("custom", "mine", {"revision": "7"})
    assert model.remarks == ()  # type: ignore[attr-defined]


def test_an_identity_is_the_same_in_another_process() -> None:
    import subprocess
    import sys

    code = (
        "import sys, snellen, test_models_in_code as t\n"
        "print(*(t.model_of(x).identity.digest() for x in "
        "(t.always_a, t.Constant('A'), t.Batches(), t.uses_a_global, t.Whole())),"
        "snellen.Capabilities(inputs=frozenset({'video', 'text', 'audio', 'image'})).inputs)"
    )
    folder = str(Path(__file__).parent)
    paths = [folder, *sys.path]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path[:0] = {paths}\n{code}"],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    *digests, inputs = outputs.pop().split(maxsplit=5)
    assert len(set(digests)) == 5
    assert set(re.findall(r"'(\w+)'", inputs)) == {"audio", "image", "text", "video"}


def test_stored_replies_are_those_of_the_same_code(evaluate: Callable[..., Results]) -> None:
    def sent(model: Any) -> int:
        (run,) = evaluate(model).runs
        return run.info.counts.sent

    assert [sent({"x": Constant("A")}), sent({"y": Constant("A")})] == [4, 0]
    assert sent({"x": Constant("B")}) == 4


def test_single_judge_extractor_or_file_needs_no_list(evaluate: Callable[..., Results], tmp_path: Path) -> None:
    def read(request: Generate) -> str:
        return "A"

    path = tmp_path / "mine.py"
    path.write_text("def other(request):\n    return 'the first of them'\n")
    (run,) = evaluate("other", load=path, extractors=read).runs
    assert run.info.config.roles["extractor"].name == "read"
    assert run.report().summary.headline.value == 100.0


def test_installed_library_in_another_path_is_not_user_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of Debian's dist-packages or of PYTHONPATH: replies are then good for any process."""
    for folder, is_opaque in (("lib/python3/dist-packages", False), ("mine", True)):
        place = tmp_path / folder
        place.mkdir(parents=True)
        name = f"vendored_{place.name.replace('-', '_')}"
        (place / f"{name}.py").write_text(
            "import threading\n_lock = threading.Lock()\ndef complete(text):\n    with _lock:\n        return 'A'\n"
        )
        monkeypatch.syspath_prepend(str(place))
        complete = __import__(name).complete
        digest = digest_code(lambda request, complete=complete: complete(request))
        assert bool(digest.opaque) == is_opaque, folder


def test_installed_into_a_folder_is_not_user_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by `pip install --target`, also beside files of the user."""
    code = "import threading\n_lock = threading.Lock()\ndef complete():\n    with _lock:\n        return 'A'\n"
    record = tmp_path / "targeted-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("targeted_lib.py,sha256=x,9\ntargeted-1.0.dist-info/RECORD,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, is_opaque in (("targeted_lib", False), ("beside_it", True)):
        (tmp_path / f"{name}.py").write_text(code)
        complete = __import__(name).complete
        assert bool(digest_code(lambda request, complete=complete: complete()).opaque) == is_opaque, name


class _Proxy:
    """Answers every attribute with an error, as proxies of libraries do."""

    def __getattr__(self, name: str) -> object:
        raise TypeError(f"no attribute {name}")

    def answer(self, request: Generate) -> str:
        return "A"


class _Table(dict[str, int]):
    """A dict that hands out nothing."""

    def __getitem__(self, name: str) -> int:
        raise TypeError(name)


@pytest.mark.parametrize("make", [_Proxy, lambda: _Table(one=1)], ids=["proxy", "dict"])
def test_objects_that_answer_attributes_with_errors_have_a_digest(make: Callable[[], object]) -> None:
    assert digest_code(make()) == digest_code(make())


class _Compares:
    """A CLIP of the user's own, which declares nothing and compares."""

    def answer(self, request: Compare) -> Compared:
        return Compared(tuple(1.0 for _ in request.candidates))


def test_a_model_that_compares_is_probed_with_pictures() -> None:
    model = wrap_model(_Compares(), "mine")
    check_roles({"clip": model})
    with pytest.raises(UsageError, match="the judge mine does not answer"):
        check_roles({"judge": model})

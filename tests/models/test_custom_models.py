from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from questions_for_models import ask

from snellen.core.errors import UsageError
from snellen.core.model import BatchModel, RestrictedSampler, SingleModel, abilities
from snellen.core.output import Generated
from snellen.core.request import Sampling
from snellen.engine.loop.batching import answer_or_fail
from snellen.models.naming.custom import load_file
from snellen.models.sampling import split_sampling

OFFER = '''
from snellen.core.model import Capabilities

class Parrot:
    """Says the question again."""
    identity = "parrot-2"
    capabilities = Capabilities(inputs=frozenset({"text"}))
    def answer(self, request):
        return request.messages[-1].text()

class Named:
    def __init__(self, word):
        self.word = word
    async def answer(self, request):
        return self.word

hello = Named("hello")

class Many:
    batch_size = 3
    def answer_batch(self, requests):
        return ["many"] * len(requests)

def yes(request):
    return "yes"

def helper(text):
    return text
'''


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text)
    return path


def test_a_file_offers_classes_objects_and_functions(tmp_path: Path) -> None:
    models = load_file(written(tmp_path, OFFER)).models
    assert set(models) == {"Parrot", "Named", "hello", "Many", "yes"}
    parrot, hello, many, yes = (models[name] for name in ("Parrot", "hello", "Many", "yes"))
    assert parrot.identity.name == "parrot-2"
    assert parrot.capabilities.inputs == {"text"}
    assert isinstance(parrot, SingleModel)
    assert parrot.answer(ask("why?")) == "why?"
    assert isinstance(hello, SingleModel)
    assert inspect.iscoroutinefunction(hello.answer)
    assert isinstance(many, BatchModel)
    assert many.batch_size == 3
    assert isinstance(yes, SingleModel)
    assert yes.answer(ask("?")) == "yes"


def test_identity_follows_the_files_content(tmp_path: Path) -> None:
    path = written(tmp_path, OFFER)
    one = load_file(path).models["yes"].identity
    assert load_file(path).models["yes"].identity == one
    written(tmp_path, OFFER + "# changed\n")
    assert load_file(path).models["yes"].identity != one


def test_a_file_may_import_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_mine.py").write_text("WORD = 'hi'\n")
    text = "from neighbour_of_mine import WORD\ndef greet(request):\n    return WORD\n"
    model = load_file(written(tmp_path, text)).models["greet"]
    assert isinstance(model, SingleModel)
    assert model.answer(ask("?")) == "hi"


OPTIONS = """
from pathlib import Path
from typing import Literal

MADE = []

class Heavy:
    def __init__(self):
        raise RuntimeError("7 billion weights")
    def answer(self, request):
        return "A"

class Set:
    def __init__(self, path: Path, size: int = 3, scale: float = 1.0, loud: bool = False,
                 mode: Literal["fast", "slow"] = "fast", top: "int | None" = None, word="A"):
        self.options = (path, size, scale, loud, mode, top, word)
        MADE.append(self)
    def answer(self, request):
        return "A"

class Open:
    def __init__(self, **options):
        self.options = options
    def answer_batch(self, requests):
        return ["A"] * len(requests)

class Warm:
    def __init__(self, temperature: float = 0.0):
        self.temperature = temperature
    def answer(self, request):
        return "A"

def plain(request):
    return "A"

shared = Warm(0.5)
"""


def options_of(model: object) -> object:
    return model._owner.options  # type: ignore[attr-defined]


def test_a_class_is_made_when_it_is_asked_and_once(tmp_path: Path) -> None:
    models = load_file(written(tmp_path, OPTIONS)).models
    assert set(models) == {"Heavy", "Set", "Open", "Warm", "plain", "shared"}
    assert "Set:size=8" in models
    assert "Sets" not in models
    one = models["Set:path=a"]
    assert models["Set:path=a"] is one
    assert models["Set:path=b"] is not one
    with pytest.raises(UsageError, match=r"RuntimeError: 7 billion weights \(mine.py, line 9, in"):
        models["Heavy"]


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("Set:path=~/x", (Path("~/x").expanduser(), 3, 1.0, False, "fast", None, "A")),
        ("Set:path=a,size=8,scale=0.5,loud=yes,mode=slow,top=4,word=B", (Path("a"), 8, 0.5, True, "slow", 4, "B")),
        ("Set:path=a,loud=off,top=none", (Path("a"), 3, 1.0, False, "fast", None, "A")),
        ("Open:anything=goes,size=8", {"anything": "goes", "size": "8"}),
    ],
)
def test_options_are_converted_by_annotation(tmp_path: Path, spec: str, options: object) -> None:
    assert options_of(load_file(written(tmp_path, OPTIONS)).models[spec]) == options


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("Set", "Set of mine.py cannot be made without path; give it after its name, Set:path=..."),
        ("Set:path=a,size=big", "option size=big of Set of mine.py: expected a whole number"),
        ("Set:path=a,scale=big", "expected a number"),
        ("Set:path=a,loud=perhaps", "expected yes or no"),
        ("Set:path=a,mode=medium", "expected one of fast, slow"),
        ("Set:path=a,top=x", "expected a whole number"),
        ("Set:colour=red", "has no option 'colour'; known options: path, size, scale, loud, mode"),
        ("plain:size=8", "plain of mine.py is a function and takes no options; got size"),
        ("shared:size=8", "shared of mine.py is an object and takes no options"),
    ],
)
def test_options_that_a_class_does_not_take(tmp_path: Path, spec: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_file(written(tmp_path, OPTIONS)).models[spec]
    assert sentence in str(caught.value)


def test_options_are_part_of_the_identity(tmp_path: Path) -> None:
    models = load_file(written(tmp_path, OPTIONS)).models
    small, large = models["Set:path=a"].identity, models["Set:path=a,size=8"].identity
    assert small.digest() != large.digest()
    assert large.facts["size"] == "8"
    assert large.facts["revision"] == small.facts["revision"]


def test_an_option_of_sampling_is_the_classs_if_it_has_one(tmp_path: Path) -> None:
    models = load_file(written(tmp_path, OPTIONS)).models
    assert split_sampling("Warm:temperature=0.5", models).spec == "Warm:temperature=0.5"
    assert split_sampling("Set:path=a,temperature=0.5", models).spec == "Set:path=a"


BATCHES = """
from snellen import Failure, Generated

class Mixed:
    batch_size = 4
    def answer_batch(self, requests):
        return ["A", Generated("A"), 7, Failure("unsupported", "no")][: len(requests)]

class Short:
    batch_size = 4
    def answer_batch(self, requests):
        return ["A"]

class Text:
    batch_size = 4
    def answer_batch(self, requests):
        return "AAAA"

class Lazy:
    batch_size = 4
    def answer_batch(self, requests):
        return (("A" if number else "B") for number, _ in enumerate(requests))
"""


@pytest.mark.parametrize(
    ("name", "replies"),
    [
        ("Mixed", ["A", "A", "the model returned int; expected text or an Output", "no"]),
        ("Short", ["1 output came back for 4 requests; answer_batch returns a list with one"] * 4),
        ("Text", ["one str came back for 4 requests; answer_batch returns a list with one"] * 4),
        ("Lazy", ["B", "A", "A", "A"]),
    ],
)
def test_a_batch_may_hold_strings(tmp_path: Path, name: str, replies: list[str]) -> None:
    model = load_file(written(tmp_path, BATCHES)).models[name]
    assert isinstance(model, BatchModel)
    outputs = answer_or_fail(model.answer_batch, [ask(str(number)) for number in range(4)])
    for output, reply in zip(outputs, replies, strict=True):
        text = output.text if isinstance(output, Generated) else output.message  # type: ignore[union-attr]
        assert text.startswith(reply)


def test_abilities_of_a_class_reach_the_engine(tmp_path: Path) -> None:
    text = """
class Able:
    concurrency = 3
    max_new_tokens = 7
    remarks = ("slow",)
    async def answer(self, request):
        return "A"
    def cannot_sample(self, sampling):
        return "it never samples"
"""
    model = load_file(written(tmp_path, text)).models["Able"]
    able = abilities(model)
    assert (able.concurrency, able.max_new_tokens, able.remarks) == (3, 7, ("slow",))
    assert isinstance(model, RestrictedSampler)
    assert model.cannot_sample(Sampling(temperature=1.0)) == "it never samples"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1\ny = 1 / 0\n", "line 2, cannot be imported: ZeroDivisionError: division by zero"),
        ("def f(:\n", "line 1, cannot be imported: SyntaxError"),
        ("import no_such_thing_at_all\n", "line 1, cannot be imported: ModuleNotFoundError"),
        ("x = 1\n", "offers nothing"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_file(written(tmp_path, text))
    assert sentence in str(caught.value)


def test_reports_missing_model_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load_file(tmp_path / "absent.py")

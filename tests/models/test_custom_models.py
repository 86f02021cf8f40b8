from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from questions_for_models import ask

from snellen.core.errors import UsageError
from snellen.core.model import BatchModel, SingleModel
from snellen.models.naming.custom import load_file

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


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load_file(tmp_path / "absent.py")

"""Small finished runs that are kept in `tests/store/kept`, and the models that answered them.

    python tests/store/kept_runs.py     makes them anew

They are made anew only where a benchmark that they use reads or counts otherwise than before (its
version is another). A change of the code that should move no number leaves them as they are.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import shutil
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from snellen import evaluate
from snellen.core.benchmark import Variant
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure, Generated, Output, Usage
from snellen.core.request import Generate, Request
from snellen.store.runs import RunFolder

HOME = Path(__file__).parent / "kept"
STORE = "responses.sqlite"


class Scripted:
    """Answers each question in a manner that its id chooses; `broken` are ids it fails on."""

    capabilities = Capabilities()

    def __init__(self, name: str, broken: tuple[str, ...] = ()) -> None:
        self.identity = Identity("test", name, {"revision": "1"})
        self.broken = broken
        self.sent: list[Request] = []

    def answer(self, request: Request) -> Output:
        self.sent.append(request)
        assert isinstance(request, Generate)
        sample = request.ref.sample
        if sample in self.broken:
            return Failure("server", "the server is down")
        usage = Usage(prompt_tokens=10 + len(sample), completion_tokens=3)
        number = int(sample.removeprefix("v1_")) if sample != "preflight" else 0
        text, stop = self.reply(number, request)
        return Generated(text, stop_reason=stop, usage=usage, seconds=0.25)

    def reply(self, number: int, request: Generate) -> tuple[str, str]:
        options = request.choices or ("12",)
        asked = request.messages[-1].text()
        # Wherever a rotation put it.
        red = re.search(r"([A-Z])\. (?:red|the first)$", asked, re.MULTILINE)
        label = red[1] if red else options[0]
        return (
            (f"The answer is {label}.", "stop"),
            (options[-1], "stop"),
            ("I cannot tell.", "stop"),
            ("", "length"),
            (f"({options[0]}) for it is so", "stop"),
        )[number % 5]


class Judge(Scripted):
    """Grades: half of the marks to every second reply."""

    def reply(self, number: int, request: Generate) -> tuple[str, str]:
        return ("0.5" if number % 2 else "1.0", "stop")


@dataclass(frozen=True)
class Case:
    """A run: its data file, how it is asked, and its replies."""

    data: str
    benchmark: str = ""
    variant: Variant = field(default_factory=Variant)
    broken: tuple[str, ...] = ()
    judged: bool = False


CASES = {
    "circular": Case("choices.tsv", variant=Variant(circular="full")),
    "yes_no": Case("yes_no.tsv"),
    "open": Case("open.jsonl"),
    "failures": Case("choices.tsv", broken=("2", "3")),
    "judged": Case("graded.tsv", benchmark="mm-vet", judged=True),
    "several_pictures": Case("several.jsonl"),
}


def run(case: Case, out: Path, model: Scripted, judge: Judge, store: Path) -> RunFolder:
    """In the folder of the data, so that no path of a machine is written down."""
    with contextlib.chdir(HOME):
        found = evaluate(
            [model],
            [case.benchmark or case.data],
            out=out,
            store=store,
            variant=(Variant(data=case.data, options=case.variant.options) if case.benchmark else case.variant),
            judges=[judge] if case.judged else [],
            html=False,
        )
    (made,) = found.runs
    return made


def picture(colour: str) -> str:
    data = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(data, "PNG")
    return base64.b64encode(data.getvalue()).decode()


def write_data() -> None:
    table = ["index\timage\tquestion\tA\tB\tC\tanswer\tcategory"]
    for number, colour in enumerate(("red", "blue", "lime", "white", "black", "red")):
        row = (number, picture(colour), f"{number}. Which colour?", "red", "blue", "another")
        gold = {"red": "A", "blue": "B"}.get(colour, "C")
        table.append("\t".join(map(str, (*row, gold, "plain" if number % 2 else "mixed"))))
    (HOME / "choices.tsv").write_text("\n".join(table) + "\n", encoding="utf-8")
    rows = [(n, f"Is {n} even?", "Yes" if n % 2 == 0 else "No") for n in range(6)]
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    (HOME / "yes_no.tsv").write_text("index\tquestion\tanswer\n" + text, encoding="utf-8")
    questions = [
        {"id": n, "question": f"How much is 12 and {n}?", "answer": [str(12 + n), f"{12 + n}.0"]} for n in range(6)
    ]
    several = [
        {
            "id": n,
            "question": f"{n}. Which picture is red?",
            "options": ["the first", "the second"],
            "answer": n % 2,
            "image": [picture("red"), picture("blue")][:: 1 - 2 * (n % 2)],
        }
        for n in range(4)
    ]
    for name, lines in (("open.jsonl", questions), ("several.jsonl", several)):
        (HOME / name).write_text("".join(json.dumps(one) + "\n" for one in lines))
    graded = ["index\timage\tquestion\tanswer\tcategory"]
    graded += [f"v1_{n}\t{picture('red')}\t{n}. What is it?\tred\trec" for n in range(4)]
    (HOME / "graded.tsv").write_text("\n".join(graded) + "\n", encoding="utf-8")


def main() -> None:
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir()
    write_data()
    for name, case in CASES.items():
        made = run(case, HOME / "runs" / name, Scripted(name, case.broken), Judge("judge"), HOME / STORE)
        (made.path / ".lock").unlink(missing_ok=True)
        for file in (made.path / "run.json", made.path / "report.json"):
            # The machine it was made on is nobody's business.
            text = re.sub(r'("system": ")[^"]*', r"\1Linux", file.read_text(encoding="utf-8"))
            # Runs name their data absolutely; these are found beside the folder.
            text = text.replace(f"{HOME}/", "")
            file.write_text(text, encoding="utf-8")
    forget_folders()


def forget_folders() -> None:
    """The store names the folders of its runs absolutely, too."""
    with contextlib.closing(sqlite3.connect(HOME / STORE, isolation_level=None)) as base:
        base.execute("UPDATE runs SET folder = replace(folder, ?, '')", (f"{HOME}/",))
        base.execute("VACUUM")


if __name__ == "__main__":
    os.environ.pop("LMUData", None)
    main()

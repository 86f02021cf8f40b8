"""VLMEvalKit by itself: its own inference loop with a scripted model, then its own `evaluate`.

    python alone_vlmevalkit.py CHECKOUT DATA WORK < tasks.json > results.json

Run by `python -m tests.bridge.proof` in VLMEvalKit's environment; nothing of Snellen is imported.
For each task: what the model was shown, row by row (texts, and the SHA-256 of the pixels of
pictures), what it replied, and the numbers that its report would show.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import math
import os
import random
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "differential" / "oracles"))

NO_JUDGE = "exact_matching"
DIMENSIONS = (
    "Creativity",
    "Richness",
    "Visual Perception",
    "Logical Coherence",
    "Answer Accuracy",
    "Image Relationship Understanding",
)
"""What MMDU's judge gives points for."""
ASKED: list[str] = []
"""What the scripted judge was asked."""


class AnyChecksum(str):
    """Made-up files have none of the published checksums."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


def pixels(path: str) -> str:
    """SHA-256 of a picture's size and pixels, or of a file that is none."""
    from PIL import Image

    with contextlib.suppress(OSError), Image.open(path) as image:
        image.load()
        decoded = image.convert("RGB")
        return hashlib.sha256(repr(decoded.size).encode() + decoded.tobytes()).hexdigest()
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


class ScriptedModel:
    """Answers by the row: right, right in a sentence, B, and nothing, in turn."""

    is_api = False

    def __init__(self, golds: list[str]) -> None:
        self.golds, self.shown, self.replies = golds, [], []

    def set_dump_image(self, dump: Any) -> None:
        pass

    def generate(self, message: Any, dataset: str | None = None) -> str:
        parts = [message] if isinstance(message, str | dict) else list(message)
        self.shown.append([self._part(part) for part in parts])
        turn = len(self.replies)
        gold = self.golds[turn]
        self.replies.append([(gold, f"The answer is {gold}.", "B", "")[turn % 4]])
        return str(self.replies[-1][0])

    def chat_inner(self, messages: Any, dataset: str | None = None) -> str:
        raise NotImplementedError

    def chat(self, messages: Any, dataset: str | None = None) -> str:
        """A turn of a conversation, whose replies are numbered."""
        turn = (len(messages) + 1) // 2
        shown = []
        for message in messages:
            parts = message["content"]
            parts = [{"type": "text", "value": parts}] if isinstance(parts, str) else parts
            shown += [self._part({**part, "role": message["role"]}) for part in parts]
        if turn == 1:
            self.shown.append(shown)
            self.replies.append([])
        else:
            self.shown[-1] += [["turn", str(turn - 1)], *shown]
        self.replies[-1].append(f"Reply {turn} to {len(self.replies)}.")
        return str(self.replies[-1][-1])

    @staticmethod
    def _part(part: Any) -> list[str]:
        if isinstance(part, str):
            return ["text", part]
        if part["type"] == "text":
            return [part.get("role", "user"), str(part["value"])]
        return [part["type"], pixels(part["value"])]


def judge_reply(prompt: str) -> str:
    """What the scripted judge says, by the prompt alone."""
    number = hashlib.sha256(prompt.encode()).digest()[0] % 6
    if "'Overall Score': Score" in prompt:
        return f"A score of each. {{{', '.join(f'{name!r}: {number + 1}' for name in (*DIMENSIONS, 'Overall Score'))}}}"
    if "'pred'" in prompt and "'score'" in prompt:
        return str({"pred": ("yes", "no")[number % 2], "score": number})
    return ("A", "1", "Yes", "0.5", "Correctness: 1", "B")[number]


def replace_everywhere(name: str, value: Any) -> None:
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("vlmeval") and name in vars(module):
            setattr(module, name, value)


def run(task: str, judged: bool, work: Path) -> dict[str, Any]:
    from vlmeval.dataset import build_dataset
    from vlmeval.inference import infer_data_job
    from vlmeval.inference_mt import infer_data_job_mt
    from vlmeval.inference_video import infer_data_job_video
    from vlmeval.smp import get_pred_file_path
    from vlmeval.smp.status_report import flatten_summary_metrics

    random.seed(0)
    importlib.import_module("numpy").random.seed(0)
    # As its `run.py` names the model for tasks that join pages.
    joins_pages = task in {"MMLongBench_DOC", "DUDE", "DUDE_MINI", "SLIDEVQA", "SLIDEVQA_MINI"}
    dataset = build_dataset(task, **({"model": "GPT4o"} if joins_pages else {}))
    golds = [str(one) for one in dataset.data["answer"]] if "answer" in dataset.data else [""] * len(dataset.data)
    model = ScriptedModel(golds)
    is_video = getattr(dataset, "MODALITY", "") == "VIDEO"
    infer = infer_data_job_mt if getattr(dataset, "TYPE", "") == "MT" else infer_data_job
    (infer_data_job_video if is_video else infer)(
        model=model, work_dir=str(work), model_name="scripted", dataset=dataset
    )
    file = get_pred_file_path(str(work), "scripted", dataset.dataset_name if is_video else task, use_env_format=True)
    random.seed(0)
    importlib.import_module("numpy").random.seed(0)
    named = getattr(type(dataset), "DEFAULT_JUDGE", "gpt-4o-mini")
    judge = (named if isinstance(named, str) else named[0]) if judged else NO_JUDGE
    returned = dataset.evaluate(file, model=judge, nproc=4, verbose=False, retry=1, timeout=600)
    flat = flatten_summary_metrics(returned)
    base = importlib.import_module("vlmeval.dataset.image_base").ImageBaseDataset
    primary = getattr(type(dataset), "report_primary_metric", base.report_primary_metric)(dict(flat))
    numbers = {str(key): float(value) for key, value in {**flat, **primary}.items() if math.isfinite(float(value))}
    return {"shown": model.shown, "replies": model.replies, "metrics": numbers, "headline": next(iter(primary), None)}


def main(checkout: str, data: str, work: str) -> None:
    jobs: list[Mapping[str, Any]] = json.load(sys.stdin)
    results: dict[str, Any] = {}
    os.environ["LMUData"] = data  # noqa: SIM112 - its name there
    with contextlib.redirect_stdout(sys.stderr):
        import stand_ins

        sys.path.insert(0, checkout)
        stand_ins.install("torchvision", "vlmeval.vlm", "vlmeval.config", "vlmeval.tools")
        importlib.import_module("vlmeval.dataset")
        for name in ("vlmeval.inference", "vlmeval.inference_mt", "vlmeval.inference_video"):
            importlib.import_module(name)
        stand_ins.seal()
        checksum = importlib.import_module("vlmeval.smp").md5
        replace_everywhere("md5", lambda text: AnyChecksum(checksum(text)))
        replace_everywhere("build_judge", scripted_judge)
        for job in jobs:
            results[job["task"]] = try_both(job["task"], Path(work))
    print(json.dumps(results), flush=True)
    # What tasks have left running keeps nobody waiting.
    os._exit(0)


def try_both(task: str, work: Path) -> dict[str, Any]:
    """Without a judge; with one where that fails or a judge is asked nevertheless."""
    for judged in (False, True):
        folder = work / f"{task}-{judged}"
        folder.mkdir(parents=True)
        ASKED.clear()
        try:
            result = {**run(task, judged, folder), "judged": judged}
            if judged or not ASKED:
                return result
        except Exception as error:  # noqa: BLE001 - whatever the tool's code has
            print("".join(traceback.format_exception(error)), file=sys.stderr)
            result = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}", "judged": judged}
    return result


def scripted_judge(**named: Any) -> Any:
    """In place of `build_judge`: a model of the tool whose answers are those of `judge_reply`."""
    base = importlib.import_module("vlmeval.api.base").BaseAPI

    class Judge(base):  # type: ignore[misc]
        is_api = True

        def generate_inner(self, inputs: Any, **_: Any) -> tuple[int, str, str]:
            inputs = [inputs] if isinstance(inputs, str) else inputs
            texts = [one if isinstance(one, str) else one["value"] for one in inputs]
            said = "\n".join(text for text, one in zip(texts, inputs, strict=True) if not is_picture(one))
            ASKED.append(said)
            return 0, judge_reply(f"{self.system_prompt or ''}\n{said}"), ""

        def working(self) -> bool:
            return True

    named.pop("nproc", None)
    judge = Judge(**{key: named[key] for key in ("system_prompt", "verbose") if key in named}, retry=1)
    judge.model = judge.model_name = named.get("model", "")
    return judge


def is_picture(part: Any) -> bool:
    return not isinstance(part, str) and part["type"] != "text"


if __name__ == "__main__":
    main(*sys.argv[1:])

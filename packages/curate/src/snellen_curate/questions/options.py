"""What decides which questions are made, as settings of the step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snellen.core.errors import UsageError
from snellen.core.model import AnyModel
from snellen_curate.asking import model_setting
from snellen_curate.questions.rules import MAX_SIMILARITY, MIN_NOUNS
from snellen_curate.questions.writing import DimensionPrompt, prompt_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOptions:
    """Options of `make_questions`. Models are named as everywhere, or are objects."""

    extract: Sequence[str] = ()
    """Extractors, `[ASPECT,...=]KIND[:ARGUMENT]`."""
    writer: AnyModel = ""
    """Writes the questions."""
    reasoner: AnyModel = ""
    """Writes those of dimensions that take reasoning; empty: the writer (the paper: GPT-4)."""
    checker: AnyModel = ""
    """Checks distractors and whether a frame suffices; empty: not checked by a model."""
    dimensions: Mapping[str, DimensionPrompt]
    count: int = 1
    """Questions that the writer is asked for, for each image and dimension."""
    per_dimension: int = 0
    per_picture: int = 0
    """Most questions of a dimension, and about an image, that are kept; 0 is no limit."""
    min_nouns: int = MIN_NOUNS
    max_seconds: float = 120.0
    max_similarity: float = MAX_SIMILARITY
    require_license: bool = False
    """Whether images without a licence are dropped."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises UsageError for numbers out of range."""
        for name in ("per_dimension", "per_picture", "min_nouns"):
            if getattr(self, name) < 0:
                raise UsageError(f"--limits {name}={getattr(self, name)}: expected 0 or more")
        if not 1 <= self.count <= 20:
            raise UsageError(f"--limits count={self.count}: expected 1 to 20 questions")
        if not 0 <= self.max_similarity <= 1:
            raise UsageError(f"--limits max_similarity={self.max_similarity}: expected 0 to 1")
        if not self.max_seconds > 0:
            raise UsageError(f"--limits max_seconds={self.max_seconds}: expected more than 0")

    def settings(self) -> dict[str, Any]:
        """What decides the result, for `step.json`: models by name, prompts by their text."""
        values = {name: getattr(self, name) for name in self.__slots__ if name != "dimensions"}
        for name in ("writer", "reasoner", "checker"):
            values[name] = model_setting(values[name])
        values["extract"] = list(self.extract)
        values["dimensions"] = {slug: {"name": one.name, "text": one.text} for slug, one in self.dimensions.items()}
        return {**values, "prompts": prompt_texts().digest}

"""The body of Gemini's `generateContent` in the types of `google-genai`, which names its parts alone."""

from typing import NotRequired

from google.genai import types
from typing_extensions import TypedDict


class Body(TypedDict):
    contents: list[types.Content]
    systemInstruction: NotRequired[types.Content]
    generationConfig: NotRequired[types.GenerationConfig]

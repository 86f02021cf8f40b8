# /// script
# requires-python = ">=3.9"
# dependencies = []
# ///
"""A one-file server without a model: it answers with what it was called with."""

FETCH = False


def load(checkpoint):
    if checkpoint.name == "ORG/broken":
        raise RuntimeError("the weights are of another layout")
    return checkpoint


def answer(model, chat, settings):
    return {
        "text": f"A of {model.name}@{model.revision}, {len(chat.images)} pictures",
        "prompt_tokens": 7,
        "completion_tokens": 2,
    }

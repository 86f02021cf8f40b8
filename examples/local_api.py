"""An API to try things with: the bundled model behind OpenAI's protocol, on this machine.

python local_api.py --port 8000 --key local-key
"""

import argparse
import asyncio
import base64

from aiohttp import web

from snellen import Generate, Generated
from snellen.core.media import InlineSource, digest_bytes
from snellen.core.request import Generation, Media, Message, Ref, Text
from snellen.models.naming.registry import open_model

MODEL = "tiny"


def read_messages(body, media):
    """The chat's messages; images go into `media` by digest."""
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        yield Message(message["role"], tuple(read_part(part, media) for part in parts))


def read_part(part, media):
    if part["type"] == "text":
        return Text(part["text"])
    image = base64.b64decode(part["image_url"]["url"].partition(";base64,")[2])
    digest = digest_bytes(image)
    media[digest] = InlineSource(image)
    return Media("image", digest)


def application(key):
    """The server: a list of one model, and chats with it, one at a time."""
    model = open_model("snellen/tiny:device=cpu,batch_size=1")
    turn = asyncio.Lock()

    @web.middleware
    async def check_key(request, handler):
        if request.headers.get("Authorization") != f"Bearer {key}":
            message = "Incorrect API key provided"
            return web.json_response({"error": {"message": message}}, status=401)
        return await handler(request)

    async def models(request):
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def chat(request):
        body = await request.json()
        if body["model"] != MODEL:
            message = f"The model {body['model']} does not exist"
            return web.json_response({"error": {"message": message}}, status=404)
        media = {}
        question = Generate(
            messages=tuple(read_messages(body, media)),
            ref=Ref("1"),
            settings=Generation(max_new_tokens=body.get("max_tokens", 64)),
            media=media,
        )
        async with turn:
            [reply] = await asyncio.to_thread(model.answer_batch, [question])
        if not isinstance(reply, Generated):
            return web.json_response({"error": {"message": str(reply)}}, status=400)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": reply.text},
            "finish_reason": "length" if reply.stop_reason == "length" else "stop",
        }
        usage = {"prompt_tokens": reply.usage.prompt_tokens, "completion_tokens": reply.usage.completion_tokens}
        return web.json_response({"model": MODEL, "choices": [choice], "usage": usage})

    app = web.Application(client_max_size=64_000_000, middlewares=[check_key])
    app.add_routes([web.get("/v1/models", models), web.post("/v1/chat/completions", chat)])
    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--key", default="local-key")
    arguments = parser.parse_args()
    web.run_app(application(arguments.key), host="127.0.0.1", port=arguments.port)

"""An API to make a benchmark with, on this machine: models that reply by a script.

python scripted_api.py --port 8642

It takes the place of a stronger model's API and speaks OpenAI's protocol. Its models know what
`draw_pictures.py` has drawn: `eyes` describes pictures, `writer` writes questions, `vision-1` to
`vision-3` answer them, `text-1` to `text-3` answer them without the picture, and `translator`
translates. Some of what they say is wrong on purpose, so that the checks have something to find.
"""

import argparse
import base64
import hashlib
import io
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from draw_pictures import COLOURS, COPY_OF, PLACES, SHAPES, WORDS, draw, scenes

MODELS = ("eyes", "writer", "translator", "vision-1", "vision-2", "vision-3", "text-1", "text-2", "text-3")
WRONG_KEY = (4, 9, 15)
"""Scenes about which the writer calls a wrong colour right."""
FROM_TEXT = (6, 12, 18)
"""Scenes about which the writer asks what can be known without looking."""
NOT_JSON = 7
"""The scene about which the writer first replies something that is no JSON."""
SLIP = "on the left"
"""The translator forgets the first option if it reads so."""
CHINESE = {
    "red": "红色",
    "blue": "蓝色",
    "green": "绿色",
    "black": "黑色",
    "orange": "橙色",
    "purple": "紫色",
    "yellow": "黄色",
    "circle": "圆形",
    "square": "正方形",
    "triangle": "三角形",
    "star": "星形",
    "on the left": "在左边",
    "in the middle": "在中间",
    "on the right": "在右边",
    "under the table": "在桌子下面",
}
POSITIONS = ("on the left", "in the middle", "on the right", "under the table")


def picture_digest(scene):
    """SHA-256 of the picture's file."""
    file = io.BytesIO()
    draw(scene).save(file, "PNG")
    return hashlib.sha256(file.getvalue()).hexdigest()


SCENES = {picture_digest(scene): scene for scene in scenes()}
"""By picture. To these models a copy is the same picture."""
SCENES |= {digest: scenes()[COPY_OF - 1] for digest, scene in SCENES.items() if scene.number == 24}


def caption(scene):
    parts = [f"a {c} {s}" for c, s in zip(scene.colours, scene.shapes, strict=True)]
    return (
        f"{parts[0]}, {parts[1]} and {parts[2]} hang over a wooden table, on which stands a white "
        f"sign with the word {scene.word}, in picture {scene.number} of the series"
    )


def describe(scene):
    """The reply of `eyes`: what a picture shows, with boxes in thousandths."""
    instances = [
        {"label": shape, "box": [(x - 34) * 1000 // 320, 192, (x + 34) * 1000 // 320, 475], "attributes": [colour]}
        for x, shape, colour in zip(PLACES, scene.shapes, scene.colours, strict=True)
    ]
    sign = {"text": scene.word, "box": [280, 625, 720, 771]}
    regions = [{"text": "a wooden table", "box": [0, 792, 1000, 1000]}]
    return {"caption": caption(scene), "instances": instances, "text": [sign], "regions": regions}


def write_questions(scene, task):
    """The reply of `writer`: one question of the kind that the task asks for."""
    shape, colour = scene.shapes[scene.number % 3], scene.colours[scene.number % 3]
    others = [name for name in COLOURS if name not in scene.colours]
    if "written in a certain place" in task:
        wrong = [word for word in WORDS if word != scene.word]
        start = scene.number % 4
        return question("Which word stands on the sign?", scene.word, wrong[start : start + 3])
    if "where in the picture a certain thing is" in task:
        place = POSITIONS[scene.shapes.index(shape)]
        wrong = [each for each in POSITIONS if each != place]
        return question(f"Where is the {shape} in the picture?", place, wrong)
    if scene.number in FROM_TEXT:
        wrong = [name for name in COLOURS if name != "yellow"][scene.number % 3 :][:3]
        return question("What colour has a ripe lemon, as the sun in a drawing?", "yellow", wrong)
    if scene.number in WRONG_KEY:
        return question(f"What colour is the {shape}?", others[0], [colour, others[1], others[2]])
    return question(f"What colour is the {shape}?", colour, others[:3])


def question(text, answer, distractors):
    return {"question": text, "answer": answer, "distractors": distractors}


def true_answer(scene, text):
    """What is right, whatever the key says."""
    if "lemon" in text:
        return "yellow"
    if scene is None:
        return ""
    if "sign" in text:
        return scene.word
    shape = next(shape for shape in SHAPES if shape in text)
    if text.startswith("Where"):
        return POSITIONS[scene.shapes.index(shape)]
    return scene.colour_of(shape)


def answer(model, scene, prompt):
    """The reply of a model that is examined: a letter."""
    scene = scene if model.startswith("vision") else None
    options = dict(re.findall(r"^([A-Z])\. (.+)$", prompt, re.MULTILINE))
    text = re.search(r"Question: (.+)", prompt)
    truth = true_answer(scene, text[1] if text else prompt)
    label = next((label for label, option in options.items() if option == truth), "A")
    # Each model overlooks something of its own.
    if scene is not None and scene.number % 8 == int(model[-1]):
        return "A"
    return label


def translate(prompt):
    """The reply of `translator`: the last JSON object of the prompt, in Chinese."""
    texts = json.loads(re.findall(r"\{[^{}]*\}", prompt)[-1])
    reply = {key: CHINESE.get(text, text) for key, text in texts.items()}
    if texts["Q"].startswith("Which word"):
        reply["Q"] = "标牌上写的是哪个词？"
    elif texts["Q"].startswith("Where"):
        reply["Q"] = f"图中的{shape_in(texts['Q'])}在哪里？"
    elif "lemon" in texts["Q"]:
        reply["Q"] = "成熟的柠檬是什么颜色，就像画里的太阳？"
    else:
        reply["Q"] = f"{shape_in(texts['Q'])}是什么颜色？"
    if texts.get("A") == SLIP:
        reply["A"] = SLIP
    return json.dumps(reply, ensure_ascii=False)


def shape_in(text):
    return next(CHINESE[shape] for shape in SHAPES if shape in text)


def reply_to(model, prompt, scene, is_retry):
    if model == "eyes" and scene is not None:
        return json.dumps(describe(scene))
    if model == "translator" and "{" in prompt:
        return translate(prompt)
    if model.startswith(("vision", "text")):
        return answer(model, scene, prompt)
    scene = next((scene for scene in SCENES.values() if caption(scene) in prompt), None)
    if scene is None:
        return "Ready."
    if scene.number == NOT_JSON and not is_retry:
        return "Here is a question: which word stands on the sign?"
    return json.dumps({"questions": [write_questions(scene, prompt)]})


def read_chat(messages):
    """The text of the first user message, the scene of its picture, and whether a reply was sent
    back before."""
    texts, scene, is_retry = [], None, False
    for message in messages:
        is_retry = is_retry or message["role"] == "assistant"
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                if message["role"] == "user" and not is_retry:
                    texts.append(part["text"])
            else:
                data = base64.b64decode(part["image_url"]["url"].partition(";base64,")[2])
                scene = SCENES.get(hashlib.sha256(data).hexdigest())
    return "\n".join(texts), scene, is_retry


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send({"object": "list", "data": [{"id": name, "object": "model"} for name in MODELS]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt, scene, is_retry = read_chat(body["messages"])
        text = reply_to(body["model"], prompt, scene, is_retry)
        usage = {"prompt_tokens": len(prompt) // 4 + 85 * (scene is not None), "completion_tokens": len(text) // 4 + 1}
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.send({"model": body["model"], "choices": [choice], "usage": usage})

    def send(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8642)
    port = parser.parse_args().port
    try:
        listening = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        parser.exit(2, f"port {port} cannot be used ({error.strerror}); choose another: --port N\n")
    with listening as server:
        print(f"http://127.0.0.1:{port}/v1", flush=True)
        server.serve_forever()

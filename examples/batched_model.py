"""A model that answers several requests in one call, and says what it can take."""

from collections.abc import Sequence

from snellen import Capabilities, Generate, Generated


class Brightness:
    """Answers by how bright the first picture is: the darker, the later the option."""

    batch_size = 16
    capabilities = Capabilities(inputs=frozenset({"text", "image"}), many_images=False)

    def answer_batch(self, requests: Sequence[Generate]) -> list[Generated]:
        return [Generated(self.reply(request)) for request in requests]

    def reply(self, request: Generate) -> str:
        if not request.choices:
            return "no"
        place = int((1 - brightness(request)) * len(request.choices))
        return request.choices[min(place, len(request.choices) - 1)]


def brightness(request: Generate) -> float:
    """Mean brightness of the first picture, 0..1; 1 where there is none."""
    from snellen.core.media import decode_image

    for message in request.messages:
        for part in message.media():
            picture = decode_image(request.media[part.digest].read()).convert("L").resize((1, 1))
            return picture.getpixel((0, 0)) / 255
    return 1.0

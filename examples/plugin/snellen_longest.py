"""A model in a package of its own."""


class Longest:
    """Always the longest option, without a look at the picture."""

    def __init__(self, words: bool = False):
        """`words`: the length is counted in words, `-m longest:words=yes`."""
        self.words = words

    def answer(self, request):
        lines = request.text().splitlines()
        options = [line for line in lines if line[1:3] == ". "]
        return max(options, key=self.length)[0] if options else "No"

    def length(self, option):
        return len(option.split()) if self.words else len(option)

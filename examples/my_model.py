"""A model of one's own: always the longest option, without a look at the picture."""


class Longest:
    def answer(self, request):
        lines = request.text().splitlines()
        options = [line for line in lines if line[1:3] == ". "]
        return max(options, key=len)[0] if options else "No"

"""Programs that draw charts, and the replies that come near them: for ChartMimic.

A chart is a template: `$a`, `$b` and `$c` are colours, `$title`, `$label` and `$name` texts. The
reference has one set of values; replies have the same, others, or a changed program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from string import Template

VALUES = {
    "a": "'#1f77b4'",
    "b": "'darkorange'",
    "c": "'#2ca02c'",
    "title": "Rain in spring",
    "label": "north",
    "name": "Month",
}
_FIGURE = "import matplotlib.pyplot as plt\nimport numpy as np\n\n"
_AXES = _FIGURE + "fig, ax = plt.subplots(figsize=(4, 3))\n"
_TEXTS = "ax.set_title('$title')\nax.set_xlabel('$name')\n"
_SOLID = _FIGURE + "fig = plt.figure(figsize=(4, 3))\nax = fig.add_subplot(projection='3d')\n"

CHARTS: Mapping[str, str] = {
    "line": _AXES + "ax.plot([1, 2, 3], [2, 4, 3], color=$a, label='$label')\n"
    "ax.plot([1, 2, 3], [1, 1, 2], '--', color=$b, label='south')\nax.legend()\n" + _TEXTS,
    "bar": _AXES + "ax.bar(['x', 'y', 'z'], [3, 1, 2], color=[$a, $b, $c])\nax.text(0, 3, '$label')\n" + _TEXTS,
    "barh": _AXES + "ax.barh(['x', 'y'], [3, 1], color=$a, label='$label')\n"
    "ax.axvline(2, color=$b)\nax.legend()\n" + _TEXTS,
    "scatter": _AXES + "ax.scatter([1, 2, 3], [3, 1, 2], color=$a, label='$label')\n"
    "ax.scatter([2], [2], color=$c)\nax.legend()\n" + _TEXTS,
    "density": _AXES + "ax.scatter([1, 2, 3], [3, 1, 2], c=[1, 2, 3], cmap='viridis')\n"
    "ax.annotate('$label', (1, 3))\n" + _TEXTS,
    "hist": _AXES + "np.random.seed(0)\nax.hist(np.random.normal(size=50), bins=5, color=$a, "
    "label='$label')\nax.legend()\n" + _TEXTS,
    "hists": _AXES + "np.random.seed(0)\nd = np.random.normal(size=(40, 2))\n"
    "ax.hist(d, bins=4, color=[$a, $b])\nax.text(0, 1, '$label')\n" + _TEXTS,
    "pie": _FIGURE + "fig, ax = plt.subplots(figsize=(4, 3))\n"
    "ax.pie([3, 2, 1], labels=['$label', 'south', 'west'], colors=[$a, $b, $c])\n"
    "ax.set_title('$title')\n",
    "box": _AXES + "p = ax.boxplot([[1, 2, 3, 9], [2, 3, 4]], patch_artist=True)\n"
    "for box, colour in zip(p['boxes'], [$a, $b]):\n    box.set_facecolor(colour)\n"
    "ax.text(1, 8, '$label')\n" + _TEXTS,
    "violin": _AXES + "p = ax.violinplot([[1, 2, 3, 9], [2, 3, 4, 5]])\n"
    "for body, colour in zip(p['bodies'], [$a, $b]):\n    body.set_facecolor(colour)\n"
    "ax.text(1, 8, '$label')\n" + _TEXTS,
    "area": _AXES + "ax.fill_between([1, 2, 3], [2, 4, 3], color=$a, alpha=0.5, label='$label')\n"
    "ax.fill_between([1, 2, 3], [1, 2, 1], color=$b)\nax.legend()\n" + _TEXTS,
    "errorbar": _AXES + "ax.errorbar([1, 2, 3], [2, 4, 3], yerr=0.5, color=$a, fmt='o-', "
    "label='$label')\nax.axhline(3, color=$b)\nax.legend()\n" + _TEXTS,
    "errorpoint": _AXES + "ax.errorbar([1, 2], [2, 4], xerr=0.1, ecolor=$b, color=$a, fmt='s')\n"
    "ax.hlines([1, 2], 0, 3, colors=[$a, $c])\nax.text(1, 1, '$label')\n" + _TEXTS,
    "heatmap": _AXES + "ax.imshow(np.arange(6).reshape(2, 3), cmap='Blues')\n"
    "for i in range(2):\n    ax.text(i, i, '$label', color=$a)\n" + _TEXTS,
    "contour": _AXES + "x, y = np.meshgrid(np.arange(4), np.arange(4))\n"
    "ax.contourf(x, y, x * y, cmap='plasma')\nax.contour(x, y, x + y, cmap='gray')\n"
    "ax.plot([1, 2], [1, 2], color=$a, label='$label')\nax.legend()\n" + _TEXTS,
    "quiver": _AXES + "ax.quiver([0, 1], [0, 1], [1, 0], [0, 1], color=$a)\n"
    "ax.text(0, 0, '$label', color=$b)\n" + _TEXTS,
    "radar": _FIGURE + "fig, ax = plt.subplots(figsize=(4, 4), subplot_kw={'polar': True})\n"
    "t = np.linspace(0, 6.28, 5)\nax.plot(t, [1, 2, 3, 2, 1], color=$a, label='$label')\n"
    "ax.fill(t, [1, 2, 3, 2, 1], color=$b, alpha=0.3)\nax.legend()\nax.set_title('$title')\n",
    "rose": _FIGURE + "ax = plt.subplot(111, polar=True)\n"
    "ax.bar([0, 1, 2], [1, 2, 3], width=0.4, color=[$a, $b, $c])\n"
    "ax.scatter([1], [2], color=$c)\nax.set_title('$title')\nax.text(0, 1, '$label')\n",
    "3d": _SOLID + "ax.scatter([1, 2], [1, 2], [1, 2], color=$a, label='$label')\n"
    "ax.plot([1, 2], [1, 2], [2, 1], color=$b)\nax.legend()\nax.set_zlabel('$name')\n"
    "ax.set_title('$title')\n",
    "surface": _SOLID + "x, y = np.meshgrid(np.arange(4), np.arange(4))\n"
    "ax.plot_surface(x, y, x * y, cmap='viridis')\nax.set_title('$title')\n"
    "ax.set_xlabel('$label')\nax.set_ylabel('$name')\n",
    "blocks": _SOLID + "ax.bar3d([0, 1], [0, 1], [0, 0], 0.5, 0.5, [1, 2], color=$a)\n"
    "ax.set_title('$title')\nax.set_xlabel('$label')\nax.set_ylabel('$name')\n",
    "HR": _FIGURE + "fig, axes = plt.subplots(2, 2, figsize=(5, 4))\n"
    "for ax, colour in zip(axes.flat, [$a, $b, $c, $a]):\n"
    "    ax.plot([1, 2], [2, 1], color=colour)\n"
    "axes[0, 0].set_title('$title')\naxes[1, 1].set_xlabel('$name')\n"
    "axes[0, 1].text(1, 1, '$label')\n",
    "grid": _FIGURE + "from matplotlib.gridspec import GridSpec\nfig = plt.figure(figsize=(5, 4))\n"
    "gs = GridSpec(2, 3, figure=fig)\nfirst = fig.add_subplot(gs[0, :])\n"
    "second = fig.add_subplot(gs[1, :2])\nfirst.plot([1, 2], color=$a)\n"
    "second.bar([1, 2], [2, 1], color=$b)\nfirst.set_title('$title')\n"
    "second.set_xlabel('$name')\nsecond.set_ylabel('$label')\n",
    "CB": _AXES + "ax.bar([1, 2, 3], [3, 1, 2], color=$a, label='$label')\ntwin = ax.twinx()\n"
    "twin.plot([1, 2, 3], [1, 2, 4], color=$b)\ntwin.set_ylabel('share')\nax.legend()\n" + _TEXTS,
    "spans": _AXES + "ax.axhspan(1, 2, color=$a)\nax.axvspan(0, 1, facecolor=$b)\n"
    "ax.vlines([1, 2], 0, 3, colors=$c, label='$label')\nax.legend()\n" + _TEXTS,
    "graph": _FIGURE + "import networkx as nx\nfig, ax = plt.subplots(figsize=(4, 3))\n"
    "g = nx.Graph([('a', 'b'), ('b', 'c')])\npos = {'a': (0, 0), 'b': (1, 1), 'c': (2, 0)}\n"
    "nx.draw_networkx_nodes(g, pos, ax=ax, node_color=$a)\n"
    "nx.draw_networkx_edges(g, pos, ax=ax, edge_color=$b)\n"
    "nx.draw_networkx_labels(g, pos, ax=ax)\nax.set_title('$title')\nax.text(0, 1, '$label')\n",
    "shapes": _AXES + "from matplotlib.patches import Circle, Ellipse\n"
    "ax.add_patch(Circle((1, 1), 0.5, facecolor=$a))\n"
    "ax.add_patch(Ellipse((2, 1), 1, 0.5, facecolor=$b))\nax.set_xlim(0, 4)\nax.set_ylim(0, 3)\n"
    "ax.text(1, 1, '$label')\n" + _TEXTS,
    "gantt": _AXES + "ax.broken_barh([(0, 2), (3, 1)], (0, 1), facecolors=$a)\n"
    "ax.broken_barh([(1, 2)], (2, 1), facecolors=$b)\nax.text(1, 1, '$label')\n" + _TEXTS,
    "mesh": _AXES + "ax.pcolor(np.arange(6).reshape(2, 3), cmap='cividis')\n"
    "ax.tripcolor([0, 1, 2], [0, 1, 0], [1, 2, 3], cmap='magma')\nax.text(1, 1, '$label')\n" + _TEXTS,
    "stack": _AXES + "ax.stackplot([1, 2, 3], [1, 2, 1], [2, 1, 2], colors=[$a, $b], "
    "labels=['$label', 'south'])\nax.legend()\n" + _TEXTS,
    "steps": _AXES + "ax.hist([1, 2, 2, 3], bins=3, histtype='step', edgecolor=$a)\n"
    "ax.step([1, 2, 3], [1, 2, 1], color=$b, label='$label')\nax.legend()\n" + _TEXTS,
    "many": _AXES + "for n in range(6):\n    ax.plot([0, 1], [n, n + 1], color=plt.cm.tab10(n))\n"
    "ax.plot([0, 1], [9, 9], color=$a, label='$label')\nax.legend()\n" + _TEXTS,
}
"""Template of a program, by the type of its chart."""


def fenced(program: str) -> str:
    return f"Here is the code.\n\n```python\n{program}```\n"


def drawn(chart: str, **values: str) -> str:
    return Template(CHARTS[chart]).substitute(VALUES | values)


def _saved(program: str) -> str:
    return f"{program}plt.tight_layout()\nplt.savefig('chart.png', dpi=300)\n"


def _first_line_of(program: str, start: str, then: str) -> str:
    """The program with a line behind the first one that begins so."""
    lines = program.splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if start in line)
    return "".join([*lines[: place + 1], then, *lines[place + 1 :]])


Reply = Callable[[str], str]
"""A reply to the chart of this type."""

CHANGED: Mapping[str, Reply] = {
    "the same": lambda chart: fenced(_saved(drawn(chart))),
    "other title": lambda chart: fenced(_saved(drawn(chart, title="Snow in winter"))),
    "other texts": lambda chart: fenced(drawn(chart, title="Snow", label="up", name="Day")),
    "other colours": lambda chart: fenced(drawn(chart, a="'red'", b="'#00FFFF'", c="'purple'")),
    "near colours": lambda chart: fenced(drawn(chart, a="'#2070b0'", b="'orange'", c="'green'")),
    "one colour": lambda chart: fenced(drawn(chart, a="'k'", b="'k'", c="'k'")),
    "swapped colours": lambda chart: fenced(drawn(chart, a=VALUES["b"], b=VALUES["c"], c=VALUES["a"])),
}
"""Replies whose program is that of the chart with other values."""

_SPECIAL: Mapping[str, Reply] = {
    "one more line": lambda chart: fenced(drawn(chart) + "plt.plot([1, 2], [1, 2], color='red')\n"),
    "one more text": lambda chart: fenced(drawn(chart) + "plt.figtext(0.1, 0.1, 'source: me')\n"),
    "twice the title": lambda chart: fenced(drawn(chart) + "plt.suptitle('Rain in spring')\n"),
    "one more axes": lambda chart: fenced(drawn(chart) + "plt.gcf().add_axes([0.7, 0.7, 0.2, 0.2])\n"),
    "a figure behind": lambda chart: fenced(drawn(chart) + "plt.figure()\n"),
    "closed": lambda chart: fenced(drawn(chart) + "plt.close('all')\n"),
    "raises at the end": lambda chart: fenced(drawn(chart) + "raise ValueError('no')\n"),
    "unknown name": lambda chart: fenced(drawn(chart) + "print(unknown)\n"),
    "syntax": lambda chart: fenced(drawn(chart) + "for x in\n"),
    "bad indent": lambda chart: fenced(drawn(chart) + "  x = 1\n"),
    "missing library": lambda chart: fenced("import no_such_library\n" + drawn(chart)),
    "exits": lambda chart: fenced(drawn(chart) + "import sys\nsys.exit(0)\n"),
    "exits before": lambda chart: fenced("exit()\n" + drawn(chart)),
    "shows": lambda chart: fenced(drawn(chart) + "plt.show()\n"),
    "shows, then fails": lambda chart: fenced(drawn(chart) + "plt.show()\nraise ValueError\n"),
    "shows at once": lambda chart: fenced("import matplotlib.pyplot as plt\nplt.show()\n" + drawn(chart)),
    "saves at once": lambda chart: fenced("import matplotlib.pyplot as plt\nplt.savefig('a.png')\n" + drawn(chart)),
    "draws in a function": lambda chart: fenced(
        "def draw():\n"
        + "".join(f"    {line}\n" for line in drawn(chart).splitlines())
        + "    plt.savefig('a.png')\n\ndraw()\n"
    ),
    "draws in main": lambda chart: fenced(
        "if __name__ == '__main__':\n" + "".join(f"    {line}\n" for line in drawn(chart).splitlines())
    ),
    "figure saves": lambda chart: fenced(drawn(chart) + "plt.gcf().savefig('a.png')\n"),
    "no fence": lambda chart: drawn(chart),
    "bare fence": lambda chart: f"```\n{drawn(chart)}```\n",
    "py fence": lambda chart: f"```py\n{drawn(chart)}```\n",
    "Python fence": lambda chart: f"```Python\n{drawn(chart)}```\n",
    "python3 fence": lambda chart: f"```python3\n{drawn(chart)}```\n",
    "open fence": lambda chart: f"```python\n{drawn(chart)}",
    "two fences": lambda chart: fenced(drawn(chart)) + fenced(drawn("pie")),
    "another one first": lambda chart: fenced(drawn("pie")) + fenced(drawn(chart)),
    "fence in a line": lambda chart: "Use ```python import this``` first.\n" + fenced(drawn(chart)),
    "empty fence": lambda chart: "```python```\n",
    "blank fence": lambda chart: "```python\n\n```\n",
    "comment": lambda chart: fenced("# I cannot see the chart.\nimport matplotlib.pyplot as plt\n"),
    "refusal": lambda chart: "I'm sorry, but I can't help with that.",
    "empty": lambda chart: "",
    "words": lambda chart: "The chart shows the rain in spring.",
    "no chart": lambda chart: fenced("import matplotlib.pyplot as plt\nprint(1)\n"),
    "no matplotlib": lambda chart: fenced("print('a chart')\n"),
    "dark style": lambda chart: fenced(
        _first_line_of(drawn(chart), "import numpy", "plt.style.use('dark_background')\n")
    ),
    "large figure": lambda chart: fenced(drawn(chart).replace("(4, 3)", "(12, 9)")),
    "grid": lambda chart: fenced(drawn(chart) + "plt.gca().grid(True)\n"),
    "no axes": lambda chart: fenced(drawn(chart) + "plt.gca().axis('off')\n"),
    "colours in words": lambda chart: fenced(drawn(chart, a="'tab:blue'", b="'C1'", c="'C2'")),
    "colours as numbers": lambda chart: fenced(
        drawn(chart, a="(0.1, 0.5, 0.7)", b="(1, 0.5, 0, 1)", c="(0.2, 0.6, 0.2)")
    ),
    "greys": lambda chart: fenced(drawn(chart, a="'0.2'", b="'0.5'", c="'0.8'")),
    "see-through": lambda chart: fenced(drawn(chart, a="'#1f77b480'", b="'#ff8c0080'")),
    "math": lambda chart: fenced(drawn(chart, title="$$\\alpha$$ and rain")),
    "Chinese": lambda chart: fenced(drawn(chart, title="chun 春雨")),
    "longer title": lambda chart: fenced(drawn(chart, title="Rain in spring\\nby month")),
    "spaces": lambda chart: fenced(drawn(chart, title=" Rain in spring ")),
    "capitals": lambda chart: fenced(drawn(chart, title="RAIN IN SPRING", label="North")),
    "imports a name": lambda chart: fenced("from matplotlib import pyplot as plt\n" + drawn(chart)),
    "seaborn style": lambda chart: fenced(
        _first_line_of(drawn(chart), "import numpy", "plt.rcParams['axes.grid'] = True\n")
    ),
    "a warning": lambda chart: fenced("import warnings\nwarnings.warn('old')\n" + drawn(chart)),
    "prints": lambda chart: fenced("print('x' * 100000)\n" + drawn(chart)),
    "catches an error": lambda chart: fenced(drawn(chart) + "try:\n    1 / 0\nexcept ZeroDivisionError:\n    pass\n"),
    "tight": lambda chart: fenced(drawn(chart) + "plt.tight_layout()\n"),
    "constrained": lambda chart: fenced(
        _first_line_of(drawn(chart), "import numpy", "plt.rcParams['figure.constrained_layout.use'] = True\n")
    ),
    "annotates": lambda chart: fenced(drawn(chart) + "for n in range(3):\n    plt.figtext(n / 5, 0.1, str(n))\n"),
    "a legend of its own": lambda chart: fenced(drawn(chart) + "plt.gcf().legend(['one', 'two'], loc='upper right')\n"),
    "a histogram beside": lambda chart: fenced(
        drawn(chart) + "side = plt.gcf().add_axes([0.8, 0.8, 0.1, 0.1])\nside.hist([1, 2, 2])\n"
    ),
    "polar beside": lambda chart: fenced(
        drawn(chart) + "plt.gcf().add_subplot(3, 3, 1, polar=True).plot([1, 2], [1, 2])\n"
    ),
    "recoloured": lambda chart: fenced(
        drawn(chart) + "for line in plt.gca().get_lines():\n    line.set_color('red')\n"
    ),
    "emptied": lambda chart: fenced(drawn(chart) + "plt.gca().cla()\n"),
    "doubled": lambda chart: fenced(drawn(chart) * 2),
    "thinking": lambda chart: f"<think>{fenced(drawn('pie'))}</think>{fenced(drawn(chart))}",
    "double escapes": lambda chart: fenced(drawn(chart, title="Rain\\\\nby month")),
}
"""Replies that are special for another reason than their values; each is made of a few charts."""

_OTHER_CHARTS = 8


def replies() -> Iterator[tuple[str, str, str]]:
    """Type of the chart, style and reply."""
    names = tuple(CHARTS)
    for chart in names:
        for style, reply in CHANGED.items():
            yield chart, f"{chart}: {style}", reply(chart)
    for number, (style, reply) in enumerate(_SPECIAL.items()):
        for chart in ("line", names[(3 * number + 1) % len(names)]):
            yield chart, style, reply(chart)
    for number, chart in enumerate(names):
        other = names[(number + _OTHER_CHARTS) % len(names)]
        yield chart, "another chart", fenced(drawn(other))

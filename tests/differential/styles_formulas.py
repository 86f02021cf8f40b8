r"""Formulas, and the ways in which models write them: spelled otherwise, with faults, cut, or broken."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple


class FormulaPair(NamedTuple):
    """A gold formula and what stands in a reply in its place."""

    id: str
    style: str
    gold: str
    reply: str


GOLDS = (
    r"E = m c^{2}",
    r"\frac{a+b}{2} \geq \sqrt{a b}",
    r"\sum_{k=1}^{n} k = \frac{n(n+1)}{2}",
    r"\mathbf{x}_{t+1} = A \mathbf{x}_{t} + \epsilon_{t}",
    r"h(t) = h_{0} + \int_{0}^{t} v(s)\, ds",
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix} \begin{pmatrix} x \\ y \end{pmatrix} = 0",
    r"\left( \frac{x}{y} \right)^{2} + \left[ \frac{u}{v} \right] = 1",
    r"f(x) = \begin{cases} x^{2} & x > 0 \\ -x & \text{otherwise} \end{cases}",
    r"\begin{aligned} a &= b + c \\ &= d - e \end{aligned}",
    r"\hat{\theta} = \bar{x} + \tilde{y} + \vec{v} + \dot{q} + \ddot{r}",
    r"\lim_{x \to 0} \frac{\sin x}{x} = 1",
    r"A \subset B \cup C \cap D \setminus \emptyset",
    r"\forall x \in \mathbb{R} \, \exists y \neq x",
    r"\binom{n}{k} = \frac{n!}{k!(n-k)!}",
    r"\sqrt[3]{x^{3} + y^{3}} \le x + y",
    r"A \xrightarrow{f} B \xleftarrow{g} C",
    r"\overline{z w} = \overline{z} \, \overline{w}",
    r"\underbrace{a + b + c}_{n} = \overbrace{d}^{m}",
    r"\nabla \times \mathbf{E} = - \frac{\partial \mathbf{B}}{\partial t}",
    r"\oint_{C} P \, dx + Q \, dy = \iint_{D} \left( \frac{\partial Q}{\partial x} - \frac{\partial "
    r"P}{\partial y} \right) dA",
    r"\prod_{i=1}^{N} \left( 1 + \frac{1}{i} \right) = N + 1",
    r"p(y \mid x) = \frac{\exp(w_{y}^{\top} x)}{\sum_{j} \exp(w_{j}^{\top} x)}",
    r"\| u \|_{2} \leq \| u \|_{1} \leq \sqrt{n} \| u \|_{2}",
    r"\alpha \beta \gamma \delta \varepsilon \zeta \eta \vartheta \iota \kappa \lambda \mu",
    r"\Gamma \Delta \Theta \Lambda \Xi \Pi \Sigma \Upsilon \Phi \Psi \Omega",
    r"x_{1}, x_{2}, \ldots, x_{n} \in \{0, 1\}",
    r"a_{i_{j}}^{k^{2}} = b^{\prime}",
    r"f'(x) = g''(x) + h^{\prime\prime\prime}",
    r"\det \begin{vmatrix} 1 & 0 & 2 \\ 0 & 3 & 0 \\ 4 & 0 & 5 \end{vmatrix} = -9",
    r"\mathcal{L}(\theta) = - \frac{1}{N} \sum_{i=1}^{N} \log p_{\theta}(x_{i})",
    r"\mathrm{Var}(X) = \mathbb{E}[X^{2}] - \mathbb{E}[X]^{2}",
    r"\operatorname{softmax}(z)_{i} = \frac{e^{z_{i}}}{\sum_{j} e^{z_{j}}}",
    r"\text{cost} = \text{price} \times \text{amount} + 5",
    r"\lfloor x \rfloor \le x < \lfloor x \rfloor + 1",
    r"\langle \psi | H | \psi \rangle = E_{0}",
    r"\frac{\frac{a}{b}}{\frac{c}{d}} = \frac{a d}{b c}",
    r"1 + \frac{1}{1 + \frac{1}{1 + \frac{1}{x}}}",
    r"\int_{-\infty}^{\infty} e^{-x^{2}} dx = \sqrt{\pi}",
    r"x = \frac{-b \pm \sqrt{b^{2} - 4 a c}}{2 a}",
    r"\cos^{2} \theta + \sin^{2} \theta = 1",
    r"\mathrm{H}_{2} \mathrm{SO}_{4} + 2 \mathrm{NaOH} \rightarrow \mathrm{Na}_{2} \mathrm{SO}_{4} + 2 "
    r"\mathrm{H}_{2} \mathrm{O}",
    r"R_{\mu\nu} - \frac{1}{2} R g_{\mu\nu} + \Lambda g_{\mu\nu} = \frac{8 \pi G}{c^{4}} T_{\mu\nu}",
    r"\left\{ \begin{array}{ll} x + y = 1 \\ x - y = 3 \end{array} \right.",
    r"\begin{bmatrix} 1 & 2 & 3 \\ 4 & 5 & 6 \end{bmatrix}^{T}",
    r"A = \left[ \begin{array}{ccc} a_{11} & \cdots & a_{1n} \\ \vdots & \ddots & \vdots \\ a_{m1} & "
    r"\cdots & a_{mn} \end{array} \right]",
    r"\stackrel{\mathrm{def}}{=} \overset{!}{=} \underset{x}{\min}",
    r"\max_{x \in X} \min_{y \in Y} f(x, y)",
    r"\arg\max_{\theta} \prod_{i} p(x_{i} ; \theta)",
    r"a \equiv b \pmod{n}",
    r"\frac{d}{dx} \left( \int_{a}^{x} f(u) \, du \right) = f(x)",
    r"\begin{aligned} \dot{x} &= \sigma (y - x) \\ \dot{y} &= x (\rho - z) - y \\ \dot{z} &= x y - \beta "
    r"z \end{aligned}",
    r"S = \{ x \mid x > 0 , x \notin \mathbb{Q} \}",
    r"\big( a + \Big( b + \bigg( c + d \bigg) \Big) \big)",
    r"\widehat{A B C} \sim \widetilde{D E F}",
    r"x \mapsto x^{2}, \quad x \Rightarrow y \Leftrightarrow z",
    r"100 \% \text{ of } 20 \$",
    r"\text{速度} = \frac{\text{距离}}{\text{时间}}",
    r"S_{\text{总}} = S_{1} + S_{2}",
    r"y = x + 当 x > 0",
    r"a_{0} + a_{1} x + a_{2} x^{2} + a_{3} x^{3} + a_{4} x^{4} + a_{5} x^{5} + a_{6} x^{6} + a_{7} x^{7} "
    r"+ a_{8} x^{8} + a_{9} x^{9} + a_{10} x^{10} + a_{11} x^{11} = 0",
    r"\boldsymbol{\mu} = \Sigma^{-1} \boldsymbol{b} \otimes \mathbf{1}",
    r"\sigma(z) = \frac{1}{1+e^{-z}} \approx \tfrac{1}{2} + \dfrac{z}{4}",
    r"T(n) = 2 T(n/2) + \mathcal{O}(n \log n)",
    r"\ln(x y) = \ln x + \ln y, \; x, y > 0",
)

Writer = Callable[[str], str]


def _swap_scripts(text: str) -> str:
    return text.translate(str.maketrans("_^", "^_"))


def _first(pattern: str, new: str) -> Writer:
    return lambda text: re.sub(pattern, new, text, count=1)


def _every(*pairs: tuple[str, str]) -> Writer:
    def write(text: str) -> str:
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    return write


def _other_letter(text: str) -> str:
    """The first letter that is no part of a command, an environment's name or a word, by the next one."""
    for match in re.finditer(r"\\[A-Za-z]+(?:\{[a-z]+\*?\})?|[A-Za-z]", text):
        if not match[0].startswith("\\"):
            return f"{text[: match.start()]}{'w' if match[0] != 'w' else 'v'}{text[match.end() :]}"
    return f"w{text}"


def _short_scripts(text: str) -> str:
    return re.sub(r"([_^])\{([A-Za-z0-9])\}(?![A-Za-z0-9])", r"\1\2", text)


_SPELLED = _every(
    (r"\leq", r"\le"), (r"\geq", r"\ge"), (r"\neq", r"\ne"), (r"\rightarrow", r"\to"), (r"\mathrm", r"\text"),
    (r"\ldots", r"\dots"), (r"\|", r"\Vert"), (r"\mid", "|"), (r"\prime", "'"), (r"\top", "T"), (r"\{", r"\lbrace "),
    (r"\}", r"\rbrace "), (r"\dfrac", r"\frac"), (r"\tfrac", r"\frac"),
)  # fmt: skip
WRITERS: dict[str, Writer] = {
    "same": str,
    "without blanks": lambda text: re.sub(r"(?<![A-Za-z]) | (?![A-Za-z])", "", text),
    "short scripts": _short_scripts,
    "other spellings": _SPELLED,
    "plain brackets": _every((r"\left", ""), (r"\right.", ""), (r"\right", "")),
    "sized brackets": lambda text: text if "\\" in text and ("left" in text or "big" in text) else _every(
        ("(", r"\left("), (")", r"\right)")
    )(text),
    "in dollars": lambda text: f"$${text}$$",
    "display style": lambda text: rf"\displaystyle {text}",
    "in aligned": lambda text: rf"\begin{{aligned}} {text} \end{{aligned}}",
    "in array": lambda text: rf"\begin{{array}}{{c}} {text} \end{{array}}",
    "in align*": lambda text: rf"\begin{{align*}} {text} \end{{align*}}",
    "in split": lambda text: rf"\begin{{split}} {text} \end{{split}}",
    "in gather": lambda text: rf"\begin{{gather*}} {text} \end{{gather*}}",
    "in equation": lambda text: rf"\begin{{equation}} {text} \end{{equation}}",
    "with tag": lambda text: rf"{text} \tag{{3}}",
    "with label": lambda text: rf"{text} \label{{eq:3}}",
    "with number": lambda text: rf"{text} \qquad (3)",
    "in lines": lambda text: text.replace(" = ", " = \n"),
    "two rows": lambda text: text.replace(" = ", r" \\ = ", 1),
    "wide blanks": lambda text: text.replace(" ", r" \; "),
    "other letter": _other_letter,
    "other digit": _first(r"[0-9]", "7"),
    "other sign": _first(r" = ", " + "),
    "scripts swapped": _swap_scripts,
    "scripts on the line": lambda text: re.sub(r"[_^]", " ", text),
    "bold": lambda text: re.sub(r"(?<![\\A-Za-z{])([A-Za-z])(?![A-Za-z])", r"\\mathbf{\1}", text),
    "fractions turned": lambda text: re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\\frac{\2}{\1}", text),
    "fractions on the line": lambda text: re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", text),
    "roots lost": _every((r"\sqrt", "")),
    "round matrices": _every(("bmatrix", "pmatrix"), ("vmatrix", "pmatrix"), ("cases", "matrix")),
    "rows lost": lambda text: re.sub(r" \\\\.*?(?= \\end)", "", text),
    "sides swapped": lambda text: " = ".join(reversed(text.split(" = "))) if r"\begin" not in text else text,
    "a term more": lambda text: rf"{text} + z_{{1}}",
    "half": lambda text: text[: len(text) // 2],
    "most": lambda text: text[: len(text) * 4 // 5],
    "second half": lambda text: text[len(text) // 2 :],
    "twice": lambda text: f"{text} {text}",
    "open brace": lambda text: f"{text} {{",
    "closing brace": lambda text: f"{text} }}",
    "unknown command": lambda text: rf"\foo {text}",
    "wrong environment": lambda text: rf"\begin{{foo}} {text} \end{{foo}}",
    "left alone": lambda text: rf"\left( {text}",
    "two exponents": lambda text: rf"{text} + x^{{2}}^{{3}}",
    "in text": lambda text: rf"\text{{{re.sub(r'[^A-Za-z0-9 =+]', '', text)}}}",
    "words": lambda text: "The equation cannot be read from this picture",
    "empty": lambda text: "",
    "blank": lambda text: "  ",
    "braces alone": lambda text: "{}",
    "boxed": lambda text: rf"\boxed{{{text}}}",
    "comment": lambda text: f"{text} % as in the paper",
    "nonumber": lambda text: rf"{text} \nonumber",
    "letters doubled": lambda text: re.sub(r"(?<![\\A-Za-z{])([a-z])(?![A-Za-z])", r"\1 \1", text),
    "unicode": _every((r"\alpha", "α"), (r"\leq", "≤"), (r"\times", "×"), (r"\infty", "∞"), (r"\pi", "π")),
    "limits": _every((r"\sum", r"\sum\limits"), (r"\prod", r"\prod\limits"), (r"\int", r"\int\limits")),
}  # fmt: skip
_A_GOLD = 8


def formula_pairs() -> Iterator[FormulaPair]:
    """Every gold formula as it is, and in some of the ways that change it, those first that were used least."""
    used = Counter[str]()
    for number, gold in enumerate(GOLDS):
        written = {gold: "same"}
        if number % 4 == 0:
            written[GOLDS[(number + 5) % len(GOLDS)]] = "other formula"
        for style in sorted(WRITERS, key=lambda name: used[name]):
            reply = WRITERS[style](gold)
            if len(written) < _A_GOLD and reply not in written:
                written[reply] = style
                used[style] += 1
        for place, (reply, style) in enumerate(written.items()):
            yield FormulaPair(f"{number}-{place}", style, gold, reply)

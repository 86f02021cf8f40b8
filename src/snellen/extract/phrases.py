"""Phrases that announce an answer, deny it or refuse one: data for the parsing rules.

Every value is a fragment of a regular expression, in lower case, matched ignoring case.
"""

from __future__ import annotations

ANSWER_NOUNS = "|".join(
    (
        # English
        r"answers?|ans(?=[.:])\.?",
        *(
            rf"{word} (?:answer |multiple )?(?:option|choice|response|letter|label)"
            for word in ("correct", "right", "best", "final")
        ),
        *(
            rf"{noun}(?= (?:that )?(?:i|is|would|should|must|best|most|correctly)\b)"
            for noun in ("option", "choice", "letter")
        ),
        *(rf"{noun}(?=\s*(?:is|:))" for noun in ("options?", "choice")),
        r"correct (?:one|statement|match|selection|solution|image|picture|point)",
        # other languages of the multilingual benchmarks
        r"r[ée]ponses?",  # French
        r"antwort|l[öo]sung|antwoord",  # German, Dutch
        r"respuesta(?: correcta| final)?|opci[óo]n correcta",  # Spanish
        r"resposta(?: correta| final)?|op[çc][ãa]o correta|alternativa correta",  # Portuguese
        r"risposta|opzione corretta",  # Italian
        r"ответ|правильный вариант",  # Russian
        r"cevap|yan[ıi]t|do[ğg]ru se[çc]enek",  # Turkish
        r"الإجابة|الجواب|الخيار الصحيح",  # Arabic
        r"đáp án|câu trả lời",  # Vietnamese
        r"jawaban(?:nya)?",  # Indonesian
        r"odpowied[źz]",  # Polish
        r"उत्तर",  # Hindi
        r"答案|正确的?选项|正解|答え|解答|答(?=:)|정답|답(?=[은:])",  # Chinese, Japanese, Korean
    )
)
"""Nouns after which a reply states what it chooses: "the answer ...". Each begins with a letter, not with a
group: only then does `re` look past what begins with none of these letters, four times as fast."""

OPTION_NOUNS = r"option|choice|caption|sentence|statement|description"
"""Nouns that a benchmark or a reply puts before a label: "Option B"."""

CHOICE_VERBS_CJK = r"(?:应该?|故|因此|所以|我)选择?|选择(?!题)"
"""Chinese verbs that state a choice at once: 故选B."""

STATING_VERBS = (
    r"is|are|was|would be|should be|must be|has to be|will be|might be|may be|could be|seems to be"
    r"|appears to be|becomes|est|serait|ist|lautet|w[äa]re|es|ser[íi]a|é|seria|è|sarebbe|это"
    r"|هي|هو|là|adalah|jest|है"
)
"""Verbs between the noun and what is chosen."""

STATING_VERBS_CJK = r"应该是|应该为|应该选|应为|应是|应选|只能是|就是|是|为|選|选|は|은|는"

FILLERS = (
    r"for sure|most likely|very likely|most probably|likely|probably|definitely|certainly|clearly"
    r"|obviously|therefore|thus|hence|indeed|actually|simply|just|only|still|then|in fact|that"
    r"|the|an?(?= (?:option|choice|letter)\b)|correct|right|best|final|option|choice|letter|label"
    r"|answer|labell?ed|number|statement|as follows|following|given by|either|is|it is|it's"
    r"|la|le|die|der|das|el|option|opci[óo]n|letra|lettre|buchstabe|opzione"
    r"|op[çc][ãa]o|alternativa|вариант|буква|se[çc]ene[kğ]i?|şıkkı|الخيار"
)
"""Words that may stand between the verb and what is chosen."""

FILLERS_CJK = r"选项|選項|选择"

CHOSEN_KOREAN = (
    r"(?:입니다|이다|이에요|예요)"
    r"|[이가]\s?(?:가장\s?)?(?:정답|답(?:입|이)|맞[는습다]|옳|올바|적[절합])"
    r"|[을를]\s?선택(?!하는)"
)
"""Follow a label in Korean that is the answer: "D입니다", "B가 정답입니다"."""

CORRECT_PHRASES = "|".join(
    (
        r"(?:is|are|was|seems?(?: to be)?|appears?(?: to be)?|looks?"
        r"|(?:would|must|should|has to) be)"
        r"(?: (?:the|clearly|definitely|most likely|probably|likely|therefore|thus|most|more|also|"
        r"actually|indeed|only|a))*"
        r" (?:correct|right|best|true|accurate|appropriate|answer|suitable|plausible|valid one)\b",
        r"(?:选项)?(?:才)?是?(?:最)?(?:正确|对的|合适)",
        r"est (?:la )?(?:bonne |correcte?|juste)|ist (?:die )?(?:richtig|korrekt)",
        rf"{CHOSEN_KOREAN}|を選[ぶび択]|が(?:最も)?(?:正しい|正解|適切)",
        r"es (?:la )?(?:respuesta )?correct[ao]|é (?:a )?(?:resposta )?(?:corret[ao]|cert[ao])",
    )
)
"""Follow a label that is called the right one: "B is correct"."""

CHOICE_PHRASES = (
    r"choose|chose|select|pick|opt for|vote for|suggest|choosing|selecting|picking"
    r"|(?:go|going|went) with"
    r"|(?:think|believe|guess|feel|conclude|say)"
    r"|(?:it|that|this)(?:'s| is| must be| should be| has to be| would be)"
    r"|(?:corresponds?|leads?|points?|refers?|matches|equivalent|belongs) to (?:the )?"
    r"(?:option|choice)"
)
"""Weaker announcements, used only if no answer is stated."""

CONCLUSION_WORDS = r"therefore|thus|hence|so|finally|in conclusion|overall|所以|因此|综上|故"
"""Words that open a conclusion; a choice after one overrides an earlier choice."""

ITEM_NOUNS = (
    r"options?|choices?|answers?|選択肢|选项|選項|보기|선택지|opci[óo]n|op[çc][ãa]o|alternativa|letra"
    r"|respuesta|resposta|opzione|r[ée]ponse|antwort|вариант|ответ|אפשרות|תשובה|الخيار|विकल्प"
    r"|phương án|đáp án|pilihan|şık|seçenek"
)
"""Nouns before the label of an item in a list of options."""

NE = r"(?-i:[Nn]e)"
NEGATIONS = (
    rf"não|nunca|jamás|non|{NE}|pas|nicht|kein\w*|nie|niet|geen|inte|ikke|не|нет|ні"
    r"|לא|אינ[והםן]|אין|ليس|ليست|لا|غير|لم|không|bukan|tidak|değil|نیست|نہیں"
)
"""Words of other languages than English that deny, also what stands behind them; NE is a place."""

DENIALS = (
    r"un?likely|wrong|incorre\w+|false|excluded|fals[oa]|err[óoôa]ne\w*|errad[oa]|descarta\w*"
    r"|falsch|unwahrscheinlich|improbab\w*|improváv\w*|menos|less|неверн\w*|неправильн\w*|ошибочн\w*"
    r"|שגוי\w*|פחות|נשלל\w*|خاط\w+|sai|salah|yanlış"
)
"""Words behind an option that call it wrong."""

DENIALS_CJK = (
    r"ない|なく|ません|ず|誤|不適|不正|否定|除外|にくい|低い|難しい|不|错|非|排除|没有|无"
    r"|아니|않|틀|없|어렵|낮|ไม่|ผิด|नहीं|गलत"
)

CONDITIONS = (
    r"\b(?:if|si(?= (?:el|la|l[eo]s|las|un|une|una|il|elle|on|hay|fuera)\b)|falls|wenn|если|якщо"
    r"|אם|إذا|nếu|jika|eğer)\b"
    r"|もし|(?<!この)(?<!その)場合|如果|假如|만약|यदि|अगर"
)
"""Words that make what follows in the sentence a condition."""

CHOICE_PHRASES_CJK = r"我认为是?|我觉得是?|应该?是|选"

CORRECTIONS = (
    r"\b(?:wait|actually|correction|instead|rather|on second thoughts?|sorry|no,|oops|hmm|however)"
    r"|不对|等等|更正"
)
"""A choice announced after one of these replaces an earlier one."""

NEGATORS = (
    r"\b(?:not(?! only)|never|neither|nor|cannot|no(?! doubt| question)"
    r"|without(?! (?:a |any )?(?:doubt|question))(?= any\b| (?:\S+ ){0,2}\S*\Z)"
    r"|(?:is|are|was|does|do|did|ca|could|wo|would|should)n'?t"
    r"|rather than|instead of|unlike|except|excluding?|eliminat(?:e[sd]?|ing)|rul(?:ed?|ing) out"
    rf"|wrong|incorrect|false|whether|if|unless|suppose|{NEGATIONS})\b"
    r"|不是|不选|并非|没有|不会|不对|错误|如果|是否"
)
"""Words that negate, or make conditional, what follows in the same clause."""

DENIAL_PHRASES = (
    r"\s{0,6}(?:(?:is|are|was|were|would be|can be|could be|seems|does|do|did|can|has)\s{0,6}"
    r"(?:(?:clearly|also|definitely|obviously|therefore)\s+)?"
    r"(?:not\b|n'?t\b|wrong|incorrect|false|unlikely|excluded|ruled out|eliminated|never)"
    r"|(?:cannot|isn'?t|wasn'?t|doesn'?t|can'?t|aren'?t)\b"
    r"|(?:选项|项)?(?:的?(?:说法|表述))?是?(?:不正确|不对|不是(?:正确|答案|对)|错误?)"
    r"|(?:では|じゃ)(?:な|あり)|[이가은는도]? ?(?:정답[이은]? ?)?(?:아니|아닙|틀)|नहीं|değil|ไม่|ليس)"
)
"""Follow a label or a content that is denied: "B is wrong"."""

NONE_FITS = (
    r"\b(?:none of (?:the|these|those)\b(?: (?:above|options?|choices?|answers?|given|provided|listed"
    r"|images?))*|no (?:correct|right|valid|suitable|matching) (?:answer|option|choice)\b"
    r"|neither of (?:the|these) (?:options|choices|answers)\b)"
    r"|以上(?:选项|答案)?(?:都|皆|均)?(?:不|没有|错)|(?:都|均|皆)不(?:是|对|正确)|没有(?:一个)?正确(?:的)?(?:选项|答案)"
)
"""A positive statement that no option fits."""

REFUSALS = (
    r"\b(?:i(?:'m| am)? ?(?:sorry|afraid|apologi[sz]e)\b|sorry, (?:but )?i|my apologies"
    r"|i(?:'m| am) (?:unable|not able) to\b"
    r"|i (?:can ?not|can'?t|won'?t|will not|am unable to|do not|don'?t) (?:assist|help|answer|"
    r"provide|process|identify|determine|tell|see|view|comply|access|have access|discuss|know|"
    r"make|give|analy[sz]e)\b"
    r"|(?:can ?not|can'?t|impossible to|not possible to|unable to|difficult to|could not be|"
    r"cannot be) (?:be )?(?:determined?|tell|say|answer(?:ed)?|identify|infer|know)\b"
    r"|as an? (?:ai|artificial|language model|large language)\b"
    r"|not enough information\b|insufficient information\b|without the image\b)"
    r"|(?:对不起|抱歉|很遗憾)|无法(?:回答|确定|判断|提供|识别|看到|查看|得知)|不能(?:回答|确定|判断|提供)"
    r"|不知道|作为(?:一个)?(?:ai|人工智能|语言模型)"
)
"""A reply that declines to answer or says that it cannot."""

NONE_FITS_STEMS = ("none of ", "no ", "neither of ")
REFUSAL_STEMS = (
    *("sorry", "afraid", "apolog", "unable", "not ", "n't", "cant", "wont", "dont", "imposs"),
    *("difficult to", "as a", "insufficient", "without the"),
)
"""In ASCII text, any match of `NONE_FITS` and `REFUSALS` contains one of these: a cheaper test."""

API_FAILURE = "Failed to obtain answer via API"
"""A failure message that another tool stores in place of a reply: no answer must be parsed from
it."""

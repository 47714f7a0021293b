"""What an answer to a worker's question means: a label, its number, several of them, or words of one's own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from devclaw_py.errors import InvalidArguments
from devclaw_py.model.question import Asked, Part, QuestionKind

ALLOW, DENY = "allow", "deny"
MOST_CHARS = 4000
# Between the choices of one answer; a label may hold a comma itself.
BETWEEN = re.compile(r"[,;\n]")
BLANK = ("C", "Z")


def resolved(asked: Asked, answers: Sequence[str]) -> tuple[str, ...]:
    """Return what is answered to each part, options by their labels.

    Raises:
        InvalidArguments: there is not one answer for each part, or one is blank, too long or no option.
    """
    if len(answers) != len(asked.parts):
        parts = "; ".join(f"{number}. {part.text}" for number, part in enumerate(asked.parts, 1))
        raise InvalidArguments(
            f"{len(asked.parts)} answers are needed, in this order, and {len(answers)} came: {parts}",
            hint="answers takes one for each part; answer is for a question of one part",
        )
    return tuple(_one(part, text) for part, text in zip(asked.parts, answers, strict=True))


def check_message(asked: Asked, answers: Sequence[str], message: str) -> None:
    """Refuse words that could not be delivered: an agent reads them with a denial only.

    Raises:
        InvalidArguments: see above.
    """
    if message and (asked.kind is not QuestionKind.PERMISSION or tuple(answers) != (DENY,)):
        raise InvalidArguments(
            "message goes with the answer deny to a permission, and with nothing else",
            hint="session_send tells a worker something in between",
        )
    if len(message) > MOST_CHARS:
        raise InvalidArguments(f"message has {len(message)} characters; at most {MOST_CHARS} are taken")


def _one(part: Part, text: str) -> str:
    words = text.strip()
    if all(unicodedata.category(char).startswith(BLANK) for char in words):
        raise InvalidArguments(f"the answer to {part.text[:100]!r} is blank, which is no answer", hint=_offered(part))
    if len(words) > MOST_CHARS:
        raise InvalidArguments(f"an answer has {len(words)} characters; at most {MOST_CHARS} are taken")
    if (label := _option(part, words)) is not None:
        return label
    if part.several and (labels := _options(part, words)):
        return ", ".join(labels)
    numbers = all(piece.strip().isdecimal() for piece in BETWEEN.split(words))
    if part.free and not (numbers and part.options):
        return words
    raise InvalidArguments(f"{words[:100]!r} is no option of {part.text[:100]!r}", hint=_offered(part))


def _option(part: Part, words: str) -> str | None:
    wanted = _plain(words)
    for option in part.options:
        if _plain(option.label) == wanted:
            return option.label
    if wanted.isdecimal() and len(wanted) < 4 and 0 < int(wanted) <= len(part.options):
        return part.options[int(wanted) - 1].label
    return None


def _options(part: Part, words: str) -> list[str]:
    """Return the labels that ``words`` lists, each once; none when a part of it is no option."""
    pieces, found = BETWEEN.split(words), []
    longest = 1 + max((len(BETWEEN.findall(option.label)) for option in part.options), default=0)
    while pieces:
        for count in range(min(longest, len(pieces)), 0, -1):
            label = _option(part, ",".join(pieces[:count]))
            if label is not None:
                break
        else:
            return []
        del pieces[:count]
        found.append(label)
    return list(dict.fromkeys(found))


def _plain(text: str) -> str:
    return " ".join(BETWEEN.sub(",", unicodedata.normalize("NFC", text)).split()).casefold()


def _offered(part: Part) -> str:
    offered = ", ".join(f"{number}. {option.label}" for number, option in enumerate(part.options, 1))
    return f"answer with {offered or 'words'}{', or with words of your own' if part.free and offered else ''}"

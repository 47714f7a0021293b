"""Who gets a task: the tier that was asked for, the one on the issue's label, or a guess from its words.

The guess is a fallback for a caller that gives no tier. A wrong guess upwards costs money, a wrong guess downwards
costs a night, so a word of hard work anywhere beats a word of easy work, and easy work must be in the title.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from devclaw_py.errors import RoleMismatch, UnknownTier
from devclaw_py.model.base import Value
from devclaw_py.model.pipeline import Role, Tier

JUNIOR_WORDS = 100
SENIOR_WORDS = 500
SHOWN_CHARS = 40

COMPLEX = re.compile(
    r"""\b(?:
        (?:re-?)?architect(?:s|ed|ing|ure|ures|ural|urally)?
      | refactor(?:s|ed|ing|ings)?
      | redesign(?:s|ed|ing)?
      | system[-\ ]wide
      | migrat(?:e|es|ed|ing|ion|ions)
      | (?:database|db)\ schemas?
      | security
      | performance
      | infrastructure
      | multi-?\ ?services?
    )\b""",
    re.VERBOSE,
)
NEGATED = re.compile(r"\b(?:no|not|without|never|neither|nor)\s+(?:[\w-]+\s+){0,2}$")

# A word of copy or colour is easy work when somebody edits it, and the edited thing ends there: "fix the copy on the
# landing page", not "fix the copy service".
EDIT = (
    r"\b(?:fix(?:es)?|updat(?:e|es|ing)|chang(?:e|es|ing)|edit|tweak|correct|adjust|improve|polish|reword)\s+"
    r"(?:[\w'-]+\s+){0,3}?"
)
END = r"(?=\s*(?:$|[.,;:!?)\]]|(?:on|in|at|for|from|and|to\s+(?:say|read|match))\b(?!\s+paste\b)))"
SIMPLE = re.compile(
    rf"""
      \btypos?\b(?![-\s]+(?:toleran|correct))
    | \b(?:misspell(?:ed|ing|ings)?|misspelt|spelling\ (?:mistakes?|errors?)|wording)\b
    | \bcopy[-\ ]?(?:changes?|edits?|fix(?:es)?|tweaks?|updates?)\b
    | {EDIT}(?:copy|texts?){END}
    | {EDIT}colou?rs?\b(?!\s+(?:blind|space|picker|management|scheme|engine))
    | \bcolou?r\ (?:changes?|tweaks?|fix(?:es)?)\b
    | \bcss\b
    | \b(?:re)?styl(?:e|es|ing)\b(?!\s+(?:guide|engine|system|transfer))
    | \brenam(?:e|es|ing)\b
    | \b(?:minor|small|tiny)\ (?:[\w-]+\ )?(?:changes?|fix(?:es)?|tweaks?|edits?|updates?|corrections?|clean-?ups?)\b
    | ^(?:minor|small|tiny)\s*:
    """,
    re.VERBOSE,
)
# "Support renaming a project" is a feature, "Cannot rename a project" a fault: there the easy word is only the subject.
SUBJECT = re.compile(
    r"\b(?:support(?:s|ing)?|implement(?:s|ing)?|introduc(?:e|es|ing)|allow(?:s|ing)?|integrat(?:e|es|ing)|ability"
    r"|can(?:no|')?t|unable|crash(?:es|ed)?|fails?|failed|failing|race|deadlock)\b"
)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class Choice(Value):
    """The tier of a task, where it came from and why, in words for the audit log."""

    tier: Tier
    source: Literal["given", "label", "heuristic", "role"]
    reason: str


def choose(role: Role, *, given: str | None, labels: Sequence[str], title: str, body: str) -> Choice:
    """Choose who works on a task: what was given, else the issue's tier label, else its words.

    Of several tier labels the highest counts. The role qa has one tier, and labels do not change it.

    Raises:
        UnknownTier: ``given`` is no tier.
        RoleMismatch: ``given`` is a tier of the other role.
    """
    if given is not None:
        return _given(role, given)
    if role is Role.QA:
        return Choice(tier=Tier.QA, source="role", reason="qa has one tier")
    return _labelled(labels) or _guessed(title, body)


def _given(role: Role, word: str) -> Choice:
    tier = next((tier for tier in Tier if tier.value == word.strip().casefold()), None)
    if tier is None:
        raise UnknownTier(f"{word[:SHOWN_CHARS]!r} is no tier; the tiers are {', '.join(Tier)}")
    if tier.role is not role:
        fitting = ", ".join(tier for tier in Tier if tier.role is role)
        raise RoleMismatch(f"tier {tier} belongs to {tier.role} and {role} was asked for; {role} has {fitting}")
    return Choice(tier=tier, source="given", reason=f"{tier} was asked for")


def _labelled(labels: Sequence[str]) -> Choice | None:
    present = {label.strip().casefold() for label in labels}
    tier = next((tier for tier in (Tier.SENIOR, Tier.MEDIOR, Tier.JUNIOR) if tier.value in present), None)
    if tier is None:
        return None
    return Choice(tier=tier, source="label", reason=f"the issue carries the label {tier}")


def _guessed(title: str, body: str) -> Choice:
    heading, text = _plain(title), _plain(f"{title}\n{COMMENT.sub(' ', body)}")
    words = len(text.split())

    if hard := _hard_word(text):
        return _guess(Tier.SENIOR, f'"{hard}" tells of hard work')
    if words > SENIOR_WORDS:
        return _guess(Tier.SENIOR, f"{words} words are more than {SENIOR_WORDS}")
    easy = SIMPLE.search(heading)
    if easy is None or _is_subject(heading, easy):
        return _guess(Tier.MEDIOR, "no word of the issue tells of easy or hard work")
    if words >= JUNIOR_WORDS:
        return _guess(Tier.MEDIOR, f'"{easy[0].strip()}" tells of easy work, but {words} words do not')
    return _guess(Tier.JUNIOR, f'"{easy[0].strip()}" in the title tells of easy work')


def _guess(tier: Tier, reason: str) -> Choice:
    return Choice(tier=tier, source="heuristic", reason=reason)


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())


def _hard_word(text: str) -> str | None:
    found = (match for match in COMPLEX.finditer(text) if not NEGATED.search(text, 0, match.start()))
    return next((match[0] for match in found), None)


def _is_subject(heading: str, easy: re.Match[str]) -> bool:
    return SUBJECT.search(heading) is not None and not easy[0].startswith(("typo", "missp", "spelling", "wording"))

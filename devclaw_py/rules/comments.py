"""What devclaw writes on an issue, and the mark by which it finds that again."""

from __future__ import annotations

from collections.abc import Sequence

from devclaw_py.model.pipeline import Result, Role

AUTHORS = {"dev": "👨‍💻 **DEV**: ", "qa": "🔍 **QA**: ", "orchestrator": "🎛️ **ORCHESTRATOR**: "}


def marker(op: str) -> str:
    """Return the hidden mark of an operation; recovery looks for it before it concludes anything."""
    return f"<!-- devclaw:op={op} -->"


def attributed(body: str, author: str | None) -> str:
    """Return a comment that says who speaks."""
    return f"{AUTHORS[author]}{body}" if author is not None else body


def headline(role: Role, result: Result, attempt: int) -> str:
    """Return who reports what."""
    return f"{AUTHORS[role.value]}{result.value}, attempt {attempt}"


def report_comment(
    *,
    role: Role,
    result: Result,
    attempt: int,
    summary: str,
    reason: str,
    warnings: Sequence[str] = (),
    passed: bool = False,
) -> str:
    """Return what a report leaves on its issue, or an empty text when it has nothing to say.

    ``passed`` is true for a pass that could not be merged and became a fail for ``reason``.
    """
    said = [text for text in ((summary, reason) if passed else (reason or summary,)) if text]
    if not said and not warnings:
        return ""
    head = headline(role, result, attempt)
    if passed:
        head += " (tested and passed, but the work cannot be merged)"
    return "\n\n".join([head, *said, *(f"⚠️ {warning}" for warning in warnings)])

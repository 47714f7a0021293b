"""Announcements as plain text: what a result carries and what the command notifier is given."""

from __future__ import annotations

import re

from devclaw_py.model.announcement import Announcement

LINE_CHARS = 1_000
URL_CHARS = 2_000

# A title could clear a terminal, reorder the line or start another one. The joiner of emoji (U+200D) stays.
HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]")


def plain(announcement: Announcement) -> str:
    """Return the announcement as lines: the text, the task's link, then each note."""
    lines = [one_line(f"{announcement.emoji} {announcement.text}")]
    if announcement.task and announcement.task.url:
        lines.append(f"🔗 {one_line(announcement.task.url, URL_CHARS)}")
    lines.extend(one_line(note) for note in announcement.notes)
    return "\n".join(lines)


def one_line(text: str, limit: int = LINE_CHARS) -> str:
    """Return ``text`` on one line, without control characters, at most ``limit`` characters long."""
    line = " ".join(HIDDEN.sub("", re.sub(r"\s", " ", text)).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"

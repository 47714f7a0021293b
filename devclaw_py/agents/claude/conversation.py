"""Which conversation belongs to a session: its id, followed over ``/clear``, and whether it can be resumed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from devclaw_py.agents import mailbox, tokens
from devclaw_py.agents.claude import events
from devclaw_py.model.base import Value
from devclaw_py.terminals import processes

FILE = "conversation.json"
FORMER = 20


class Conversation(Value):
    """What is kept of a conversation. ``started`` is the session's last start, in seconds since 1970.

    ``former`` are the session's earlier ones; ``anew`` says that devclaw, and no person, began this one after them.
    """

    id: str
    worktree: str
    config: str
    started: float
    transcript: str = ""
    former: tuple[str, ...] = ()
    anew: bool = False

    def fresh(self) -> Conversation:
        """Return the next conversation of the session; the old id is kept."""
        return self.model_copy(
            update={
                "id": str(uuid.uuid4()),
                "transcript": "",
                "former": (*self.former, self.id)[-FORMER:],
                "anew": True,
            }
        )


def load(folder: Path) -> Conversation | None:
    """Return the session's conversation as its newest event has it, or None when there never was one."""
    kept = begun(folder)
    return kept and _followed(kept, folder)


def begun(folder: Path) -> Conversation | None:
    """Return the conversation as the session's last start left it."""
    record = mailbox.read_record(folder / FILE)
    try:
        return Conversation.model_validate(record) if record is not None else None
    except ValidationError:
        return None


def save(folder: Path, conversation: Conversation) -> None:
    """Keep the conversation in the session's folder."""
    mailbox.put(folder / FILE, conversation.model_dump_json(by_alias=True))


def first(worktree: Path, config: Path, *, at: float) -> Conversation:
    """Return a conversation with a new id."""
    return Conversation(id=str(uuid.uuid4()), worktree=str(worktree), config=str(config), started=at)


def can_resume(conversation: Conversation, worktree: Path) -> bool:
    """Say whether Claude Code would know it: it has a transcript, and only in the folder where it was had."""
    return conversation.worktree == str(worktree) and bool(conversation.transcript) and _has_text(conversation)


def drivers(conversation: Conversation, folder: Path) -> list[int]:
    """Return the processes outside this session that have the conversation's id in their arguments.

    Claude Code lets two of them go on with one conversation, and loses what one of them said.
    """
    ours = str(folder / tokens.TOKEN)
    return [
        pid
        for pid in _with_argument(conversation.id)
        if processes.initial_environment(pid).get(tokens.VARIABLE) != ours
    ]


def _followed(kept: Conversation, folder: Path) -> Conversation:
    for event in reversed(events.read(folder, since=kept.started)):
        if event.session_id is None or event.name == "SessionEnd":
            continue
        followed = {"transcript": event.text("transcript_path") or kept.transcript}
        if event.session_id == kept.id:
            return kept.model_copy(update=followed)
        former = (*kept.former, kept.id)[-FORMER:]
        return kept.model_copy(update={**followed, "id": event.session_id, "former": former, "anew": False})
    return kept


def _has_text(conversation: Conversation) -> bool:
    try:
        return Path(conversation.transcript).stat().st_size > 0
    except OSError:
        return False


def _with_argument(word: str) -> Iterator[int]:
    import psutil

    for process in psutil.process_iter(["cmdline"]):
        argv = process.info["cmdline"] or [""]
        # tmux keeps the command line of the client that started its server, with the first session's command in it.
        if word in argv and Path(argv[0]).name != "tmux":
            yield process.pid

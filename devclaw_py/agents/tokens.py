"""Who is calling from a worker's session: by the token that is shown, or by the processes above the call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from devclaw_py.agents.base import Workplace
from devclaw_py.agents.mailbox import put
from devclaw_py.errors import NotAllowed
from devclaw_py.kernel.secrets import new_token, same
from devclaw_py.terminals import processes

TOKEN, PLACE = "token", "place.json"
VARIABLE = "DEVCLAW_TOKEN_FILE"


def give(place: Workplace) -> None:
    """Write a new token into the session's folder, and beside it whose it is."""
    put(place.folder / PLACE, place.model_dump_json(by_alias=True))
    put(place.token_file, new_token())


def revoke(folder: Path) -> None:
    """Take the session's token back."""
    (folder / TOKEN).unlink(missing_ok=True)


def of(folder: Path) -> str | None:
    """Return the session's token, or None when it has none."""
    try:
        return (folder / TOKEN).read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def holder(root: Path, token: str) -> Workplace | None:
    """Return whose token it is; all tokens are compared, each in constant time."""
    found = [folder for folder, known in _tokens(root) if same(known, token)]
    return place_of(found[0]) if found else None


def worker_above(root: Path, pid: int) -> Workplace | None:
    """Return the worker below whose pane process ``pid`` runs, however it changed its own environment since.

    Raises:
        NotAllowed: it runs below a worker of another workspace, or of a session that was stopped.
    """
    for each in processes.parents(pid):
        path = processes.initial_environment(each).get(VARIABLE)
        if path:
            return _worker_with(root, Path(path).parent)
    return None


def _worker_with(root: Path, folder: Path) -> Workplace:
    place = place_of(folder) if folder.parent.resolve() == root.resolve() and of(folder) else None
    if place is None:
        raise NotAllowed(
            f"the call comes from a worker session with the folder {folder}, which is no live session of {root}",
            hint="a worker calls devclaw for the workspace that started it",
        )
    return place


def _tokens(root: Path) -> Iterator[tuple[Path, str]]:
    for file in sorted(root.glob(f"*/{TOKEN}")):
        token = of(file.parent)
        if token:
            yield file.parent, token


def place_of(folder: Path) -> Workplace | None:
    """Return whose session the folder is, or None when that is not known."""
    try:
        return Workplace.model_validate_json((folder / PLACE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None

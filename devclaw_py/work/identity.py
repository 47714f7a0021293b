"""Commits made without a checkout, and in whose name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from devclaw_py.work.repo import Repo

NAME, EMAIL = "DevClaw", "devclaw@localhost"

FALLBACK = {
    "GIT_AUTHOR_NAME": NAME,
    "GIT_AUTHOR_EMAIL": EMAIL,
    "GIT_COMMITTER_NAME": NAME,
    "GIT_COMMITTER_EMAIL": EMAIL,
}


def known(repo: Repo) -> bool:
    """Say whether git knows who commits here; a guess from the machine's name does not count."""
    asked = f"ask who commits in {repo.path}"
    answers = [
        repo.run("-c", "user.useConfigOnly=true", "var", name, asked=asked, codes=(0, 1, 128)).code
        for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT")
    ]
    return not any(answers)


def commit_tree(repo: Repo, tree: str, parents: Sequence[str], message: str, *, at: datetime | None = None) -> str:
    """Make a commit object, dated ``at`` or now; no ref, index or file changes, and no hook runs."""
    named = [argument for parent in parents for argument in ("-p", parent)]
    extra = {} if known(repo) else dict(FALLBACK)
    if at is not None:
        extra |= dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{int(at.timestamp())} +0000")
    done = repo.run(
        "commit-tree", tree, *named, "-F", "-", asked=f"make a commit in {repo.path}", stdin=message, extra=extra
    )
    return done.out.strip()

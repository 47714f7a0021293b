"""Running git: one place that sets its environment, bounds its time and turns its failures into `RepositoryError`."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from devclaw_py.errors import RepositoryError
from devclaw_py.kernel import proc

# A daemon or a detached gc would inherit the project lock and keep it long after the operation. Submodules are left
# alone: what is inside them is another repository's, and cannot be rescued from here.
OPTIONS = (
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "submodule.recurse=false"),
    *("-c", "core.safecrlf=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "advice.detachedHead=false"),
)

# Set by hooks and by people for their own repository; each would send a command to another one.
FOREIGN = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_LITERAL_PATHSPECS",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "LANGUAGE",
    }
)

# No question may wait for a person: there is no terminal, and a graphical prompt would only eat the time limit.
FIXED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}

LOCKED = ".lock': File exists"


class Git:
    """The git program; ``environ`` None means this process's environment at each call."""

    def __init__(self, timeout_s: float, environ: Mapping[str, str] | None = None) -> None:
        self.timeout_s, self._environ = timeout_s, environ

    def run(
        self,
        where: Path,
        *args: str,
        asked: str,
        codes: Collection[int] = (0,),
        stdin: str | None = None,
        extra: Mapping[str, str] | None = None,
        with_locks: bool = True,
    ) -> proc.Done:
        """Run git in a folder; ``asked`` says for messages what was wanted, ``codes`` which exits are answers.

        Raises:
            RepositoryError: git refused; ``retryable`` when it did not answer or found a lock of another git.
        """
        if not where.is_dir():
            raise RepositoryError(f"{asked}: the folder {where} does not exist; nothing was changed")

        env = {**self._environment(where), **(extra or {})}
        try:
            done = self._start(["git", *OPTIONS, *args], where, env=env, stdin=stdin, with_locks=with_locks)
        except proc.NotStarted as error:
            raise later(f"{asked}: {error}; nothing was changed") from error
        except proc.NotAnswered as error:
            raise later(
                f"{asked}: {error}; nothing was removed; try again, or raise [timeouts] git_s if {where} is slow"
            ) from error

        if done.code not in codes:
            raise failed(asked, where, done)
        return done

    def line(self, where: Path, *args: str, asked: str) -> str:
        """Return git's answer of one line."""
        return self.run(where, *args, asked=asked).out.rstrip("\n")

    def _start(
        self, argv: list[str], where: Path, *, env: Mapping[str, str], stdin: str | None, with_locks: bool
    ) -> proc.Done:
        """Start the program: the seam at which tests stop this process between two commands."""
        return proc.run(argv, timeout_s=self.timeout_s, cwd=where, env=env, stdin=stdin, with_locks=with_locks)

    def _environment(self, where: Path) -> dict[str, str]:
        environ = os.environ if self._environ is None else self._environ
        kept = {name: value for name, value in environ.items() if name not in FOREIGN}
        # A folder that has lost its own .git must not be taken for a part of a repository further up.
        return {**kept, **FIXED, "GIT_CEILING_DIRECTORIES": str(where.parent)}


def later(message: str) -> RepositoryError:
    """Return an error that says that the same call may succeed later."""
    error = RepositoryError(message)
    error.retryable = True
    return error


def failed(asked: str, where: Path, done: proc.Done) -> RepositoryError:
    """Return the error for a refusal of git: what was asked, what git said, what to do."""
    said = first_line(done.err) or f"exit {done.code}"
    if LOCKED in done.err:
        return later(f"{asked}: git in {where} said: {said}; wait for the other git, or remove the file if none runs")
    return RepositoryError(f"{asked}: git in {where} said: {said}; nothing was removed; mend that and call again")


def first_line(text: str) -> str:
    """Return the line of git's complaint that matters: the first fatal or error, else the first that is no hint."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("hint:")]
    named = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (named or lines or [""])[0]

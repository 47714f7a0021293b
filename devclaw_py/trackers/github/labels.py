"""The labels of a repository: those devclaw needs are made, and known by their number over renames."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from devclaw_py.errors import TrackerDenied
from devclaw_py.kernel import files
from devclaw_py.model.project import Forge
from devclaw_py.rules.labels import same
from devclaw_py.trackers.forge.budget import Spend
from devclaw_py.trackers.forge.client import segments
from devclaw_py.trackers.forge.poll import MANAGED
from devclaw_py.trackers.github.client import Client
from devclaw_py.trackers.github.refusals import codes_of, message_of
from devclaw_py.trackers.github.shapes import RawLabel

MANAGED_COLOUR = "ededed"
MANAGED_MEANING = "devclaw looks after this issue; the label stays on it"

Numbers = TypeAdapter(dict[str, int])


def labels_of(client: Client, forge: Forge) -> Labels:
    """Return the labels of a project's repository."""
    return Labels(client, segments("repositories", forge.id), client.folder / f"labels-{forge.id}.json")


class Labels:
    """The labels of the repository at ``path``; ``file`` keeps the numbers of those that were ensured."""

    def __init__(self, client: Client, path: str, file: Path) -> None:
        self._client, self._path, self._file = client, f"{path}/labels", file

    def ensure(self, colours: Mapping[str, str]) -> None:
        """Create what is missing of ``colours`` and the label of managed issues. Names are compared casefolded.

        Raises:
            TrackerDenied: GitHub does not make one.
        """
        present = self._present()
        numbers: dict[str, int] = {}
        for name, colour in {**colours, MANAGED: MANAGED_COLOUR}.items():
            found = next((label for label in present if same(label.name, name)), None)
            numbers[name] = (found or self._create(name, colour)).id
        files.private_folder(self._file.parent)
        files.write(self._file, json.dumps(self._numbers() | numbers).encode(), mode=files.PRIVATE)

    def missing(self) -> dict[str, str | None]:
        """Return each label that was ensured and is not there under its name, with its new name if it was renamed."""
        present = self._present()
        names = {label.id: label.name for label in present if label.id}
        return {
            name: names.get(number)
            for name, number in self._numbers().items()
            if not any(same(label.name, name) for label in present)
        }

    def _present(self) -> list[RawLabel]:
        pages = self._client.pages(RawLabel, self._path, "list labels")
        return [label for page in pages for label in page]

    def _create(self, name: str, colour: str) -> RawLabel:
        body = {"name": name, "color": colour.lstrip("#").lower()}
        if name == MANAGED:
            body["description"] = MANAGED_MEANING
        reply = self._client.ask(
            "POST", self._path, f"create the label {name}", spend=Spend.BEGIN, body=body, told=frozenset({422})
        )
        if reply.status != 422:
            return self._client.shaped(RawLabel, reply)
        if "already_exists" not in codes_of(reply):
            raise TrackerDenied(f"{self._client.where} does not make the label {name}: {message_of(reply)}")
        # Another process was quicker; its number is read with the next ensuring.
        return RawLabel(name=name)

    def _numbers(self) -> dict[str, int]:
        try:
            return Numbers.validate_json(files.read(self._file) or b"{}")
        except ValidationError:
            return {}

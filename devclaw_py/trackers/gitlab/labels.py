"""The labels of a project: those devclaw needs are made. A group's label of the name serves as well."""

from __future__ import annotations

from collections.abc import Mapping

from devclaw_py.trackers.forge.budget import Spend
from devclaw_py.trackers.forge.client import ForgeClient
from devclaw_py.trackers.forge.poll import MANAGED
from devclaw_py.trackers.gitlab.shapes import RawLabel

MANAGED_COLOUR = "ededed"
MANAGED_MEANING = "devclaw looks after this issue; the label stays on it"


def ensure(client: ForgeClient, path: str, colours: Mapping[str, str]) -> None:
    """Create what is missing of ``colours`` and the label of managed issues in the project at ``path``.

    GitLab parts ``to do`` from ``To Do``: of a name that is there in other spelling the wished one is made beside it,
    or the first issue that gets it would make it, in a colour of GitLab's choice.
    """
    present = {label.name for label in present_labels(client, path)}
    for name, colour in {**colours, MANAGED: MANAGED_COLOUR}.items():
        if name in present:
            continue
        body = {"name": name, "color": f"#{colour.lstrip('#').lower()}"}
        if name == MANAGED:
            body["description"] = MANAGED_MEANING
        # 409: another process was quicker.
        wish = f"create the label {name}"
        client.ask("POST", f"{path}/labels", wish, spend=Spend.BEGIN, body=body, told=frozenset({409}))


def present_labels(client: ForgeClient, path: str) -> list[RawLabel]:
    """Return all labels that issues of the project can carry."""
    return [label for page in client.pages(RawLabel, f"{path}/labels", "list labels") for label in page]

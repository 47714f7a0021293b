"""The base of every value that crosses a boundary."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Value(BaseModel):
    """An immutable record: snake_case in Python, camelCase outside, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Stored(Value):
    """A record of the journal. Fields of a later version are passed over: a report must not be lost to an update."""

    model_config = ConfigDict(extra="ignore")

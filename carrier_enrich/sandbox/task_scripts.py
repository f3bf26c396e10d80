"""What a single bulk task was told to do wrong; kept with it, so that a restart knows it too."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from carrier_enrich.sandbox.task_files import Sorting

#: What an excluded line can be counted as (spec, Bulk task).
EXCLUSIONS = ("other_country", "invalid", "no_code", "duplicate")


@dataclass(frozen=True, slots=True)
class TaskScript:
    """The faults of one task.

    Attributes:
        fails: it ends as ``failed``, refunded in full.
        never_ends: it stays in ``processing``.
        preparing_polls: so many polls find it finished but still ``preparing``,
        preparing_status: with this status.
        exclude: so many of its numbers are left out and not charged,
        exclude_as: counted as this.
    """

    fails: bool = False
    never_ends: bool = False
    preparing_polls: int = 0
    preparing_status: str = "processing"
    exclude: int = 0
    exclude_as: str = EXCLUSIONS[0]

    def told(self, kind: str, options: Mapping[str, Any]) -> TaskScript:
        """The same with one more fault of a kind that the fault table names."""
        match kind:
            case "task_fails":
                return replace(self, fails=True)
            case "task_never_ends":
                return replace(self, never_ends=True)
            case "preparing":
                polls, status = options["polls"], options["status"]
                return replace(self, preparing_polls=polls, preparing_status=status)
            case _:
                return replace(self, exclude=options["count"], exclude_as=options["as"])

    def as_json(self) -> str:
        """Itself as a text for the store."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> TaskScript:
        """The script that `as_json` wrote."""
        return cls(**json.loads(text))

    def after_exclusion(self, sorting: Sorting) -> Sorting:
        """The lines once the script's numbers are left out, evenly from all over the file."""
        count = min(self.exclude, len(sorting.numbers))
        if not count:
            return sorting
        places = {place * len(sorting.numbers) // count for place in range(count)}
        kept = array("q", (n for place, n in enumerate(sorting.numbers) if place not in places))
        counted = getattr(sorting, self.exclude_as) + count
        return replace(sorting, numbers=kept, **{self.exclude_as: counted})

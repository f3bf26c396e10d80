"""What the answers say, counted over an enriched frame: carriers, number types, regions.

Counts are phone cells: a number that stands in three rows counts three times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from carrier_enrich.model import FIELDS, Lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The fields that are counted, where the frame has them.
COUNTED = tuple(field for field in FIELDS if field != "underlying_carrier")


@dataclass(frozen=True, slots=True)
class Top:
    """The most frequent values of a field, most frequent first.

    Attributes:
        shares: value and cells.
        others: cells of all values that are not among the shares, `other_values` how many those
            values are.
        blank: cells without a value.
    """

    shares: tuple[tuple[str, int], ...]
    others: int
    other_values: int
    blank: int

    @property
    def cells(self) -> int:
        """Cells with a value."""
        return self.others + sum(cells for _, cells in self.shares)


@dataclass(frozen=True, slots=True)
class Breakdown:
    """An enriched frame counted field by field.

    Attributes:
        statuses: cells by `lookup_status`, most frequent first.
        fields: per field of the lookup that the frame has (carrier, number_type, ...), its top.
    """

    statuses: tuple[tuple[str, int], ...]
    fields: Mapping[str, Top]

    def to_dict(self) -> dict[str, Any]:
        """The breakdown as plain values for JSON."""
        return {
            "statuses": dict(self.statuses),
            **{
                name: {
                    "top": dict(top.shares),
                    "others": top.others,
                    "other_values": top.other_values,
                    "blank": top.blank,
                }
                for name, top in self.fields.items()
            },
        }


def breakdown(
    data: Any, phone: str | Sequence[str], *, prefix: str = "", top: int = 8
) -> Breakdown:
    """Count an enriched frame.

    Args:
        data: what `enrich` returned: a pyarrow Table or any frame that narwhals reads eagerly.
        phone: the phone column or columns that were enriched, and
        prefix: the prefix that was given, which name the new columns.
        top: values to keep per field.
    """
    phones = [phone] if isinstance(phone, str) else list(phone)
    heads = [f"{prefix}{name}_" for name in phones] if len(phones) > 1 else [prefix]
    counts = {
        field: _counts(data, [f"{head}{field}" for head in heads])
        for field in ("lookup_status", *COUNTED)
    }
    statuses = tuple((value, n) for value, n in counts["lookup_status"].most_common() if value)
    return Breakdown(
        statuses, {field: _top(counts[field], top) for field in COUNTED if counts[field]}
    )


def counted(
    lookups: Sequence[Lookup],
    cells: Sequence[int],
    columns: Sequence[str] | None = None,
    *,
    top: int = 8,
) -> Breakdown:
    """The same of cells that were counted already: ``cells[i]`` of them have ``lookups[i]``.

    Args:
        columns: the fields that were asked for; those that `enrich` adds unless given.
    """
    counts: dict[str, Counter[str | None]] = {}
    for field in COUNTED if columns is None else columns:
        if field in COUNTED:
            counts[field] = Counter()
            for lookup, times in zip(lookups, cells, strict=True):
                counts[field][getattr(lookup, field) or None] += int(times)
    statuses: Counter[str] = Counter()
    for lookup, times in zip(lookups, cells, strict=True):
        statuses[lookup.status.value] += int(times)
    return Breakdown(
        tuple((status, times) for status, times in statuses.most_common() if times),
        {field: _top(+found, top) for field, found in counts.items() if found.total()},
    )


def _counts(data: Any, names: Sequence[str]) -> Counter[str | None]:
    import narwhals as nw

    frame = nw.from_native(data, eager_only=True)
    counts: Counter[str | None] = Counter()
    for name in names:
        if name in frame.columns:
            for pair in frame[name].to_arrow().value_counts().to_pylist():
                counts[pair["values"]] += pair["counts"]
    return counts


def _top(counts: Counter[str | None], top: int) -> Top:
    blank = counts[None] + counts[""]
    # By size, then by name, so that the same frame always gives the same picture.
    named = sorted(((v, n) for v, n in counts.items() if v), key=lambda pair: (-pair[1], pair[0]))
    # One value left over takes the place of "others", which would be no shorter.
    kept = named if len(named) == top + 1 else named[:top]
    rest = named[len(kept) :]
    return Top(tuple(kept), sum(n for _, n in rest), len(rest), blank)

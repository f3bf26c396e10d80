"""The names of a request: its columns found, its new columns named, before anything is read."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeAlias

from carrier_enrich.errors import BadInput
from carrier_enrich.model import FIELDS
from carrier_enrich.phones import country_code

#: A column's label: text, in pandas also an integer, a tuple, anything hashable.
Label: TypeAlias = Hashable

#: One phone column, or several.
Phone: TypeAlias = Label | Iterable[Label]

#: How many columns an error names before it breaks off.
_SHOWN = 20

#: The columns that are added unless others are asked for; `lookup_status` always comes too.
DEFAULT_COLUMNS = ("carrier", "number_type", "region")
STATUS_COLUMN = "lookup_status"


def check_request(  # noqa: PLR0917 - the arguments of `enrich`, in their order
    data_columns: Sequence[Label],
    phone: Phone,
    country: str | None = None,
    country_column: Label | None = None,
    columns: str | Sequence[str] = DEFAULT_COLUMNS,
    prefix: str = "",
) -> tuple[str, ...]:
    """The names of the columns to add, in order, after a look at every name of the request.

    Raises:
        BadInput: a column that is not there or there twice, a phone column given twice or
            none at all, an unknown country, a field that no lookup has, a new name that is
            taken.
    """
    phones = phone_positions(data_columns, phone)
    default_country(country)
    if country_column is not None:
        position(data_columns, country_column)
    return new_names(data_columns, [name_of(data_columns[at]) for at in phones], columns, prefix)


def name_of(label: Label) -> str:
    """A label as a name: a label of several levels is joined by underscores."""
    if isinstance(label, tuple):
        return "_".join(str(part) for part in label if str(part))
    return str(label)


def phone_positions(labels: Sequence[Label], phone: Phone) -> list[int]:
    """Where the phone columns stand, in the order asked for. BadInput as `check_request`."""
    wanted = _wanted(labels, phone)
    if not wanted:
        raise BadInput("no phone column is given: name at least one")
    positions = [position(labels, label) for label in wanted]
    for at, count in Counter(positions).items():
        if count > 1:
            raise BadInput(f"the phone column {name_of(labels[at])!r} is given {count} times")
    return positions


def _wanted(labels: Sequence[Label], phone: Phone) -> list[Label]:
    if isinstance(phone, (str, bytes)) or not isinstance(phone, Iterable):
        return [phone]
    # A tuple may itself be the label of one column with several levels.
    if isinstance(phone, tuple) and phone in labels:
        return [phone]
    return list(phone)


def position(labels: Sequence[Label], wanted: Label) -> int:
    """Where a column stands, by its very label or else by the label's name.

    Raises:
        BadInput: no such column, or several.
    """
    found = [at for at, label in enumerate(labels) if label == wanted]
    found = found or [at for at, label in enumerate(labels) if name_of(label) == name_of(wanted)]
    if len(found) == 1:
        return found[0]
    name = name_of(wanted)
    if found:
        raise BadInput(f"{len(found)} columns are named {name!r}: rename all but one")
    names = [name_of(label) for label in labels]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    near = near or [other for other in names if other.casefold() == name.casefold()]
    hint = f"did you mean {near[0]!r}? " if near else ""
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    raise BadInput(f"there is no column {name!r}; {hint}there are: {shown}")


def default_country(country: str | None) -> str | None:
    """The ISO 3166-1 alpha-2 code of the country given, if one is. BadInput if unknown."""
    if country is None:
        return None
    code = country_code(country)
    if code is None:
        raise BadInput(f"unknown country {country!r}: give its ISO 3166-1 alpha-2 code, as 'US'")
    return code


def fields_of(columns: str | Sequence[str]) -> tuple[str, ...]:
    """The fields asked for. BadInput where no lookup has one of them, or one comes twice."""
    fields = (columns,) if isinstance(columns, str) else tuple(columns)
    for field, count in Counter(fields).items():
        if field not in FIELDS:
            raise BadInput(f"columns has {field!r}, which no lookup has: {', '.join(FIELDS)}")
        if count > 1:
            raise BadInput(f"columns has {field!r} {count} times")
    return fields


def new_names(
    labels: Sequence[Label], phones: Sequence[str], columns: str | Sequence[str], prefix: str
) -> tuple[str, ...]:
    """The names of the new columns, phone column by phone column. BadInput if one is taken."""
    heads = [f"{prefix}{phone}_" for phone in phones] if len(phones) > 1 else [prefix]
    fields = (*fields_of(columns), STATUS_COLUMN)
    names = tuple(head + field for head in heads for field in fields)
    taken = {name_of(label) for label in labels}
    taken |= {str(label[0]) for label in labels if isinstance(label, tuple) and label}
    for name, count in Counter(names).items():
        if name in taken or count > 1:
            raise BadInput(f"the new column {name!r} is taken: rename it, or give another prefix")
    return names

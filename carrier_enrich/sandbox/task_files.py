"""Uploaded bulk files: which lines become numbers of the task, and which are excluded."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from carrier_enrich.sandbox.numbering import calling_code_of, completed, is_possible, plan_of, split

_SEPARATORS = re.compile(r"[\s.()\-/]+")
_PLUS_DIGITS = re.compile(r"\+[0-9]+")


@dataclass(frozen=True, slots=True, eq=False)
class Sorting:
    """The lines of a bulk file, sorted out (spec, Bulk task).

    Attributes:
        numbers: E.164 digits of the lines to check, in the order of the file.
        unchecked: lines of the task that can't be checked; they count as failures.
        invalid: excluded, like the three below; only `carrier_batch` excludes.
    """

    numbers: array[int]
    unchecked: int = 0
    invalid: int = 0
    no_code: int = 0
    other_country: int = 0
    duplicate: int = 0


def lines_of(file: bytes) -> list[str]:
    """The lines of an upload that are not blank."""
    text = file.decode("utf-8-sig", errors="replace")
    return [line for raw in text.splitlines() if (line := raw.strip().strip('"'))]


def e164_digits(text: str) -> str | None:
    """The digits of a number in E.164 form, None where it is malformed.

    Separators are normalised away; a plus sign may be missing where the digits can be a
    number of some country (spec, Single check result: "normalized by the server").
    """
    digits = _SEPARATORS.sub("", text).removeprefix("+")
    return digits if digits.isascii() and digits.isdigit() and is_possible(digits) else None


def belongs_to(digits: str, country: str) -> bool:
    """Whether a number is one of a country; one that no plan knows, by its calling code."""
    plan = plan_of(digits)
    if plan is not None:
        return plan.country == country
    parts = split(digits)
    return parts is not None and parts[0] == calling_code_of(country)


def sort_carrier_batch(lines: Iterable[str], country: str) -> Sorting:
    """Every line must carry its country code and belong to the country, or is excluded."""
    numbers: dict[str, None] = {}
    invalid = no_code = other_country = duplicate = 0
    for line in lines:
        text = line if _PLUS_DIGITS.fullmatch(line) else _SEPARATORS.sub("", line)
        digits = text.removeprefix("+")
        if not (digits.isascii() and digits.isdigit()):
            invalid += 1
        elif not text.startswith("+"):
            no_code += 1
        elif not is_possible(digits):
            invalid += 1
        elif not belongs_to(digits, country):
            other_country += 1
        elif digits in numbers:
            duplicate += 1
        else:
            numbers[digits] = None
    found = array("q", map(int, numbers))
    return Sorting(found, 0, invalid, no_code, other_country, duplicate)


def sort_global_carrier_batch(lines: Sequence[str], country: str, *, foreign: bool) -> Sorting:
    """The country completes lines without a country code; nothing is excluded.

    Args:
        lines: of the file.
        country: ISO 3166-1 alpha-2.
        foreign: whether numbers of another country are checked too.
    """
    numbers = array("q")
    for line in lines:
        digits = e164_digits(line) if line.startswith("+") else completed(line, country)
        if digits is not None and (foreign or belongs_to(digits, country)):
            numbers.append(int(digits))
    return Sorting(numbers, unchecked=len(lines) - len(numbers))

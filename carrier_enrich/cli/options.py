"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

from carrier_enrich.cli.output import Output
from carrier_enrich.model import FIELDS

P = ParamSpec("P")
R = TypeVar("R")

FILE = click.Path(dir_okay=False, path_type=Path)


def speaking(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command --json, --quiet and --debug, as an `Output` called ``out``."""

    @click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
    @click.option("-q", "--quiet", is_flag=True, help="No progress, no plan: the result only.")
    @click.option("--debug", is_flag=True, help="Log what happens; show where errors come from.")
    @wraps(command)
    def speaks(*args: Any, as_json: bool, quiet: bool, debug: bool, **kwargs: Any) -> R:
        if debug:
            _log_everything()
        return command(*args, out=Output(as_json, quiet), **kwargs)

    return speaks


def examples(*commands: str, intro: str = "Examples:") -> str:
    """An epilog of commands that can be copied as they stand."""
    # The backspace keeps click from filling the lines.
    return "\n".join(("\b", intro, *(f"  {command}" for command in commands)))


def phones_of(command: Callable[P, R]) -> Callable[P, R]:
    """Give a command what `enrich` and `plan` ask alike."""
    for option in reversed(
        (
            click.option(
                "--phone",
                "phones",
                required=True,
                multiple=True,
                metavar="COLUMN",
                help="A phone column. Repeat it for several: the new columns then begin with its "
                "name.",
            ),
            click.option(
                "--country",
                metavar="XX",
                help="Country (ISO 3166-1 alpha-2) of numbers written without a country code.",
            ),
            click.option(
                "--country-column",
                metavar="COLUMN",
                help="The same row by row: a column of country codes or English names.",
            ),
            click.option(
                "--columns",
                metavar="NAMES",
                multiple=True,
                callback=_fields,
                help=f"What to add, separated by commas: {', '.join(FIELDS)}. By default carrier, "
                "number_type and region. lookup_status always comes too.",
            ),
            click.option("--prefix", default="", help="Before the name of each new column."),
            click.option(
                "--max-cost",
                metavar="USD",
                help="What this run may cost at most. Nothing is sent that could pass it.",
            ),
        )
    ):
        command = option(command)
    return command


def _fields(
    _context: click.Context, _option: click.Parameter, values: Sequence[str]
) -> tuple[str, ...]:
    fields = tuple(name.strip() for value in values for name in value.split(",") if name.strip())
    unknown = [name for name in fields if name not in FIELDS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(FIELDS)}")
    return fields


def _log_everything() -> None:
    import logging

    logger = logging.getLogger("carrier_enrich")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)

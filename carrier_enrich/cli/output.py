"""What goes where: results on standard output, everything beside them on standard error.

With ``--json`` standard output carries one JSON document and nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class Output:
    """How a command was asked to speak."""

    as_json: bool = False
    quiet: bool = False

    def result(self, text: str, document: dict[str, Any]) -> None:
        """The command's result: as text for people, or as the one JSON document."""
        if self.as_json:
            write_json(document)
        else:
            click.echo(text)

    def aside(self, text: str) -> None:
        """Something for people beside the result; silent when asked."""
        if not self.quiet:
            click.echo(text, err=True)


def write_json(document: dict[str, Any]) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(document, indent=2))


def write_line(text: str) -> None:
    """A line on standard error, whatever was asked."""
    click.echo(text, err=True)

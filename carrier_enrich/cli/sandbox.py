"""`sandbox`: the service on this machine, with made-up answers and play money."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carrier_enrich.cli.options import examples, speaking
from carrier_enrich.errors import BadInput
from carrier_enrich.model import micros_of_usd, usd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from carrier_enrich.cli.output import Output
    from carrier_enrich.sandbox import SandboxConfig


@click.command(
    epilog=examples(
        "carrier-enrich sandbox --port 8321",
        "carrier-enrich sandbox --balance 5 --shape mixed --task-seconds 60",
        "carrier-enrich sandbox --set undetermined_share=0.2 --set link_seconds=3",
    )
)
@click.option("--port", default=0, metavar="N", help="Port on the loopback interface; 0: any free.")
@click.option("--balance", default="100", show_default=True, metavar="USD", help="Play money.")
@click.option(
    "--shape",
    type=click.Choice(["A", "B", "mixed"]),
    default="A",
    show_default=True,
    help="Form of check results; the service's specification shows two.",
)
@click.option("--task-seconds", type=float, default=5.0, show_default=True, help="Per bulk task.")
@click.option("--single-seconds", type=float, default=0.0, help="Per single check.")
@click.option("--multi-seconds", type=float, default=0.0, help="Per multi check.")
@click.option(
    "--poll-seconds",
    type=float,
    default=1.0,
    show_default=True,
    help="Polls of one task closer than this break the limits; the service says 30.",
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file that keeps money and tasks from one start to the next.",
)
@click.option(
    "--set",
    "more",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any other field of SandboxConfig, its value as JSON.",
)
@speaking
def sandbox(
    *,
    port: int,
    balance: str,
    state: Path | None,
    more: tuple[str, ...],
    out: Output,
    **values: Any,
) -> None:
    """Serve the whole lookup service on this machine, to try things out for nothing.

    Its carriers are made up. It charges play money, keeps the service's limits, and can be told
    to fail. Ctrl-C ends it.
    """
    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        raise BadInput("the sandbox needs more: pip install 'carrier-enrich[sandbox]'")
    from carrier_enrich.sandbox import SandboxConfig, serve

    values |= {"balance_micros": micros_of_usd(balance), **_pairs(more)}
    if state is not None:
        values["state_path"] = str(state)
    try:
        config = SandboxConfig.of(values)
    except (TypeError, ValueError) as error:
        raise BadInput(str(error)) from None
    serve(config, port=port, on_ready=lambda url: out.result(*_ready(url, config)))


def _pairs(more: Sequence[str]) -> dict[str, Any]:
    pairs = {}
    for text in more:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--set is NAME=VALUE, not {text!r}")
        try:
            pairs[name] = json.loads(value)
        except ValueError:
            pairs[name] = value
    return pairs


def _ready(url: str, config: SandboxConfig) -> tuple[str, dict[str, Any]]:
    """What to say once it answers: where it is, and how to use it."""
    environment = {
        "CARRIER_ENRICH_BASE_URL": url,
        "CARRIER_ENRICH_API_KEY": config.api_keys[0],
        "CARRIER_ENRICH_PRICE_SINGLE_USD": _price(config.price_single_micros),
        "CARRIER_ENRICH_PRICE_MULTI_USD": _price(config.price_multi_micros),
        "CARRIER_ENRICH_POLL_SECONDS": f"{config.poll_seconds:g}",
    }
    exports = "\n".join(f"  export {name}={value}" for name, value in environment.items())
    text = (
        f"Sandbox of the carrier lookup service at {url}\n"
        f"Its answers are made up; its {usd(config.balance_micros)} are play money.\n\n"
        f"In another terminal:\n\n{exports}\n  carrier-enrich plan FILE.csv --phone COLUMN\n\n"
        "Ctrl-C ends it."
    )
    return text, {"sandbox": True, "base_url": url, "environment": environment}


def _price(micros: int) -> str:
    return usd(micros).removeprefix("$").replace(",", "")

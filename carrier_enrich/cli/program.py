"""The program: its commands in the order in which people meet them, and the help over them."""

from __future__ import annotations

import click

from carrier_enrich.cli.account import balance, settle, tasks
from carrier_enrich.cli.demo import demo
from carrier_enrich.cli.enriching import enrich, plan
from carrier_enrich.cli.ledger import ledger
from carrier_enrich.cli.sandbox import sandbox

PROGRAM = "carrier-enrich"


class _InOrder(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """The commands in the order in which they were added."""
        return list(self.commands)


_HELP = """Carrier, line type and region beside every phone number of a CRM export, paid for once.

\b
Without an account, on made-up answers:
  carrier-enrich demo
\b
With one: see what it would cost, buy it, and see what is still open:
  carrier-enrich plan crm.parquet --phone mobile --country US
  carrier-enrich enrich crm.parquet enriched.parquet --phone mobile --country US --max-cost 25
  carrier-enrich tasks

Whatever stops a run, running it again pays for the rest only.
"""

_EPILOG = """\b
Settings come from the environment:
  CARRIER_ENRICH_BASE_URL, CARRIER_ENRICH_API_KEY   the service and the key
  CARRIER_ENRICH_LEDGER      where to remember what was paid for (a file or database URL)
  CARRIER_ENRICH_PRICE_SINGLE_USD, _PRICE_MULTI_USD, _PRICE_CARRIER_BATCH_USD
                             prices per number that the service does not publish
  CARRIER_ENRICH_MAX_COST_USD, _MAX_AGE_DAYS, _DEADLINE_SECONDS, _PACE, _BULK_PRODUCT, ...
\b
Exit codes:
  0  done                            4  over the cap or the balance
  2  bad use or input                5  paid work is still open: run settle
  3  not confirmed                   6  the service refuses: key, maintenance, quota
  130, 143  stopped by Ctrl-C, by SIGTERM; what came is kept
\b
Completion of commands and options, in ~/.bashrc (zsh and fish likewise):
  eval "$(_CARRIER_ENRICH_COMPLETE=bash_source carrier-enrich)"
"""


@click.group(
    PROGRAM,
    cls=_InOrder,
    help=_HELP,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="carrier-enrich")
def program() -> None:
    """The program without a command: shows its help."""


for command in (demo, plan, enrich, balance, tasks, settle, sandbox, ledger):
    program.add_command(command)

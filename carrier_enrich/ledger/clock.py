"""One time for all machines that share a ledger: that of its database."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from carrier_enrich.ledger.database import Database

#: Seconds after which the clocks of machine and database are compared again.
AGREED_SECONDS = 3_600.0


@dataclass(slots=True)
class SharedClock:
    """A machine's clock, put right by the ledger's database: seconds since the epoch.

    Leases and polling intervals compare moments that several machines wrote down, whose clocks may
    differ by minutes. Reading it asks nobody; only `agree` does, from the ledger's thread.

    Attributes:
        local: the machine's own clock.
        offset: seconds by which the database's is ahead; zero for SQLite.
    """

    db: Database
    local: Callable[[], float]
    offset: float = 0.0
    agreed_at: float = -math.inf

    def __call__(self) -> float:
        """Now."""
        return self.local() + self.offset

    def of(self, moment: float) -> float:
        """A moment of the machine's clock, as all machines call it."""
        return moment + self.offset

    def here(self, moment: float) -> float:
        """A moment that all machines share, as this one's clock shows it."""
        return moment - self.offset

    def agree(self) -> None:
        """Compare the clocks, if that is an hour ago or the machine's has been set back since.

        Raises:
            LedgerError: the database can't be asked.
        """
        now = self.local()
        if not 0 <= now - self.agreed_at < AGREED_SECONDS:
            self.offset = self.db.clock_offset(self.local)
            self.agreed_at = now

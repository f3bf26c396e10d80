"""Before the first request that costs: may the whole be bought?"""

from __future__ import annotations

from carrier_enrich.engine.desk import Desk
from carrier_enrich.errors import OutOfBalance, OverBudget, PriceUnknown
from carrier_enrich.ledger import Balance
from carrier_enrich.model import usd
from carrier_enrich.routing import highest_cost


def judge_whole(desk: Desk, balance: Balance) -> None:
    """Before the first request that costs: does everything fit, if all of it must?"""
    if desk.partial or not desk.waiting:
        return
    total = highest_cost([lot.call for lot in desk.waiting])
    count = sum(len(lot.call.numbers) for lot in desk.waiting)
    if total is None and desk.budget.cap is not None:
        desk.fall_short(
            PriceUnknown(
                f"{count:,} numbers are to be bought, and not every price is known, so the "
                f"cap of {usd(desk.budget.cap)} can't be kept; nothing was sent. Set the "
                "price (CARRIER_ENRICH_PRICE_MULTI_USD and so on), or give no cap"
            )
        )
    elif total is not None and desk.budget.cap is not None and total > desk.budget.cap:
        desk.fall_short(
            OverBudget(
                f"{count:,} numbers may cost {usd(total)}, over the cap of "
                f"{usd(desk.budget.cap)}; nothing was sent. Raise the cap, or take what fits "
                "with on_limit='partial'"
            )
        )
    elif total is not None and total > balance.micros:
        desk.fall_short(
            OutOfBalance(
                f"{count:,} numbers may cost {usd(total)}, and the balance is "
                f"{usd(balance.micros)}; nothing was sent. Top the account up, or take what "
                "fits with on_limit='partial'"
            )
        )

"""The money gate: what a plan needs before anything is bought. Deciding is pure, asking is not."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import click

from carrier_enrich.errors import CarrierEnrichError, OutOfBalance, OverBudget, PriceUnknown
from carrier_enrich.model import usd
from carrier_enrich.planning import Plan
from carrier_enrich.tables import counted


class NotConfirmed(CarrierEnrichError):
    """Nobody has said yes to the cost. Nothing was sent."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to be answered with yes before anything is bought."""

    question: str


def gate(plan: Plan, *, partial: bool, yes: bool, can_ask: bool) -> Ask | None:
    """The question that a plan raises; None where the way is free.

    Args:
        partial: whether a limit ends the buying with a part instead of an error.
        yes: whether the cost was confirmed beforehand.
        can_ask: whether somebody is there to be asked.

    Raises:
        OverBudget, PriceUnknown, OutOfBalance: not all of it fits, and all of it is wanted.
        NotConfirmed: it costs, nobody has confirmed it, and nobody can be asked.
    """
    if not plan.calls:
        return None
    if not plan.fits and not partial:
        raise misfit(plan)
    if yes:
        return None
    spend = _spend(plan)
    if not can_ask:
        raise NotConfirmed(
            f"{counted(plan.to_buy, 'number')} to buy would {spend}; nothing was sent: add --yes "
            "to agree"
        )
    return Ask(f"{spend[0].upper()}{spend[1:]}?")


def misfit(plan: Plan) -> CarrierEnrichError:
    """Why a plan that does not fit its limits can't be carried out whole."""
    what = counted(plan.to_buy, "number")
    partly = "or take what fits with --on-limit partial"
    cost, cap, balance = plan.highest_cost, plan.cap, plan.balance
    if cost is None:
        return PriceUnknown(
            f"{what} to buy, but the price of {plan.unpriced:,} of them is not known, so no cap "
            "can be kept; nothing was sent: set CARRIER_ENRICH_PRICE_MULTI_USD and "
            f"CARRIER_ENRICH_PRICE_SINGLE_USD, {partly}"
        )
    if cap is not None and cost > cap:
        return OverBudget(
            f"{what} may cost {usd(cost)}, over the cap of {usd(cap)}; nothing was sent: raise "
            f"--max-cost, {partly}"
        )
    return OutOfBalance(
        f"{what} may cost {usd(cost)}, and the balance is {usd(balance or 0)}; nothing was sent: "
        f"top the account up, {partly}"
    )


def confirm(plan: Plan, *, partial: bool, yes: bool) -> None:
    """Let a plan pass, asking on the terminal where it costs and somebody sits there.

    Raises:
        NotConfirmed: the answer was no. And whatever `gate` raises.
    """
    can_ask = sys.stdin.isatty() and sys.stderr.isatty()
    ask = gate(plan, partial=partial, yes=yes, can_ask=can_ask)
    if ask is None:
        return
    click.echo(f"{ask.question} [y/N] ", err=True, nl=False)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotConfirmed("not confirmed; nothing was sent")


def _spend(plan: Plan) -> str:
    play = " of play money" if plan.sandbox else ""
    limits = [limit for limit in (plan.cap, plan.balance) if limit is not None]
    cost = plan.highest_cost
    if cost is not None:
        return f"spend at most {usd(min([cost, *limits]))}{play}"
    unpriced = counted(plan.unpriced, "number")
    most = f"up to {usd(min(limits))}{play}" if limits else "an unknown amount"
    return f"spend {most} (the price of {unpriced} is not known)"

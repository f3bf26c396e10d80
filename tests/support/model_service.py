"""A service small enough to be obviously right, and a courier that reaches it without a network.

Each job meets the next of the scripted mishaps. Time passes only in `wait`.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

import numpy as np

from carrier_enrich.engine import courier as jobs
from carrier_enrich.errors import AnswerLost, Busy, NotSent, OutOfBalance, ServiceError
from carrier_enrich.model import Answers, BulkTask, Lookup, LookupStatus, TaskStatus
from carrier_enrich.results import ResultFile
from carrier_enrich.wire import numbers_of_file
from support.timing import Clock

PRICE = 1_000


def truth(number: int) -> Lookup:
    """What the service says of a number; every number has its own carrier."""
    return Lookup(LookupStatus.FOUND, carrier=f"Carrier {number}", country_code="US")


class Killed(BaseException):
    """The process is gone; nothing of it runs any more."""


@dataclass
class ModelService:
    """Balances, tasks and charges; `checked` and `tasked` count charges per number."""

    balance: int = 10**9
    checked: Counter[int] = field(default_factory=Counter)
    tasked: Counter[int] = field(default_factory=Counter)
    tasks: dict[str, tuple[BulkTask, np.ndarray]] = field(default_factory=dict)
    fails: int = 0

    def answer(self, job: jobs.Job) -> object:
        match job:
            case jobs.ReadBalance():
                return self.balance
            case jobs.SingleCheck(number=number):
                return self._check((number,))
            case jobs.MultiCheck(numbers=numbers):
                return self._check(numbers)
            case jobs.Submit(idempotency_key=key):
                return self._submit(job, key)
            case jobs.Query(task_id=task_id):
                return next(task for task, _ in self.tasks.values() if task.id == task_id)
            case jobs.Download(task=task):
                numbers = next(ns for known, ns in self.tasks.values() if known.id == task.id)
                found = Answers.of((n, truth(n)) for n in numbers.tolist())
                return ResultFile(found, rows=len(found), doubled=0, foreign=0)

    def _check(self, numbers: tuple[int, ...]) -> list[Lookup]:
        self._pay(len(numbers) * PRICE)
        self.checked.update(numbers)
        return [truth(number) for number in numbers]

    def _submit(self, job: jobs.Submit, key: str) -> BulkTask:
        if key not in self.tasks:
            numbers = numbers_of_file(job.file)
            failed = self.fails > 0
            self.fails -= failed
            if not failed:
                self._pay(len(numbers) * PRICE)
                self.tasked.update(numbers.tolist())
            task = BulkTask(
                f"task-{len(self.tasks)}",
                job.product,
                TaskStatus.FAILED if failed else TaskStatus.SUCCESS,
                job.country,
                len(numbers),
                "",
                success_cnt=0 if failed else len(numbers),
                failure_cnt=0,
                result_url=None if failed else "https://results.example/x",
            )
            self.tasks[key] = (task, numbers)
        return self.tasks[key][0]

    def _pay(self, micros: int) -> None:
        if micros > self.balance:
            raise OutOfBalance("too little", code=40200)
        self.balance -= micros


@dataclass
class ModelCourier:
    """Jobs in, arrivals out; `mishaps` says what the next jobs meet, "kill" among them."""

    service: ModelService
    clock: Clock
    mishaps: deque[str] = field(default_factory=deque)
    dead: bool = False
    arrived: list[jobs.Arrival] = field(default_factory=list)

    def start(self, ticket: int, job: jobs.Job) -> None:
        self.check_alive()
        mishap = self.mishaps.popleft() if self.mishaps else "none"
        started = self.clock()
        error: ServiceError | None = None
        value: object = None
        if mishap == "kill before":
            self.die()
        try:
            if mishap == "not sent":
                raise NotSent("no connection")
            if mishap == "busy":
                raise Busy("busy", code=50303, retry_after=3)
            if mishap == "lost before":
                raise AnswerLost("reset")
            value = self.service.answer(job)
            if mishap == "lost after":
                raise AnswerLost("reset")
        except ServiceError as failure:
            error, value = failure, None
        if mishap == "kill after":
            self.die()
        self.arrived.append(jobs.Arrival(ticket, job, started, value, error))

    def wait(self, seconds: float) -> list[jobs.Arrival]:
        self.check_alive()
        if self.arrived:
            self.clock.advance(0.001)
            arrivals, self.arrived = self.arrived, []
            return arrivals
        self.clock.advance(max(seconds, 0.001))
        return []

    def die(self) -> None:
        self.dead = True
        raise Killed

    def check_alive(self) -> None:
        if self.dead:
            raise Killed


class Mortal:
    """Part of a ledger that a dead process can't use any more."""

    def __init__(self, inner: object, courier: ModelCourier) -> None:
        self._inner, self._courier = inner, courier

    def __getattr__(self, name: str) -> object:
        self._courier.check_alive()
        return getattr(self._inner, name)

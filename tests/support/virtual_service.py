"""The service on a virtual clock: it keeps its limits, its calls take time, and nobody sleeps.

Time passes only in `VirtualCourier.wait`, from one event to the next, so that a day of the service
takes the engine's own seconds, and every figure is the same on every machine.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from carrier_enrich.engine import courier as jobs
from carrier_enrich.errors import Busy, QuotaUsedUp, ServiceError
from carrier_enrich.model import Answers, BulkTask, Lookup, LookupStatus, TaskStatus
from carrier_enrich.results import ResultFile
from support.timing import Clock

FOUND = Lookup(LookupStatus.FOUND, "Carrier", "", "mobile", "US", "Region", "City")

#: Seconds between two polls of a task, at least (spec, Limits).
POLL_SECONDS = 30.0

#: Requests in flight at most, and multi checks among them (spec, Limits).
IN_FLIGHT, MULTIS = 5, 1


@dataclass(frozen=True, slots=True)
class Latencies:
    """Seconds that calls take; a bulk task takes `task` and `task_number` for each number."""

    single: float = 2.0
    multi: float = 10.0
    submit: float = 3.0
    query: float = 0.2
    download: float = 2.0
    balance: float = 0.1
    task: float = 60.0
    task_number: float = 0.01

    def of(self, job: jobs.Job) -> float:
        """Seconds that a request takes."""
        match job:
            case jobs.SingleCheck():
                return self.single
            case jobs.MultiCheck():
                return self.multi
            case jobs.Submit():
                return self.submit
            case jobs.Query():
                return self.query
            case jobs.Download():
                return self.download
            case jobs.ReadBalance():
                return self.balance

    def of_task(self, numbers: int) -> float:
        """Seconds from a task's creation to its end."""
        return self.task + self.task_number * numbers


@dataclass(slots=True)
class Task:
    """A bulk task at the service."""

    at_submit: BulkTask
    ends_at: float
    polled_at: float


@dataclass(slots=True)
class VirtualService:
    """Its limits, and what it has seen.

    Attributes:
        tasks_at_once: unfinished bulk tasks at most; one more is refused with 42900.
        refusals: by code.
        early_polls: queries that came before their time.
        checked, tasked: numbers bought.
    """

    tasks_at_once: int
    latencies: Latencies = field(default_factory=Latencies)
    balance: int = 10**15
    tasks: dict[str, Task] = field(default_factory=dict)
    in_flight: int = 0
    multis: int = 0
    refusals: Counter[int] = field(default_factory=Counter)
    early_polls: int = 0
    checked: int = 0
    tasked: int = 0

    def begin(self, job: jobs.Job, now: float) -> ServiceError | None:
        """A request arrives: refused for want of a slot, or under way."""
        match job:
            case jobs.SingleCheck() | jobs.MultiCheck():
                multi = isinstance(job, jobs.MultiCheck)
                if self.in_flight == IN_FLIGHT or (multi and self.multis == MULTIS):
                    self.refusals[42901] += 1
                    return Busy("no slot", code=42901, retry_after=1)
                self.in_flight += 1
                self.multis += multi
            case jobs.Query(task_id=task_id):
                task = self.tasks[task_id]
                self.early_polls += now < task.polled_at + POLL_SECONDS
                task.polled_at = now
            case _:
                pass
        return None

    def end(self, job: jobs.Job, now: float) -> object:
        """What a request gives; an upload is judged when all of it has come."""
        match job:
            case jobs.ReadBalance():
                return self.balance
            case jobs.SingleCheck():
                self.in_flight -= 1
                self.checked += 1
                return [FOUND]
            case jobs.MultiCheck(numbers=numbers):
                self.in_flight -= 1
                self.multis -= 1
                self.checked += len(numbers)
                return [FOUND] * len(numbers)
            case jobs.Submit():
                return self._submit(job, now)
            case jobs.Query(task_id=task_id):
                return self._query(self.tasks[task_id], now)
            case jobs.Download(asked=asked):
                codes = np.zeros(len(asked), np.int32)
                return ResultFile(Answers(asked, codes, (FOUND,)), len(asked), 0, 0)

    def _submit(self, job: jobs.Submit, now: float) -> BulkTask:
        if sum(task.ends_at > now for task in self.tasks.values()) >= self.tasks_at_once:
            self.refusals[42900] += 1
            raise QuotaUsedUp("too many unfinished orders", code=42900)
        count = job.file.count(b"\n")
        task = BulkTask(
            f"task-{len(self.tasks)}", job.product, TaskStatus.PROCESSING, job.country, count, ""
        )
        self.tasks[task.id] = Task(task, now + self.latencies.of_task(count), now - POLL_SECONDS)
        self.tasked += count
        return task

    def _query(self, task: Task, now: float) -> BulkTask:
        if now < task.ends_at:
            return task.at_submit
        return replace(
            task.at_submit,
            status=TaskStatus.SUCCESS,
            success_cnt=task.at_submit.total,
            failure_cnt=0,
            result_url="https://results.example/x",
        )


@dataclass(slots=True)
class VirtualCourier:
    """Jobs in, arrivals out, in the order of a heap of moments."""

    service: VirtualService
    clock: Clock
    _events: list[tuple[float, int, jobs.Job, float, ServiceError | None]] = field(
        default_factory=list
    )

    def start(self, ticket: int, job: jobs.Job) -> None:
        now = self.clock()
        refusal = self.service.begin(job, now)
        # A refusal comes at once (spec, Errors: returned immediately).
        takes = self.service.latencies.query if refusal else self.service.latencies.of(job)
        heapq.heappush(self._events, (now + takes, ticket, job, now, refusal))

    def wait(self, seconds: float) -> list[jobs.Arrival]:
        until = self.clock() + seconds
        if not self._events or self._events[0][0] > until:
            self.clock.now = until
            return []
        arrivals: list[jobs.Arrival] = []
        self.clock.now = max(self.clock.now, self._events[0][0])
        while self._events and self._events[0][0] <= self.clock.now:
            moment, ticket, job, started, error = heapq.heappop(self._events)
            value: object = None
            if error is None:
                try:
                    value = self.service.end(job, moment)
                except ServiceError as refusal:
                    error = refusal
            arrivals.append(jobs.Arrival(ticket, job, started, value, error))
        return arrivals

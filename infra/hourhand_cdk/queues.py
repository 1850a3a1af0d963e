"""The queues, made from the definitions that the local cloud is made from."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from hourhand.aws.table_schema import (
    BACKSTOP,
    CLOCK,
    DEAD_LETTERS,
    PRIORITY_QUEUES,
    QUEUES,
    TICK_FAILURES,
    Queue,
    resource_name,
)
from hourhand.domain.jobs.job import Priority
from hourhand_cdk.config import Config

_NOTHING_OF_THE_USERS = frozenset({CLOCK.name, TICK_FAILURES.name})
"""Empty probes and events of the rule. SQS encrypts them with its own key: a key of the customer's
would have to be opened to EventBridge, and every question for the time would be paid for."""


class Queues(Construct):
    """The priority queues, their backstop, the dead letters, the clock's, and failed ticks."""

    def __init__(
        self, scope: Construct, construct_id: str, *, config: Config, key: kms.IKey | None
    ) -> None:
        """Make them in the order in which one names another."""
        super().__init__(scope, construct_id)
        self._config = config
        self._key = key
        self.by_name: dict[str, sqs.Queue] = {}
        for queue in (*QUEUES, TICK_FAILURES):
            self.by_name[queue.name] = self._make(queue)
        self.by_priority = {p: self.by_name[PRIORITY_QUEUES[p].name] for p in Priority}
        self.backstop = self.by_name[BACKSTOP.name]
        self.dead_letters = self.by_name[DEAD_LETTERS.name]
        self.clock = self.by_name[CLOCK.name]
        self.tick_failures = self.by_name[TICK_FAILURES.name]

    def _make(self, queue: Queue) -> sqs.Queue:
        redrive = None
        if queue.backstop is not None and queue.max_receives is not None:
            redrive = sqs.DeadLetterQueue(
                queue=self.by_name[queue.backstop], max_receive_count=queue.max_receives
            )
        key = None if queue.name in _NOTHING_OF_THE_USERS else self._key
        name = "".join(part.capitalize() for part in queue.name.split("-"))
        return sqs.Queue(
            self,
            f"{name}Queue",
            queue_name=resource_name(self._config.prefix, queue.name),
            visibility_timeout=Duration.seconds(queue.visibility_seconds),
            retention_period=Duration.seconds(queue.retention_seconds),
            dead_letter_queue=redrive,
            encryption=sqs.QueueEncryption.KMS if key else sqs.QueueEncryption.SQS_MANAGED,
            encryption_master_key=key,
            enforce_ssl=self._config.enforce_tls,
            removal_policy=RemovalPolicy.DESTROY,
        )

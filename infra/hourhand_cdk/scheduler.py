"""The whole scheduler as one construct, for this project's own stack and for users' CDK apps."""

from __future__ import annotations

import tempfile
from pathlib import Path

from aws_cdk import Tags
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from hourhand.settings import API_URL
from hourhand_cdk.api import Api
from hourhand_cdk.config import Config
from hourhand_cdk.functions import Functions
from hourhand_cdk.handlers import packed_handlers
from hourhand_cdk.monitoring import Monitoring
from hourhand_cdk.nag import acknowledge_findings, cases_of
from hourhand_cdk.packing import HandlerSource, Packed
from hourhand_cdk.plans import Plans, WorkerOptions
from hourhand_cdk.queues import Queues
from hourhand_cdk.storage import Storage
from hourhand_cdk.triggers import Triggers

INSTALLATION_TAG = "hourhand:installation"


class HourhandScheduler(Construct):
    """A job scheduler: its tables, queues, functions, API and alarms.

    ``HourhandScheduler(stack, "Jobs", handlers="jobs")`` packs the folder ``jobs`` and deploys it.
    Grant ``worker`` access to what the handlers use: ``table.grant_read_data(
    scheduler.worker)``. Callers are granted routes by ``api.arn_of``. Every resource that takes
    tags has `INSTALLATION_TAG` and those of ``config``.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        handlers: str | HandlerSource | None = None,
        packed: Packed | None = None,
        config: Config | None = None,
        worker_options: WorkerOptions | None = None,
    ) -> None:
        """Make all of it, from either ``handlers``, which are packed first, or ``packed`` ones.

        ``handlers`` is the folder or the file that holds them. Raises `PackingError`, and
        `ValueError` where neither or both are given.
        """
        super().__init__(scope, construct_id)
        if (handlers is None) == (packed is None):
            raise ValueError("HourhandScheduler takes either handlers or packed.")
        self.config = config or Config()
        self._tag()
        options = worker_options or WorkerOptions()
        if packed is not None:
            self._make(packed, options)
            return
        with tempfile.TemporaryDirectory() as folder:
            # The CDK copies what it is given as assets while the functions are made.
            self._make(self._pack(handlers, options, Path(folder)), options)

    def _tag(self) -> None:
        # Tags of the stack would not do: CloudFormation passes them on to most kinds of resources,
        # and a global table has tags by its replicas alone.
        for key, value in {INSTALLATION_TAG: self.config.prefix, **self.config.tags}.items():
            Tags.of(self).add(key, value)

    def _pack(
        self, handlers: str | HandlerSource | None, options: WorkerOptions, to: Path
    ) -> Packed:
        source = handlers
        if isinstance(source, str):
            source = HandlerSource(path=Path(source), module=self.config.handlers_module)
        return packed_handlers(self.config, to, source=source, environment=options.environment)

    def _make(self, packed: Packed, options: WorkerOptions) -> None:
        self.storage = Storage(self, "Storage", config=self.config)
        self.queues = Queues(self, "Queues", config=self.config, key=self.storage.key)
        self.functions = Functions(
            self,
            "Functions",
            config=self.config,
            plans=Plans(
                config=self.config,
                packed=packed,
                storage=self.storage,
                queues=self.queues,
                options=options,
            ),
        )
        self.triggers = Triggers(
            self, "Triggers", config=self.config, functions=self.functions, queues=self.queues
        )
        self.api = Api(
            self,
            "Api",
            config=self.config,
            function=self.functions.api_target,
            key=self.storage.key,
        )
        # Of a callback's address. The API itself refers to no function: only its routes do.
        self.functions.worker.add_environment(API_URL, self.api.url)
        self.monitoring = Monitoring(
            self,
            "Monitoring",
            config=self.config,
            functions=self.functions,
            queues=self.queues,
            storage=self.storage,
            api=self.api,
        )
        cases = cases_of(self.config, is_in_network=options.vpc is not None)
        acknowledge_findings(self, self.storage.bucket, cases)

    @property
    def worker(self) -> lambda_.Function:
        """The function that runs the handlers: grant it what they need."""
        return self.functions.worker

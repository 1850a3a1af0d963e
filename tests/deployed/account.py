"""The emulator's account: clients of its services, a ledger for handlers, callers of the API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from http.client import HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from tests.acceptance.http_api import Headers, HttpApi
from tests.deployed.emulator import KEY, REGION, Emulator

ACCOUNT = "000000000000"
LEDGER = "e2e-ledger"
LEDGER_POLICY = f"arn:aws:iam::{ACCOUNT}:policy/{LEDGER}"
CALL_SECONDS = 35.0
ROOT_CALLER = Credentials(KEY, KEY)


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """Acts as the account's root."""

    emulator: Emulator
    _clients: dict[str, Any] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        """Return the client of a service. Safe for threads: each has a session of its own."""
        if service not in self._clients:
            session = boto3.Session(KEY, KEY, region_name=REGION)
            self._clients[service] = session.client(  # type: ignore[call-overload]
                service,
                endpoint_url=self.emulator.endpoint,
                verify=str(self.emulator.certificate),
                config=Config(retries={"mode": "standard"}),
            )
        return self._clients[service]

    def make_ledger(self) -> None:
        """Make the table in which handlers note their runs, and the policy that grants that."""
        made = self.client("dynamodb").create_table(
            TableName=LEDGER,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": "job", "KeyType": "HASH"},
                {"AttributeName": "run", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "job", "AttributeType": "S"},
                {"AttributeName": "run", "AttributeType": "S"},
            ],
        )
        arn = made["TableDescription"]["TableArn"]
        statement = {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": arn}
        self.client("iam").create_policy(
            PolicyName=LEDGER,
            PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
        )

    def runs(self, job_id: str) -> list[Mapping[str, Any]]:
        """Return the runs of a job that its handler noted."""
        found = self.client("dynamodb").query(
            TableName=LEDGER,
            KeyConditionExpression="job = :job",
            ExpressionAttributeValues={":job": {"S": job_id}},
            ConsistentRead=True,
        )
        return [
            {
                "attempt": int(item["attempt"]["N"]),
                "version": int(item["version"]["N"]),
            }
            for item in found["Items"]
        ]

    def make_caller(self, name: str, policy: Mapping[str, Any] | None) -> Credentials:
        """Make a user with this policy alone, and return a key of his."""
        iam = self.client("iam")
        iam.create_user(UserName=name)
        if policy is not None:
            iam.put_user_policy(UserName=name, PolicyName=name, PolicyDocument=json.dumps(policy))
        key = iam.create_access_key(UserName=name)["AccessKey"]
        return Credentials(key["AccessKeyId"], key["SecretAccessKey"])

    def api(
        self,
        url: str,
        caller: Credentials | None = ROOT_CALLER,
        gate: AbstractContextManager[object] | None = None,
    ) -> HttpApi:
        """Return a client of the API at ``url`` that signs as ``caller``, or does not sign.

        ``gate`` bounds how many calls there are at a time.
        """
        host = str(urlsplit(url).hostname)

        def connect() -> HTTPSConnection:
            emulator = self.emulator
            return HTTPSConnection(
                "127.0.0.1", emulator.port, timeout=CALL_SECONDS, context=emulator.trust
            )

        def sign(method: str, target: str, headers: Headers, data: bytes | None) -> Headers:
            named = {**headers, "Host": host}
            if caller is None:
                return named
            request = AWSRequest(
                method=method, url=f"https://{host}{target}", data=data, headers=named
            )
            SigV4Auth(caller, "execute-api", REGION).add_auth(request)
            return dict(request.headers.items())

        return HttpApi(connect, sign, gate or nullcontext())

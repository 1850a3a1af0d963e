"""The bucket for large payloads and results, and how its objects come to expire.

S3 deletes by age, counted from when an object was last written, and by tag. So an object is
written again, as a copy of itself, when its job is final: its age starts again, and its tag names
the smallest of a few numbers of days that covers what is left of its job's retention. An object
without that tag never expires.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from hourhand.aws.clock import SystemClock
from hourhand.aws.failures import Call, Expected, ask, ask_expecting
from hourhand.aws.table_schema import BUCKET, DAYS_TAG, FINISHED, LIVE, STATE_TAG

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_GONE = frozenset({"NoSuchKey", "404", "NotFound"})
_JSON = "application/json"


class S3ObjectStore:
    """Implements the port `ObjectStore` on one bucket.

    ``now`` is the time from which the rest of a retention is counted.
    """

    def __init__(
        self, client: S3Client, bucket: str, *, now: Callable[[], datetime] | None = None
    ) -> None:
        """Call nothing yet."""
        self._client = client
        self._bucket = bucket
        self._now = now or SystemClock().now

    def put(self, key: str, text: str) -> None:
        """Store a JSON text."""
        ask(
            self._call("PutObject"),
            self._client.put_object,
            Bucket=self._bucket,
            Key=key,
            Body=text.encode(),
            ContentType=_JSON,
            Tagging=urlencode({STATE_TAG: LIVE}),
        )

    def get(self, key: str) -> str | None:
        """Return it, or ``None`` where it is gone; of bytes that are no text, an empty one."""
        body = ask_expecting(_GONE, self._call("GetObject"), self._read, key=key)
        if isinstance(body, Expected):
            return None
        try:
            return body.decode()
        except UnicodeDecodeError:
            # Damaged, and not to be repaired by a guess: it is shown and refused as no JSON.
            return ""

    def mark_finished(self, key: str, keep_until: datetime) -> None:
        """Let it expire at ``keep_until`` or some time after. Does nothing where it is gone.

        An object that is to be kept longer than the longest rule says is kept for ever.
        """
        tags = {STATE_TAG: FINISHED}
        days = expiry_days(keep_until - self._now())
        if days is not None:
            tags[DAYS_TAG] = str(days)
        ask_expecting(
            _GONE,
            self._call("CopyObject"),
            self._client.copy_object,
            Bucket=self._bucket,
            Key=key,
            CopySource={"Bucket": self._bucket, "Key": key},
            # S3 copies nothing onto itself unless something is replaced.
            MetadataDirective="REPLACE",
            ContentType=_JSON,
            TaggingDirective="REPLACE",
            Tagging=urlencode(tags),
        )

    def mark_live(self, key: str) -> None:
        """Keep it: its job was redriven. Does nothing where it is gone."""
        ask_expecting(
            _GONE,
            self._call("PutObjectTagging"),
            self._client.put_object_tagging,
            Bucket=self._bucket,
            Key=key,
            Tagging={"TagSet": [{"Key": STATE_TAG, "Value": LIVE}]},
        )

    def _read(self, *, key: str) -> bytes:
        return self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()

    def _call(self, operation: str) -> Call:
        return Call(operation, f"bucket {self._bucket}")


def expiry_days(rest: timedelta) -> int | None:
    """Return the smallest number of days with a rule of its own that covers ``rest``."""
    return next((days for days in BUCKET.expiry_days if rest <= timedelta(days=days)), None)

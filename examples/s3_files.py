"""Files in S3: the payload names a file, and the handler writes its result beside it.

In the checkout, the first command in a terminal of its own:

    $ .venv/bin/hourhand dev --handlers examples.s3_files
    $ .venv/bin/hourhand jobs submit upload-sample '{"bucket": "uploads", "key": "may.csv"}' --watch
    $ .venv/bin/hourhand jobs submit sum-file '{"bucket": "uploads", "key": "may.csv"}' --watch

A payload may have up to 2.5 MB, and is kept with the job. A file belongs into S3, where its size
does not matter. `hourhand dev` simulates S3, too. In a deployment, the worker's role needs access
to the bucket: see `examples/cdk_app`.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import ClientError

from hourhand import JobContext, NotRetryable, job


@dataclass
class File:
    bucket: str
    key: str


@job("sum-file", timeout=300)
def sum_file(ctx: JobContext, payload: File) -> dict[str, str | int]:
    s3 = boto3.client("s3")
    try:
        body = s3.get_object(Bucket=payload.bucket, Key=payload.key)["Body"].read()
    except s3.exceptions.NoSuchKey:
        raise NotRetryable(f"There is no file {payload.key}.") from None
    rows = list(csv.DictReader(io.StringIO(body.decode())))
    total = {"rows": len(rows), "cents": sum(int(row["cents"]) for row in rows)}
    # The key follows from the input, so a second run writes the same object again.
    result_key = f"{payload.key}.total.json"
    s3.put_object(Bucket=payload.bucket, Key=result_key, Body=json.dumps(total).encode())
    return {"key": result_key, **total}


@job("upload-sample")
def upload_sample(ctx: JobContext, payload: File) -> None:
    """Stand in for a browser, which uploads to a presigned URL."""
    s3: Any = boto3.client("s3")
    region = {"LocationConstraint": s3.meta.region_name}
    try:
        s3.create_bucket(Bucket=payload.bucket, CreateBucketConfiguration=region)
    except ClientError as error:
        if error.response["Error"]["Code"] != "BucketAlreadyOwnedByYou":
            raise
    s3.put_object(Bucket=payload.bucket, Key=payload.key, Body=b"day,cents\n1,1999\n2,500\n")

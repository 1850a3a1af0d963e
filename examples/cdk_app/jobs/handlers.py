import os

import boto3

from hourhand import JobContext, job


@job("remind-of-order")
def remind_of_order(ctx: JobContext, payload: dict[str, str]) -> bool:
    orders = boto3.resource("dynamodb").Table(os.environ["ORDERS_TABLE"])
    found = orders.get_item(Key={"id": payload["order"]}).get("Item")
    return found is not None and not found.get("is_paid", False)

"""Unique work: submit the same order twice, and send one invoice.

Two terminals, in the checkout:

    $ .venv/bin/hourhand dev --handlers examples.unique_work
    $ .venv/bin/python -m examples.unique_work

An idempotency key covers the submission: a second submission returns the first job. The job's own
ID covers the run: a job may run more than once, and the payment provider recognises the ID.
"""

from __future__ import annotations

from dataclasses import dataclass

from hourhand import Client, JobContext, job
from hourhand.client import Conflict

CHARGED: dict[str, int] = {}
"""What the payment provider recorded, by the key that it was given."""


@dataclass
class Order:
    number: int
    cents: int


@job("send-order-invoice")
def send_order_invoice(ctx: JobContext, payload: Order) -> dict[str, int]:
    # The same in every attempt. A random key would charge the customer once per attempt.
    return {"charged": charge(payload.cents, key=ctx.job_id)}


def charge(cents: int, *, key: str) -> int:
    """Stand in for a payment provider, which charges once per key."""
    return CHARGED.setdefault(key, cents)


def order_placed(client: Client, order: Order) -> str:
    """Submit the invoice of an order and return the ID of its job."""
    # The key names the work. It needs no clock and no random part.
    key = f"invoice-{order.number}"
    return client.submit("send-order-invoice", order, idempotency_key=key).id


def main() -> None:
    with Client() as client:
        first = order_placed(client, Order(4711, cents=1999))
        second = order_placed(client, Order(4711, cents=1999))
        print("The same job:", first == second)
        try:
            order_placed(client, Order(4711, cents=2999))
        except Conflict as error:
            print("The same key with another payload is refused:", error.code)


if __name__ == "__main__":
    main()

"""A graph of twelve nodes: the sales of all stores, converted, added up and published.

In the checkout, the first command in a terminal of its own:

    $ .venv/bin/hourhand dev --handlers examples.etl_graph
    $ .venv/bin/hourhand jobs submit sales-etl --id sales-1
    $ .venv/bin/hourhand graphs show sales-1

The currency of a store is missing, so ``convert`` fails, and the nodes after it are skipped. Add
``"malmo": "SEK"`` to ``CURRENCIES`` and save the file. Then open the job's page in the console and
click *Rerun from here* on the node, or type:

    $ .venv/bin/hourhand graphs rerun sales-1 --from convert

Only ``convert`` and the nodes after it run again.
"""

from __future__ import annotations

from typing import Any

from hourhand import Graph, JobContext, NotRetryable, Retry, job, result

STORES = ["berlin", "malmo", "zurich"]
CURRENCIES = {"berlin": "EUR", "zurich": "CHF"}
RATES = {"EUR": 1.0, "CHF": 1.06, "SEK": 0.09}


@job("list-stores")
def list_stores(ctx: JobContext) -> list[str]:
    return STORES


@job("read-store", retry=Retry(max_attempts=3))
def read_store(ctx: JobContext, store: str) -> dict[str, Any]:
    return {"store": store, "amount": 100 * len(store)}


@job("read-table")
def read_table(ctx: JobContext, name: str) -> dict[str, float]:
    return RATES if name == "rates" else {store: 10.0 * len(store) for store in STORES}


@job("convert-sales")
def convert_sales(ctx: JobContext, payload: dict[str, Any]) -> dict[str, float]:
    unknown = {sale["store"] for sale in payload["sales"]} - CURRENCIES.keys()
    if unknown:
        raise NotRetryable(f"The currency of {', '.join(sorted(unknown))} is not known.")
    rates = {store: payload["rates"][currency] for store, currency in CURRENCIES.items()}
    return {sale["store"]: sale["amount"] * rates[sale["store"]] for sale in payload["sales"]}


@job("add-up-sales")
def add_up_sales(ctx: JobContext, sales: dict[str, float]) -> float:
    return sum(sales.values())


@job("compare-sales")
def compare_sales(ctx: JobContext, payload: dict[str, Any]) -> dict[str, float]:
    return {name: payload["sales"][name] - budget for name, budget in payload["budget"].items()}


@job("write-sales")
def write_sales(ctx: JobContext, payload: dict[str, Any]) -> str:
    return f"Wrote {payload['to']}."


etl = Graph("sales-etl")
stores = etl.job("stores", list_stores)
sales = etl.map("sales", result(stores), read_store, after=stores, concurrency=10)
rates = etl.job("rates", read_table, "rates")
budget = etl.job("budget", read_table, "budget", on_failure="ignore")
tables = {"sales": result(sales), "rates": result(rates)}
convert = etl.job("convert", convert_sales, tables, after=[sales, rates])
total = etl.job("total", add_up_sales, result(convert), after=convert)
both = {"sales": result(convert), "budget": result(budget)}
compare = etl.job("compare", compare_sales, both, after=[convert, budget])
archive = etl.job("archive", write_sales, {"to": "archive", "rows": result(sales)}, after=sales)
load = etl.job("load", write_sales, {"to": "warehouse", "rows": result(convert)}, after=convert)
report = {"to": "report", "total": result(total), "compared": result(compare)}
publish = etl.job("publish", write_sales, report, after=[total, compare, load])
etl.job("alarm", write_sales, {"to": "alarm"}, after=[convert, load, publish], when="one_failed")
etl.job("clean-up", write_sales, {"to": "log"}, after=[archive, publish], when="all_done")

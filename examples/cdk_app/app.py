"""A CDK app of your own: the handlers in `jobs/` read a table that belongs to the app.

In the checkout, with Node.js and after `make synth`, which installs the CDK:

    $ infra/node_modules/.bin/cdk synth --quiet --app ".venv/bin/python examples/cdk_app/app.py"
    $ infra/node_modules/.bin/cdk deploy --app ".venv/bin/python examples/cdk_app/app.py"
"""

from pathlib import Path

from aws_cdk import App, Stack
from aws_cdk import aws_dynamodb as dynamodb

from hourhand_cdk import Config, HourhandScheduler, WorkerOptions

app = App()
stack = Stack(app, "orders")

orders = dynamodb.TableV2(
    stack,
    "Orders",
    partition_key=dynamodb.Attribute(name="id", type=dynamodb.AttributeType.STRING),
)
scheduler = HourhandScheduler(
    stack,
    "Jobs",
    handlers=str(Path(__file__).with_name("jobs")),
    config=Config(installation="orders-jobs", api_memory_mb=512),
    worker_options=WorkerOptions(environment={"ORDERS_TABLE": orders.table_name}),
)
orders.grant_read_data(scheduler.worker)

app.synth()

"""The functions: what they are, what they are told, and what a user may add to the worker."""

from __future__ import annotations

import re
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import Any

import pytest

from hourhand.aws.published import UNCOMPILED
from hourhand.aws.table_schema import FUNCTION_VISIBILITY_SECONDS
from hourhand.settings import (
    API_NEEDS,
    SCHEDULER_NEEDS,
    WORKER_NEEDS,
    DispatchMode,
    LeaderMode,
    read_settings,
    settings_environment,
)
from tests.infra.evaluation import ACCOUNT, REGION
from tests.infra.stacks import FUNCTIONS, Deployment, Deployments

NEEDS = {"api": API_NEEDS, "scheduler": SCHEDULER_NEEDS, "worker": WORKER_NEEDS}
FURTHER = {
    # What is started for shards that are too much for one invocation.
    "scheduler": {"HOURHAND_SCHEDULER_FUNCTION"},
    # Which installation it answers for.
    "api": {"HOURHAND_STAGE", "HOURHAND_REGION", "HOURHAND_ACCOUNT"},
    # The addresses of callbacks.
    "worker": {"HOURHAND_API_URL"},
}
"""What a function can do without, and is told all the same."""

FLAGS = {
    *("INSTALLATION", "DELAY_ROUNDING", "FAN_OUT_ENTRIES", "LEADER", "DISPATCH"),
    *("MONITORING", "TRACING"),
}
"""Every function is told: a name, and what can be switched without another deployment."""


def environment_of(deployment: Deployment, function: str) -> dict[str, str]:
    variables: dict[str, str] = deployment.function(function)["Environment"]["Variables"]
    return variables


def needs(value: Any) -> set[str]:
    """Return the names to which a part of a template refers."""
    if isinstance(value, list):
        return set().union(*map(needs, value))
    if not isinstance(value, dict):
        return set()
    found: set[str] = set()
    for key, inner in value.items():
        match key, inner:
            case ("Ref", str()):
                found.add(inner)
            case ("Fn::GetAtt", _):
                found.add(inner[0] if isinstance(inner, list) else inner.partition(".")[0])
            case ("Fn::Sub", _):
                text = inner if isinstance(inner, str) else inner[0]
                found |= set(re.findall(r"\$\{([A-Za-z0-9]+)[.}]", text))
            case ("DependsOn", _):
                found |= {inner} if isinstance(inner, str) else set(inner)
        found |= needs(inner)
    return found


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_is_told_exactly_what_it_reads(dev: Deployment, function: str) -> None:
    variables = environment_of(dev, function)
    settings = read_settings(variables, NEEDS[function])
    assert settings.installation == "hourhand-dev"
    names = {variable for variable, text in settings_environment(settings).items() if text}
    assert set(variables) == names
    flags = {f"HOURHAND_{flag}" for flag in FLAGS}
    needed = len(NEEDS[function])
    assert len(variables) == needed + len(FURTHER.get(function, set())) + len(flags)
    for name in set(variables) - flags - FURTHER.get(function, set()):
        with pytest.raises(Exception, match=name):
            read_settings({**variables, name: ""}, NEEDS[function])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_a_function_is_told_is_what_is_deployed(dev: Deployment, function: str) -> None:
    settings = read_settings(environment_of(dev, function), NEEDS[function])
    assert settings.jobs_table == "hourhand-dev-jobs"
    assert settings.control_table == "hourhand-dev-control"
    assert settings.schedules_table == "hourhand-dev-schedules"
    assert settings.bucket in dev.of_type("AWS::S3::Bucket")
    urls = (settings.queue_high, settings.queue_medium, settings.queue_low)
    assert [url.rpartition("/")[2] for url in urls] == [
        "hourhand-dev-high",
        "hourhand-dev-medium",
        "hourhand-dev-low",
    ]
    assert settings.dead_letter_queue.endswith("/hourhand-dev-dead-letters")


def test_the_api_knows_which_installation_it_answers_for(dev: Deployment) -> None:
    settings = read_settings(environment_of(dev, "api"), API_NEEDS)
    assert (settings.installation, settings.stage) == ("hourhand-dev", "dev")
    assert (settings.region, settings.account) == (REGION, ACCOUNT)


def test_the_worker_knows_where_the_api_is(dev: Deployment) -> None:
    settings = read_settings(environment_of(dev, "worker"), WORKER_NEEDS)
    outputs = dev.evaluation.value(dev.template["Outputs"])
    assert settings.api_url == outputs["ApiUrl"]["Value"]


def test_no_resource_needs_itself(dev: Deployment) -> None:
    """CloudFormation refuses a circular reference, and only while it deploys."""
    needed = {name: needs(resource) for name, resource in dev.template["Resources"].items()}
    TopologicalSorter({name: names & set(needed) for name, names in needed.items()}).prepare()


def test_flags_reach_every_function(deployments: Deployments) -> None:
    deployment = deployments.of(
        leader="standby", dispatch="single", fan_out_entries="5", look_ahead_seconds="600"
    )
    for function in FUNCTIONS:
        settings = read_settings(environment_of(deployment, function), NEEDS[function])
        assert settings.leader is LeaderMode.STANDBY
        assert settings.dispatch is DispatchMode.SINGLE
        assert settings.fan_out_entries == 5
        assert settings.timings.look_ahead.total_seconds() == 600


def test_marks_are_made_in_batches_unless_told_otherwise(dev: Deployment) -> None:
    settings = read_settings(environment_of(dev, "scheduler"), SCHEDULER_NEEDS)
    assert settings.dispatch is DispatchMode.BATCH


@pytest.mark.parametrize("stage", ["dev", "prod"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_runs_on_graviton_under_a_current_python(
    deployments: Deployments, stage: str, function: str
) -> None:
    made = deployments.of(stage=stage).function(function)
    assert (made["Architectures"], made["Runtime"]) == (["arm64"], "python3.14")
    assert made["Handler"] == "main.handler"


def test_each_function_has_code_a_role_and_logs_of_its_own(dev: Deployment) -> None:
    made = [dev.function(function) for function in FUNCTIONS]
    for attribute in ("Role", "LoggingConfig", "Code"):
        assert len({repr(function[attribute]) for function in made}) == len(FUNCTIONS)


def test_no_function_may_make_its_log_again_once_the_stack_is_gone(
    dev: Deployment,
) -> None:
    for function in FUNCTIONS:
        rights = {(a, r) for a, r in dev.allowed(function) if a.startswith("logs:")}
        writing = {(a, r) for a, r in rights if a != "logs:FilterLogEvents"}
        group = f"log-group:/aws/lambda/hourhand-dev-{function}"
        assert {action for action, _ in writing} == {"logs:CreateLogStream", "logs:PutLogEvents"}
        assert all(group in resource for _, resource in writing), writing


def test_the_api_alone_reads_a_log_and_only_the_workers(dev: Deployment) -> None:
    reading = {
        (function, resource)
        for function in FUNCTIONS
        for action, resource in dev.allowed(function)
        if action == "logs:FilterLogEvents"
    }
    assert {function for function, _ in reading} == {"api"}
    assert all("log-group:/aws/lambda/hourhand-dev-worker" in resource for _, resource in reading)


@pytest.mark.parametrize(("stage", "days"), [("dev", 14), ("prod", 90)])
def test_every_log_is_deleted_in_the_end(deployments: Deployments, stage: str, days: int) -> None:
    groups = deployments.of(stage=stage).properties("AWS::Logs::LogGroup")
    assert len(groups) == len(FUNCTIONS) + 1
    assert {group["RetentionInDays"] for group in groups} == {days}


def test_a_tick_ends_before_the_next_and_the_api_before_the_gateway_gives_up(
    dev: Deployment,
) -> None:
    assert dev.function("scheduler")["Timeout"] < 60
    assert dev.function("api")["Timeout"] < 30


def test_a_worker_may_run_as_long_as_its_message_stays_hidden(dev: Deployment) -> None:
    assert dev.function("worker")["Timeout"] <= FUNCTION_VISIBILITY_SECONDS


def test_the_worker_alone_may_send_to_the_queue_that_invokes_it(dev: Deployment) -> None:
    loops = {function: dev.function(function).get("RecursiveLoop") for function in FUNCTIONS}
    assert loops == {"api": None, "scheduler": None, "worker": "Allow"}


def test_a_function_without_bytecode_says_so_in_its_description_and_in_a_warning(
    deployments: Deployments,
) -> None:
    from hourhand_cdk.app import make_stack
    from hourhand_cdk.config import read_config

    packed = deployments.packed
    lacking = replace(packed, report=replace(packed.report, uncompiled=("worker",)))
    deployment = deployments.synthesise(lambda app: make_stack(app, read_config({}), lacking))
    described = {name: deployment.function(name)["Description"] for name in FUNCTIONS}
    assert [name for name, said in described.items() if said.endswith(UNCOMPILED)] == ["worker"]
    (warning,) = (one for one in deployment.warnings if "bytecode" in one)
    assert warning.startswith("The worker function has no bytecode: each cold start compiles")


def test_where_lambda_knows_no_recursive_loop_the_template_has_none(
    deployments: Deployments,
) -> None:
    there = deployments.of(allow_recursion="false")
    assert "RecursiveLoop" not in there.function("worker")


def test_tracing_that_is_off_leaves_no_trace(dev: Deployment) -> None:
    text = repr(dev.template).lower()
    assert "xray" not in text
    assert "tracingconfig" not in text
    assert "otel" not in text


def test_tracing_by_xray_is_on_for_every_function(deployments: Deployments) -> None:
    deployment = deployments.of(tracing="xray")
    for function in FUNCTIONS:
        assert deployment.function(function)["TracingConfig"] == {"Mode": "Active"}
        settings = read_settings(environment_of(deployment, function), NEEDS[function])
        assert settings.tracing is True
        assert ("xray:PutTraceSegments", "*") in deployment.allowed(function)


def test_tracing_by_opentelemetry_adds_its_layer_and_nothing_of_xrays_code(
    deployments: Deployments,
) -> None:
    layer = "arn:aws:lambda:eu-central-1:901920570463:layer:aws-otel-python-arm64:1"
    deployment = deployments.of(tracing="opentelemetry", opentelemetry_layer=layer)
    for function in FUNCTIONS:
        assert deployment.function(function)["Layers"] == [layer]
        variables = environment_of(deployment, function)
        assert variables["AWS_LAMBDA_EXEC_WRAPPER"] == "/opt/otel-instrument"
        assert read_settings(variables, NEEDS[function]).tracing is False


VERSIONED: list[dict[str, Any]] = [{}, {"snap_start": True}, {"provisioned_concurrency": 3}]


def test_snapshots_are_taken_of_published_versions(deployments: Deployments) -> None:
    deployment = deployments.of(snap_start=True)
    for function in FUNCTIONS:
        assert deployment.function(function)["SnapStart"] == {"ApplyOn": "PublishedVersions"}


@pytest.mark.parametrize("context", VERSIONED)
def test_the_cdk_warns_of_nothing(deployments: Deployments, context: dict[str, Any]) -> None:
    assert deployments.of(**context).warnings == ()


def test_warm_copies_are_of_what_somebody_waits_for(deployments: Deployments) -> None:
    warm = {
        alias["FunctionName"]: alias.get("ProvisionedConcurrencyConfig", {}).get(
            "ProvisionedConcurrentExecutions"
        )
        for alias in deployments.of(provisioned_concurrency=3).properties("AWS::Lambda::Alias")
    }
    assert warm == {"hourhand-dev-api": 1, "hourhand-dev-scheduler": None, "hourhand-dev-worker": 3}


def test_the_worker_gets_what_the_users_handlers_need(deployments: Deployments) -> None:
    def options(stack: Any) -> Any:
        from aws_cdk import aws_ec2 as ec2
        from aws_cdk import aws_iam as iam
        from aws_cdk import aws_lambda as lambda_

        from hourhand_cdk.plans import WorkerOptions

        layer = "arn:aws:lambda:eu-central-1:111122223333:layer:fonts:1"
        return WorkerOptions(
            environment={"ORDERS": "orders-table"},
            policies=[iam.ManagedPolicy.from_aws_managed_policy_name("AmazonPollyReadOnlyAccess")],
            layers=[lambda_.LayerVersion.from_layer_version_arn(stack, "Fonts", layer)],
            vpc=ec2.Vpc(stack, "Network", max_azs=2, nat_gateways=0),
            vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
        )

    deployment = deployments.with_worker(options)
    worker = deployment.function("worker")
    assert worker["Environment"]["Variables"]["ORDERS"] == "orders-table"
    assert worker["Layers"] == ["arn:aws:lambda:eu-central-1:111122223333:layer:fonts:1"]
    assert len(worker["VpcConfig"]["SubnetIds"]) == 2
    roles = deployment.of_type("AWS::IAM::Role")
    role = deployment.evaluation.value(roles[worker["Role"].rpartition("/")[2]]["Properties"])
    attached = {arn.rpartition("/")[2] for arn in role["ManagedPolicyArns"]}
    assert attached == {"AmazonPollyReadOnlyAccess"}
    # Without it, a function cannot enter the network.
    assert ("ec2:CreateNetworkInterface", "*") in deployment.allowed("worker")
    for function in ("api", "scheduler"):
        other = deployment.function(function)
        assert "ORDERS" not in other["Environment"]["Variables"]
        assert not {"Layers", "VpcConfig"} & set(other)
        assert not [a for a, _ in deployment.allowed(function) if a.startswith("ec2:")]


def test_an_environment_of_the_users_that_clashes_with_ours_is_refused(
    deployments: Deployments,
) -> None:
    def options(_: Any) -> Any:
        from hourhand_cdk.plans import WorkerOptions

        return WorkerOptions(environment={"AWS_LAMBDA_EXEC_WRAPPER": "/opt/mine", "MINE": "1"})

    layer = "arn:aws:lambda:eu-central-1:901920570463:layer:aws-otel-python-arm64:1"
    traced = {"tracing": "opentelemetry", "opentelemetry_layer": layer}
    with pytest.raises(ValueError, match="already has AWS_LAMBDA_EXEC_WRAPPER from Hourhand"):
        deployments.with_worker(options, **traced)
    # What starts Python is the user's to say where we have nothing to start it with.
    worker = deployments.with_worker(options).function("worker")
    assert worker["Environment"]["Variables"]["AWS_LAMBDA_EXEC_WRAPPER"] == "/opt/mine"


@pytest.mark.parametrize("name", ["HOURHAND_JOBS_TABLE", "AWS_REGION", "orders-table"])
def test_an_app_of_the_users_may_not_give_the_worker_names_that_cannot_be_deployed(
    deployments: Deployments, name: str
) -> None:
    from hourhand_cdk.plans import WorkerOptions

    with pytest.raises(ValueError, match=name):
        WorkerOptions(environment={name: "mine"})


def test_the_context_gives_the_worker_environment_and_policies(deployments: Deployments) -> None:
    arn = "arn:aws:iam::111122223333:policy/orders"
    deployment = deployments.of(
        handlers_environment='{"ORDERS": "orders-table"}', handlers_policies=arn
    )
    assert environment_of(deployment, "worker")["ORDERS"] == "orders-table"
    attached = [
        role["ManagedPolicyArns"]
        for role in deployment.properties("AWS::IAM::Role")
        if "ManagedPolicyArns" in role
    ]
    assert attached == [[arn]]

"""What a deployment can be told, and what is refused with which words."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from hourhand.aws.worker_shares import (
    CALLS_PER_POLLER,
    CONCURRENCY_SHARES,
    LEAST_POLLED_CONCURRENCY,
    LEAST_WORKER_CONCURRENCY,
    MINIMUM_CONCURRENCY,
    MINIMUM_POLLERS,
    pollers_of,
    shared_out,
)
from hourhand.settings import MonitoringLevel
from hourhand_cdk.config import Config, InvalidConfig, Stage, read_config


def test_without_context_it_is_a_deployment_for_development() -> None:
    config = read_config({})
    assert config == Config()
    assert (config.prefix, config.protect_data, config.log_retention_days) == (
        "hourhand-dev",
        False,
        14,
    )


def test_prod_protects_data_keeps_logs_longer_and_works_more_at_a_time() -> None:
    dev, prod = read_config({}), read_config({"stage": "prod"})
    assert prod.prefix == "hourhand-prod"
    assert prod.protect_data
    assert prod.log_retention_days > dev.log_retention_days
    assert (dev.worker_concurrency, prod.worker_concurrency) == (None, 200)
    assert (dev.monitoring, prod.monitoring) == (MonitoringLevel.BASIC, MonitoringLevel.FULL)
    assert prod.api_requests_per_second > dev.api_requests_per_second


def test_what_is_given_goes_before_what_the_stage_says() -> None:
    config = read_config({"stage": "prod", "protect_data": "false", "worker_concurrency": "30"})
    assert (config.protect_data, config.worker_concurrency, config.api_burst) == (False, 30, 1000)


@pytest.mark.parametrize(
    ("context", "field", "value"),
    [
        ({"snap_start": "true"}, "snap_start", True),
        ({"monitoring": "none"}, "monitoring", MonitoringLevel.NONE),
        ({"stage": "prod", "worker_concurrency": "none"}, "worker_concurrency", None),
        ({"api_memory_mb": "2048"}, "api_memory_mb", 2048),
        ({"handlers_environment": {"LEVEL": "3"}}, "handlers_environment", {"LEVEL": "3"}),
        (
            {"handlers_environment": {"AWS_LAMBDA_EXEC_WRAPPER": "/opt/mine", "TZ": "UTC"}},
            "handlers_environment",
            {"AWS_LAMBDA_EXEC_WRAPPER": "/opt/mine", "TZ": "UTC"},
        ),
        ({"jwt_issuer": "https://login.example.com"}, "jwt_issuer", "https://login.example.com"),
        ({"alarm_email": "ops@example.org"}, "alarm_email", "ops@example.org"),
        ({"tags": '{"cost centre": "47/11"}'}, "tags", {"cost centre": "47/11"}),
        ({"handlers_policies": "arn:a, arn:b,"}, "handlers_policies", ["arn:a", "arn:b"]),
        ({"handlers_policies": ["arn:a"]}, "handlers_policies", ["arn:a"]),
        (
            {"handlers_environment": '{"TABLE": "orders"}'},
            "handlers_environment",
            {"TABLE": "orders"},
        ),
        ({"look_ahead_seconds": "600"}, "look_ahead_seconds", 600),
        ({"installation": "night-jobs"}, "prefix", "night-jobs"),
    ],
)
def test_the_command_lines_texts_become_what_their_fields_hold(
    context: dict[str, Any], field: str, value: Any
) -> None:
    assert getattr(read_config(context), field) == value


def test_the_cdks_own_context_is_left_alone() -> None:
    context = {
        "@aws-cdk/core:newStyleStackSynthesis": True,
        "aws:cdk:enable-path-metadata": True,
        "cdk-migrate": True,
        **{
            f"{provider}:account=1:region=eu-central-1": ["a"]
            for provider in (
                *("ami", "availability-zones", "hosted-zone", "vpc-provider", "ssm"),
                *("security-group", "key-provider", "load-balancer", "load-balancer-listener"),
            )
        },
    }
    assert read_config(context) == Config()


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (
            {"wroker_concurrency": "20"},
            "wroker_concurrency: is not a setting; did you mean worker_concurrency",
        ),
        (
            {"worker-concurrency": "20"},
            "worker-concurrency: is not a setting; did you mean worker_concurrency",
        ),
        ({"colour": "red"}, "colour: is not a setting. The settings are: stage, installation, "),
        ({"stage": "staging"}, "stage must be dev or prod, not 'staging'."),
        ({"worker_concurrency": "13"}, "worker_concurrency: "),
        ({"worker_concurrency": "many"}, "worker_concurrency: "),
        ({"api_memory_mb": "64"}, "api_memory_mb: "),
        ({"python": "3.9"}, "python: "),
        ({"architecture": "risc"}, "architecture: "),
        ({"log_retention_days": "15"}, "log_retention_days: must be one of 1, 3, 5"),
        (
            {"installation": "Night_Jobs"},
            "installation: must be up to 30 of a-z, 0-9 and -, a letter first, not 'Night_Jobs'",
        ),
        ({"installation": "n" * 31}, "installation: must be up to 30 of "),
        ({"installation": "night\n"}, "installation: must be up to 30 of "),
        ({"alarm_email": "ops"}, "alarm_email: must be one address of e-mail, such as ops@"),
        ({"handlers_policies": "Orders"}, "handlers_policies.0: must be an ARN, which begins with"),
        ({"opentelemetry_layer": "otel"}, "opentelemetry_layer: must be an ARN"),
        ({"jwt_scope_prefix": "a b"}, "jwt_scope_prefix: must be 1 to 100 visible ASCII"),
        ({"jwt_scope_prefix": ""}, "jwt_scope_prefix: must be 1 to 100 visible ASCII"),
        ({"jwt_tenant_claim": "my org"}, "jwt_tenant_claim: must be the name of a claim"),
        ({"jwt_issuer": "http://a.example"}, "jwt_issuer: must be a URL that begins with https://"),
        ({"handlers_environment": "{"}, "handlers_environment: must be a JSON object, such as {"),
        ({"handlers_environment": "[1]"}, "handlers_environment: must be a JSON object"),
        (
            {"handlers_environment": {"LEVEL": 3}},
            "handlers_environment.LEVEL: must be a string: put it in quotes",
        ),
        ({"handlers_environment": {"IS_ON": True}}, "handlers_environment.IS_ON: must be a string"),
        (
            {"handlers_environment": {"my-name": "a"}},
            "handlers_environment: 'my-name' is not a name",
        ),
        (
            {"handlers_environment": {"A": "a"}},
            "handlers_environment: 'A' is not a name that Lambda accepts",
        ),
        (
            {"handlers_environment": {"_HANDLER": "a"}},
            "handlers_environment: '_HANDLER' is not a name",
        ),
        (
            {"handlers_environment": {"HOURHAND_LEADER": "a"}},
            "handlers_environment: HOURHAND_LEADER is refused: names that begin with HOURHAND_",
        ),
        (
            {"handlers_environment": {"AWS_REGION": "a"}},
            "handlers_environment: AWS_REGION is refused: Lambda sets it",
        ),
        (
            {"handlers_environment": {"AWS_LAMBDA_FUNCTION_NAME": "a"}},
            "handlers_environment: AWS_LAMBDA_FUNCTION_NAME is refused: Lambda sets it",
        ),
        (
            {"provisioned_pollers": "true", "worker_concurrency": "133"},
            "provisioned_pollers needs a worker_concurrency of 134 or more, not 133: ",
        ),
        (
            {"provisioned_pollers": "true"},
            "provisioned_pollers needs a worker_concurrency of 134 or more, not none: ",
        ),
        ({"monitoring": "some"}, "monitoring: "),
        ({"tags": "team=billing"}, "tags: must be a JSON object"),
        ({"tags": {"aws:team": "billing"}}, "tags.aws:team"),
        ({"tags": {"team": "a,b"}}, "tags.team: must be up to 256 letters"),
        (
            {"monitoring": "none", "alarm_email": "ops@example.org"},
            "alarm_email needs monitoring=basic or full",
        ),
        ({"api_authorization": "jwt"}, "api_authorization=jwt needs jwt_issuer and jwt_audience"),
        (
            {"snap_start": "true", "provisioned_concurrency": "2"},
            "snap_start and provisioned_concurrency exclude each other",
        ),
        ({"tracing": "opentelemetry"}, "tracing=opentelemetry needs opentelemetry_layer"),
        ({"dispatch": "perhaps"}, "dispatch: "),
        ({"delay_rounding": "floor"}, "delay_rounding: "),
    ],
)
def test_what_is_wrong_is_named(context: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        read_config(context)
    assert words in str(refused.value)


def test_a_secret_in_the_environment_is_not_repeated_by_what_refuses_it() -> None:
    with pytest.raises(InvalidConfig) as refused:
        read_config({"handlers_environment": '{"PASSWORD": "open sesame"'})
    assert "sesame" not in str(refused.value)


def test_what_only_cloudformation_will_know_is_taken_unseen() -> None:
    issuer = "${Token[Pool.ProviderUrl.42]}"
    assert Config(jwt_issuer=issuer).jwt_issuer == issuer


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InvalidConfig) as refused:
        read_config({"python": "2.7", "api_burst": "0"})
    assert "python" in str(refused.value)
    assert "api_burst" in str(refused.value)


def test_a_deployment_does_not_change_once_made() -> None:
    with pytest.raises(ValidationError):
        read_config({}).stage = "prod"  # type: ignore[assignment,misc]


@pytest.mark.parametrize("concurrency", [LEAST_WORKER_CONCURRENCY, 20, 21, 99, 200, 1000, 2000])
def test_concurrency_is_shared_out_to_the_last_worker_and_each_share_is_legal(
    concurrency: int,
) -> None:
    shares = shared_out(concurrency)
    assert sum(shares.values()) == concurrency
    assert set(shares) == set(CONCURRENCY_SHARES)
    assert min(shares.values()) >= MINIMUM_CONCURRENCY
    assert shares["high"] >= shares["medium"] >= shares["low"]


def test_no_share_is_legal_of_one_worker_less_than_the_least() -> None:
    assert min(shared_out(LEAST_WORKER_CONCURRENCY - 1).values()) < MINIMUM_CONCURRENCY
    assert min(pollers_of(LEAST_POLLED_CONCURRENCY - 1).values()) < MINIMUM_POLLERS


@pytest.mark.parametrize("concurrency", [LEAST_POLLED_CONCURRENCY, 199, 777, 2000])
def test_pollers_call_no_more_workers_than_their_share(concurrency: int) -> None:
    for name, pollers in pollers_of(concurrency).items():
        assert pollers >= MINIMUM_POLLERS
        assert pollers * CALLS_PER_POLLER <= shared_out(concurrency)[name]


@pytest.mark.parametrize("reserved", [2, 100, "17"])
def test_the_scheduler_may_have_a_reserve(reserved: object) -> None:
    config = read_config({"scheduler_reserved_concurrency": reserved})
    assert config.scheduler_reserved_concurrency == int(str(reserved))


@pytest.mark.parametrize("reserved", [0, 1, 101, "many"])
def test_a_reserve_that_stops_the_scheduler_or_means_something_else_is_refused(
    reserved: object,
) -> None:
    with pytest.raises(InvalidConfig, match="scheduler_reserved_concurrency"):
        read_config({"scheduler_reserved_concurrency": reserved})


def test_the_scheduler_has_no_reserve_by_default_and_the_help_says_what_one_needs() -> None:
    for stage in Stage:
        assert read_config({"stage": stage}).scheduler_reserved_concurrency is None
    description = Config.model_fields["scheduler_reserved_concurrency"].description
    assert description is not None
    assert "100 unreserved" in description

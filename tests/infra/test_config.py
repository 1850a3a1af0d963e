"""What a deployment can be told, and what is refused with which words."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from hourhand_cdk.config import (
    CONCURRENCY_SHARES,
    LEAST_WORKER_CONCURRENCY,
    MINIMUM_CONCURRENCY,
    Config,
    InvalidConfig,
    read_config,
    shared_out,
)


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
    assert prod.worker_concurrency > dev.worker_concurrency
    assert prod.api_requests_per_second > dev.api_requests_per_second


def test_what_is_given_goes_before_what_the_stage_says() -> None:
    config = read_config({"stage": "prod", "protect_data": "false", "worker_concurrency": "30"})
    assert (config.protect_data, config.worker_concurrency, config.api_burst) == (False, 30, 1000)


@pytest.mark.parametrize(
    ("context", "field", "value"),
    [
        ({"snap_start": "true"}, "snap_start", True),
        ({"api_memory_mb": "2048"}, "api_memory_mb", 2048),
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
        "availability-zones:account=1:region=eu-central-1": ["a"],
    }
    assert read_config(context) == Config()


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({"wroker_concurrency": "20"}, "wroker_concurrency: is no setting. There are: stage, "),
        ({"stage": "staging"}, "stage must be dev or prod, not 'staging'."),
        ({"worker_concurrency": "13"}, "worker_concurrency: "),
        ({"worker_concurrency": "many"}, "worker_concurrency: "),
        ({"api_memory_mb": "64"}, "api_memory_mb: "),
        ({"python": "3.9"}, "python: "),
        ({"architecture": "risc"}, "architecture: "),
        ({"log_retention_days": "15"}, "log_retention_days: must be one of 1, 3, 5"),
        ({"installation": "Night_Jobs"}, "installation: "),
        ({"handlers_environment": "{"}, "handlers_environment"),
        ({"api_authorization": "jwt"}, "api_authorization=jwt needs jwt_issuer and jwt_audience"),
        (
            {"snap_start": "true", "provisioned_concurrency": "2"},
            "snap_start and provisioned_concurrency exclude each other",
        ),
        ({"tracing": "opentelemetry"}, "tracing=opentelemetry needs opentelemetry_layer"),
        ({"dispatch": "perhaps"}, "dispatch: "),
    ],
)
def test_what_is_wrong_is_named(context: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        read_config(context)
    assert words in str(refused.value)


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

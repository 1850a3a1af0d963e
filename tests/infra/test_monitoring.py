"""Alarms speak of what is really measured, only when it lasts, and say what to do first."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.aws.table_schema import TABLES
from hourhand.aws.telemetry import MEASURED_BY, NAMESPACE, Metric
from hourhand.services.jobs.dead_letters import BECAME_DEAD
from tests.infra.evaluation import ACCOUNT, REGION
from tests.infra.measured import Measured, alarms, measured_by_alarm
from tests.infra.stacks import Deployment, Deployments

TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:hourhand-dev-alarms"
ALARM_NAMES = {
    *("no-tick", "oldest-due", "lateness"),
    *("dead-jobs", "missed-schedules", "backstop", "tick-failures"),
    *("api-errors", "scheduler-errors", "worker-errors", "api-failures"),
    *("api-throttles", "scheduler-throttles", "worker-throttles"),
    *(f"{table.name}-table-throttles" for table in TABLES),
    *("skew", "duplicates", "recursion-dropped", "jobs-in-an-hour"),
}
AT_ONCE = {
    *("dead-jobs", "missed-schedules", "backstop", "tick-failures"),
    *("recursion-dropped", "jobs-in-an-hour"),
}
"""They tell of what stays until somebody deals with it, or of one hour, not of the last minute."""

URGENT = {"no-tick", "oldest-due", "lateness", "api-failures"}
"""Somebody waits while they last. The others' ends are told to nobody: a new stack would begin with
a message for each."""

MAX_METRICS_OF_AN_EXPRESSION = 10
"""CloudWatch user guide, alarms on metric math."""

MAX_DESCRIPTION_CHARACTERS = 1024
"""CloudWatch API, PutMetricAlarm."""


@pytest.fixture(scope="module")
def told_otherwise(deployments: Deployments) -> Deployment:
    """Return a deployment with every setting of the alarms, a key of its own, and no leader."""
    return deployments.of(
        monitoring="full",
        customer_key="true",
        alarm_email="night@example.com",
        leader="standby",
        lateness_alarm_ms="700",
        oldest_due_alarm_seconds="71",
        dead_jobs_alarm="72",
        duplicates_alarm_percent="73",
        errors_alarm_percent="74",
        jobs_alarm_per_hour="76",
        skew_alarm_ms="750",
    )


def period_seconds(alarm: dict[str, Any]) -> int:
    periods = {
        query["MetricStat"]["Period"] for query in alarm.get("Metrics", ()) if "MetricStat" in query
    } or {alarm["Period"]}
    (period,) = periods
    return int(period)


def publishers(deployment: Deployment) -> list[dict[str, Any]]:
    statements: list[dict[str, Any]] = deployment.only("AWS::SNS::TopicPolicy")["PolicyDocument"][
        "Statement"
    ]
    return statements


# --- what there is -------------------------------------------------------------------------------


def test_there_is_an_alarm_for_everything_that_an_operator_must_hear_of(full: Deployment) -> None:
    assert set(alarms(full)) == ALARM_NAMES


def test_the_depth_of_the_dead_letter_queue_alarms_nobody(full: Deployment) -> None:
    measured = {each for alarm in alarms(full).values() for each in measured_by_alarm(alarm)}
    queues = {value for each in measured for name, value in each.dimensions if name == "QueueName"}

    assert queues == {"hourhand-dev-backstop", "hourhand-dev-tick-failures"}


def test_every_alarm_on_a_metric_of_ours_names_one_that_its_function_measures(
    full: Deployment,
) -> None:
    ours = {
        each
        for alarm in alarms(full).values()
        for each in measured_by_alarm(alarm)
        if each.namespace == NAMESPACE
    }

    assert {(each.name, dict(each.dimensions)["service"]) for each in ours} == {
        ("ticks", "hourhand-dev-scheduler"),
        ("oldest_due_age_s", "hourhand-dev-scheduler"),
        ("dead_jobs", "hourhand-dev-scheduler"),
        ("occurrences_missed", "hourhand-dev-scheduler"),
        ("skew_ms", "hourhand-dev-scheduler"),
        ("lateness_ms", "hourhand-dev-worker"),
        ("attempts_started", "hourhand-dev-worker"),
        ("duplicates_dropped", "hourhand-dev-worker"),
    }
    for each in ours:
        ((dimension, service),) = each.dimensions
        assert dimension == "service"
        assert Metric(each.name) in MEASURED_BY[service.removeprefix("hourhand-dev-")]


def test_throttles_are_watched_of_every_table_and_of_every_index(full: Deployment) -> None:
    found = alarms(full)
    for table in TABLES:
        whose = [{("TableName", f"hourhand-dev-{table.name}")}]
        whose += [{*whose[0], ("GlobalSecondaryIndexName", index.name)} for index in table.indexes]

        assert set(measured_by_alarm(found[f"{table.name}-table-throttles"])) == {
            Measured("AWS/DynamoDB", kind, frozenset(dimensions))
            for dimensions in whose
            for kind in ("ReadThrottleEvents", "WriteThrottleEvents")
        }


def test_no_expression_has_more_metrics_than_an_alarm_takes(full: Deployment) -> None:
    for alarm in alarms(full).values():
        assert len(set(measured_by_alarm(alarm))) <= MAX_METRICS_OF_AN_EXPRESSION


# --- when they speak -----------------------------------------------------------------------------


def test_only_what_lasts_alarms(full: Deployment) -> None:
    for name, alarm in alarms(full).items():
        expected = 1 if name in AT_ONCE else 2
        assert alarm["DatapointsToAlarm"] >= expected, name


def test_an_outage_alarms_within_five_minutes(full: Deployment) -> None:
    # By duplicates and by many jobs, none is late or lost.
    for name in ALARM_NAMES - {"duplicates", "jobs-in-an-hour"}:
        alarm = alarms(full)[name]
        assert alarm["DatapointsToAlarm"] * period_seconds(alarm) <= 300, name


def test_a_missing_tick_is_the_only_silence_that_alarms(full: Deployment) -> None:
    missing = {name: alarm["TreatMissingData"] for name, alarm in alarms(full).items()}

    assert [name for name, how in missing.items() if how == "breaching"] == ["no-tick"]
    assert set(missing.values()) == {"breaching", "notBreaching", "ignore"}


def test_an_alarm_on_a_gauge_ends_though_zero_is_not_written(full: Deployment) -> None:
    for name in ("oldest-due", "dead-jobs", "skew"):
        # What is missing counts as well: with "ignore" the alarm would never end.
        assert alarms(full)[name]["TreatMissingData"] == "notBreaching"


def test_four_empty_minutes_alarm_of_which_the_newest_may_only_be_counted_late(
    full: Deployment,
) -> None:
    alarm = alarms(full)["no-tick"]

    assert [q["Expression"] for q in alarm["Metrics"] if "Expression" in q] == ["FILL(ticks, 0)"]
    assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (4, 4)
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)
    assert period_seconds(alarm) == 60


def test_throttles_of_tables_end_when_they_end(full: Deployment) -> None:
    # An alarm on DynamoDB's metrics ignores missing data, and these are missing where all is well.
    for table in TABLES:
        (expression,) = [
            query["Expression"]
            for query in alarms(full)[f"{table.name}-table-throttles"]["Metrics"]
            if "Expression" in query
        ]
        assert all(part.startswith("FILL(") for part in expression.split(" + "))


def test_the_thresholds_are_what_the_deployment_was_told(told_otherwise: Deployment) -> None:
    found = {name: alarm["Threshold"] for name, alarm in alarms(told_otherwise).items()}

    assert found.items() >= {
        ("lateness", 700),
        ("oldest-due", 71),
        ("dead-jobs", 72),
        ("duplicates", 73),
        ("api-errors", 74),
        ("scheduler-errors", 74),
        ("worker-errors", 74),
        ("api-failures", 74),
        ("skew", 750),
    }


def test_a_scheduler_on_standby_alarms_nobody_by_leading_no_tick(
    full: Deployment, told_otherwise: Deployment
) -> None:
    def silent(deployment: Deployment) -> list[str]:
        return [name for name, alarm in alarms(deployment).items() if not alarm["ActionsEnabled"]]

    assert silent(full) == []
    assert silent(told_otherwise) == ["no-tick"]


def test_without_metric_math_only_alarms_on_one_metric_are_made(deployments: Deployments) -> None:
    found = alarms(deployments.of(monitoring="full", metric_math="false"))

    assert not [name for name, alarm in found.items() if "Metrics" in alarm]
    assert set(found) == {
        *("oldest-due", "lateness", "dead-jobs", "missed-schedules"),
        *("backstop", "tick-failures", "skew"),
        *("api-throttles", "scheduler-throttles", "worker-throttles"),
        *("recursion-dropped", "jobs-in-an-hour"),
    }


# --- whom they tell, and what --------------------------------------------------------------------


def test_every_alarm_tells_the_topic_when_it_begins_and_the_urgent_ones_when_they_end(
    full: Deployment,
) -> None:
    for name, alarm in alarms(full).items():
        assert alarm["AlarmActions"] == [TOPIC]
        assert alarm.get("OKActions", []) == ([TOPIC] if name in URGENT else []), name


def test_every_alarm_says_what_it_means_and_what_to_do_first(full: Deployment) -> None:
    for name, alarm in alarms(full).items():
        meaning, first = alarm["AlarmDescription"].split(" First: ")
        assert meaning.endswith(".")
        assert first.endswith(f"See docs/how-to/runbook.md#{name}.")
        assert len(alarm["AlarmDescription"]) <= MAX_DESCRIPTION_CHARACTERS


@pytest.mark.parametrize(
    ("level", "purged"),
    [
        ("full", {"backstop": "backstop", "tick-failures": "tick-failures"}),
        ("basic", {"dead-jobs": "dead-letters"}),
    ],
)
def test_an_alarm_that_a_purge_ends_has_the_whole_command(
    deployments: Deployments, level: str, purged: dict[str, str]
) -> None:
    deployment = deployments.of(monitoring=level)
    found = alarms(deployment)
    queues = deployment.named("AWS::SQS::Queue", "QueueName")

    assert {name for name in found if "purge" in found[name]["AlarmDescription"]} == set(purged)
    for name, queue in purged.items():
        text = found[name]["AlarmDescription"]
        own_name = queues[queue]["QueueName"]
        assert len(text) <= MAX_DESCRIPTION_CHARACTERS
        assert (
            f'`aws sqs purge-queue --queue-url "$(aws sqs get-queue-url --queue-name {own_name} '
            '--query QueueUrl --output text)"`.'
        ) in text


def test_the_texts_of_alarms_have_absolute_links_where_their_urls_are_known(
    deployments: Deployments,
) -> None:
    found = alarms(
        deployments.of(
            monitoring="full",
            runbook_url="https://wiki.example.org/hourhand",
            console_url="http://127.0.0.1:8788/",
        )
    )
    for name, alarm in found.items():
        see, page = alarm["AlarmDescription"].split(" See ")[1].split(" Console: ")
        assert see == f"https://wiki.example.org/hourhand#{name}"
        assert page.startswith("http://127.0.0.1:8788/console/")
        assert len(alarm["AlarmDescription"]) <= MAX_DESCRIPTION_CHARACTERS
    assert found["dead-jobs"]["AlarmDescription"].endswith("/console/dead-letters")


def test_a_handler_and_a_tag_that_are_listed_have_alarms_that_name_them(
    deployments: Deployments,
) -> None:
    chosen = deployments.of(
        monitoring="full", alarm_handlers="charge,send.report", alarm_tags="team:billing"
    )
    found = {name: each for name, each in alarms(chosen).items() if name not in ALARM_NAMES}

    assert {name: set(measured_by_alarm(alarm)) for name, alarm in found.items()} == {
        f"dead-jobs-of-{name}": {Measured("Hourhand/hourhand-dev", "died", frozenset({dimension}))}
        for name, dimension in {
            "handler-charge": ("handler", "charge"),
            "handler-send.report": ("handler", "send.report"),
            "tag-team-billing": ("team", "billing"),
        }.items()
    }
    for alarm in found.values():
        assert alarm["AlarmDescription"].endswith("See docs/how-to/runbook.md#dead-jobs.")


def test_what_is_counted_for_them_is_the_sentence_that_each_function_logs(
    deployments: Deployments,
) -> None:
    chosen = deployments.of(monitoring="full", alarm_handlers="charge", alarm_tags="team:billing")
    filters = chosen.properties("AWS::Logs::MetricFilter")

    assert len(filters) == 2 * 3
    for each in filters:
        (change,) = each["MetricTransformations"]
        (dimension,) = change["Dimensions"]
        wanted = {"$.handler": "charge", "$.tags.team": "billing"}[dimension["Value"]]
        assert each["FilterPattern"] == (
            f'{{ ($.message = "{BECAME_DEAD}") && ({dimension["Value"]} = "{wanted}") }}'
        )
        assert (change["MetricNamespace"], change["MetricName"]) == (
            "Hourhand/hourhand-dev",
            "died",
        )


def test_alarms_of_this_deployment_alone_may_publish_and_only_over_tls(full: Deployment) -> None:
    (allowed,) = [each for each in publishers(full) if each["Effect"] == "Allow"]
    (denied,) = [each for each in publishers(full) if each["Effect"] == "Deny"]

    assert allowed["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert (allowed["Action"], allowed["Resource"]) == ("sns:Publish", TOPIC)
    assert allowed["Condition"] == {
        "StringEquals": {"aws:SourceAccount": ACCOUNT},
        "ArnLike": {"aws:SourceArn": f"arn:aws:cloudwatch:{REGION}:{ACCOUNT}:alarm:hourhand-dev-*"},
    }
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert denied["Principal"] == "*"


def test_without_a_key_of_the_customer_the_topic_has_none_that_alarms_could_not_use(
    full: Deployment,
) -> None:
    assert "KmsMasterKeyId" not in full.only("AWS::SNS::Topic")


def test_the_customers_key_encrypts_the_topic_and_lets_its_alarms_use_it(
    told_otherwise: Deployment,
) -> None:
    (key,) = told_otherwise.of_type("AWS::KMS::Key")
    statements = told_otherwise.only("AWS::KMS::Key")["KeyPolicy"]["Statement"]
    (for_alarms,) = [
        each for each in statements if each["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    ]

    assert told_otherwise.only("AWS::SNS::Topic")["KmsMasterKeyId"].endswith(f":key/{key}")
    assert for_alarms["Action"] == ["kms:Decrypt", "kms:GenerateDataKey*"]
    assert for_alarms["Condition"]["StringEquals"] == {"aws:SourceAccount": ACCOUNT}


def test_an_address_hears_of_the_alarms_if_one_was_given(
    full: Deployment, told_otherwise: Deployment
) -> None:
    told = told_otherwise.only("AWS::SNS::Subscription")

    assert (told["Protocol"], told["Endpoint"]) == ("email", "night@example.com")
    assert full.of_type("AWS::SNS::Subscription") == {}


def test_the_outputs_name_the_topic_and_the_dashboard(full: Deployment) -> None:
    outputs = full.evaluation.value(full.template["Outputs"])

    assert outputs["AlarmTopicArn"]["Value"] == TOPIC
    assert outputs["DashboardName"]["Value"] == "hourhand-dev"


# --- the other levels ----------------------------------------------------------------------------


def test_a_basic_deployment_has_three_alarms_on_metrics_that_aws_keeps(dev: Deployment) -> None:
    found = {name: set(measured_by_alarm(alarm)) for name, alarm in alarms(dev).items()}

    assert found == {
        "no-tick": {
            Measured(
                "AWS/DynamoDB",
                "SuccessfulRequestLatency",
                frozenset({("TableName", "hourhand-dev-control"), ("Operation", "PutItem")}),
            )
        },
        "worker-errors": {
            Measured("AWS/Lambda", "Errors", frozenset({("FunctionName", "hourhand-dev-worker")}))
        },
        "dead-jobs": {
            Measured(
                "AWS/SQS",
                "ApproximateNumberOfMessagesVisible",
                frozenset({("QueueName", "hourhand-dev-dead-letters")}),
            )
        },
    }


def test_a_basic_deployment_pays_for_three_metrics_of_alarms_and_no_other(dev: Deployment) -> None:
    assert sum(len(set(measured_by_alarm(alarm))) for alarm in alarms(dev).values()) == 3
    assert dev.of_type("AWS::CloudWatch::Dashboard") == {}
    for function in ("api", "scheduler", "worker"):
        environment = dev.function(function)["Environment"]["Variables"]
        assert environment["HOURHAND_MONITORING"] == "basic"


def test_the_basic_alarm_of_a_missing_tick_counts_the_records_of_ticks(dev: Deployment) -> None:
    alarm = alarms(dev)["no-tick"]
    (stat,) = [query["MetricStat"] for query in alarm["Metrics"] if "MetricStat" in query]

    # An alarm on DynamoDB's metrics ignores missing data, whatever it is told: hence FILL.
    assert [q["Expression"] for q in alarm["Metrics"] if "Expression" in q] == ["FILL(puts, 0)"]
    assert (stat["Stat"], stat["Period"]) == ("SampleCount", 60)
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)
    assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (4, 4)
    assert alarm["TreatMissingData"] == "breaching"


def test_the_basic_alarm_of_workers_ends_when_nothing_is_counted_any_more(dev: Deployment) -> None:
    assert alarms(dev)["worker-errors"]["TreatMissingData"] == "notBreaching"


@pytest.mark.parametrize("level", ["basic", "full"])
def test_an_alarm_of_a_queue_stays_while_sqs_counts_nothing_of_it(
    deployments: Deployments, level: str
) -> None:
    of_queues = {
        name: alarm["TreatMissingData"]
        for name, alarm in alarms(deployments.of(monitoring=level)).items()
        if any(each.namespace == "AWS/SQS" for each in measured_by_alarm(alarm))
    }

    # SQS stops the metrics of a queue that nothing uses for six hours (SQS guide, monitoring): the
    # alarm would end while the messages are still there.
    assert of_queues
    assert set(of_queues.values()) == {"ignore"}


def test_basic_alarms_tell_the_topic_and_say_what_to_do_first(dev: Deployment) -> None:
    for name, alarm in alarms(dev).items():
        assert alarm["AlarmActions"] == [TOPIC]
        assert alarm["AlarmDescription"].endswith(f"See docs/how-to/runbook.md#{name}.")
        assert " First: " in alarm["AlarmDescription"]


def test_without_monitoring_there_is_nothing_to_pay_for(deployments: Deployments) -> None:
    none = deployments.of(monitoring="none")

    for kind in ("CloudWatch::Alarm", "CloudWatch::Dashboard", "SNS::Topic", "SNS::Subscription"):
        assert none.of_type(f"AWS::{kind}") == {}
    assert not {"AlarmTopicArn", "DashboardName"} & set(none.template["Outputs"])
    environment = none.function("worker")["Environment"]["Variables"]
    assert environment["HOURHAND_MONITORING"] == "none"


def test_production_is_watched_in_full(prod: Deployment) -> None:
    assert set(alarms(prod)) == ALARM_NAMES
    environment = prod.function("scheduler")["Environment"]["Variables"]
    assert environment["HOURHAND_MONITORING"] == "full"

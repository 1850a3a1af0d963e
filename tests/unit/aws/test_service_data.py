"""What botocore reads, we read: the same descriptions, of the same services, in the same order."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import boto3
import botocore.session
import pytest
from botocore.exceptions import DataNotFoundError, UnknownServiceError
from botocore.loaders import Loader

from hourhand.aws.service_data import QuickFiles, service_data

# Ours, and what botocore itself calls to get credentials.
SERVICES = ("dynamodb", "sqs", "s3", "lambda", "cloudwatch", "logs", "sts", "sso", "sso-oidc")
TYPES = ("service-2", "endpoint-rule-set-1", "paginators-1", "waiters-2")


@pytest.mark.parametrize("name", ["endpoints", "partitions", "sdk-default-configuration", "_retry"])
def test_what_is_of_no_service_is_read_as_botocore_reads_it(name: str) -> None:
    assert json.dumps(service_data(None).load_data(name)) == json.dumps(Loader().load_data(name))


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_described_as_botocore_describes_it(service: str, type_name: str) -> None:
    ours, theirs = service_data(None), Loader()
    try:
        expected = json.dumps(theirs.load_service_model(service, type_name))
    except DataNotFoundError:
        with pytest.raises(DataNotFoundError):
            ours.load_service_model(service, type_name)
    else:
        assert json.dumps(ours.load_service_model(service, type_name)) == expected


def test_our_clients_read_with_it() -> None:
    in_a_fresh_process = """
import sys
from hourhand.aws import clients, service_data
read = []
load_file = service_data.QuickFiles.load_file
def noted(self, file_path):
    read.append(file_path)
    return load_file(self, file_path)
service_data.QuickFiles.load_file = noted
clients.dynamodb_client(), clients.sqs_client()
print(*read, sep="\\n")
"""
    done = subprocess.run(
        [sys.executable, "-c", in_a_fresh_process],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    read = {Path(path).parts[-3:] for path in done.stdout.splitlines()}
    assert ("dynamodb", "2012-08-10", "service-2") in read
    assert ("sqs", "2012-11-05", "service-2") in read


def test_every_service_that_botocore_knows_is_known() -> None:
    known = set(service_data(None).list_available_services("service-2"))
    assert known >= set(Loader().list_available_services("service-2"))


def test_a_service_that_nobody_knows_is_told_of_as_botocore_tells() -> None:
    with pytest.raises(UnknownServiceError, match="dinamodb"):
        service_data(None).load_service_model("dinamodb", "service-2")


def test_a_folder_without_descriptions_is_no_service(tmp_path: Path) -> None:
    (tmp_path / "mine" / "2026-01-01").mkdir(parents=True)
    with pytest.raises(DataNotFoundError, match="mine"):
        service_data(str(tmp_path)).load_service_model("mine", "service-2")


def test_descriptions_of_a_users_own_go_before_botocores(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, is_packed in ((first, False), (second, True)):
        place = folder / "mine" / "2026-01-01"
        place.mkdir(parents=True)
        text = json.dumps({"from": folder.name}).encode()
        if is_packed:
            (place / "paginators-1.json.gz").write_bytes(gzip.compress(text))
        else:
            (place / "service-2.json").write_bytes(text)
    loader = service_data(f"{first}:{second}:{tmp_path / 'nowhere'}")
    assert loader.load_service_model("mine", "service-2") == {"from": "first"}
    assert loader.load_service_model("mine", "paginators-1") == {"from": "second"}
    assert loader.load_service_model("sqs", "service-2")["metadata"]["serviceId"] == "SQS"


def test_a_path_may_name_the_home_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OWN", str(tmp_path / "own"))
    paths = service_data("~/models:$OWN").search_paths
    assert paths[:2] == [str(tmp_path / "models"), str(tmp_path / "own")]


def test_a_description_that_is_no_json_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_text('{"metadata": ')
    with pytest.raises(json.JSONDecodeError):
        QuickFiles().load_file(str(tmp_path / "broken"))


def test_every_loader_reads_for_itself() -> None:
    # botocore changes what it read: two sessions must not share it.
    one, other = service_data(None), service_data(None)
    assert one.load_data("partitions") is not other.load_data("partitions")
    assert one.load_data("partitions") is one.load_data("partitions")


def test_boto3_finds_its_own_descriptions_beside() -> None:
    core = botocore.session.get_session()
    core.register_component("data_loader", service_data(None))
    session = boto3.session.Session(botocore_session=core)
    assert session.resource("sqs", region_name="us-east-1").meta.service_name == "sqs"
    expected = boto3.Session().get_available_regions("dynamodb")
    assert session.get_available_regions("dynamodb") == expected

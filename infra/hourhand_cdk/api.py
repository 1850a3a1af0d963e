"""The HTTP API: one route to one function, authorised for every call, throttled and logged."""

from __future__ import annotations

import json

import jsii
from aws_cdk import ArnFormat, RemovalPolicy, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from hourhand.api.http_request import PUBLIC_PATH, PUBLIC_ROUTE_KEY
from hourhand.aws.table_schema import resource_name
from hourhand_cdk.config import LOG_RETENTIONS, Config

ROUTE = "/v1/{proxy+}"
"""The function itself knows the routes, and answers for those that there are not."""

VENDED_LOGS = "/aws/vendedlogs/"
"""Where logs go that AWS delivers. Log groups elsewhere add a statement each to the account's
policy for such deliveries, which ends at 5,120 characters (API Gateway guide, HTTP API logging)."""

_LOGGED = {
    "requestId": "$context.requestId",
    "requestTime": "$context.requestTime",
    "ip": "$context.identity.sourceIp",
    "caller": "$context.identity.userArn",
    "subject": "$context.authorizer.claims.sub",
    "method": "$context.httpMethod",
    "route": "$context.routeKey",
    "status": "$context.status",
    "responseBytes": "$context.responseLength",
    "responseMs": "$context.responseLatency",
    "error": "$context.error.message",
    "integrationError": "$context.integrationErrorMessage",
}
"""The caller, the request and its result; never a body (API Gateway guide, HTTP API logging).

Nor a path: that of a callback holds its token, which alone authorises on the public route.
"""


@jsii.implements(gateway.IAccessLogDestination)
class _AccessLogDestination:
    """The group by the ARN that API Gateway keeps, which does not end with `:*`.

    The CDK's own destination gives the one with it. The stage would then differ from its template
    in every drift detection (API Gateway guide, HTTP API logging).
    """

    def __init__(self, group: logs.ILogGroup) -> None:
        self._group = group

    def bind(self, stage: gateway.IStage) -> gateway.AccessLogDestinationConfig:
        arn = Stack.of(stage).format_arn(
            service="logs",
            resource="log-group",
            resource_name=self._group.log_group_name,
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        return gateway.AccessLogDestinationConfig(destination_arn=arn)


@jsii.implements(gateway.IAccessLogSettings)
class _AccessLog:
    def __init__(self, group: logs.ILogGroup) -> None:
        self._group = group

    @property
    def destination(self) -> gateway.IAccessLogDestination:
        return _AccessLogDestination(self._group)

    @property
    def format(self) -> apigateway.AccessLogFormat:
        return apigateway.AccessLogFormat.custom(json.dumps(_LOGGED))


class Api(Construct):
    """The HTTP API. CORS is off, because no page of another origin may call it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Config,
        function: lambda_.IFunction,
        key: kms.IKey | None,
    ) -> None:
        """Make the API, its stage and its route. ``key`` encrypts the access log."""
        super().__init__(scope, construct_id)
        self._config = config
        self.http_api = gateway.HttpApi(
            self,
            "HttpApi",
            api_name=resource_name(config.prefix, "api"),
            description=f"Hourhand's API ({config.prefix})",
            create_default_stage=False,
        )
        integration = integrations.HttpLambdaIntegration("Function", function)
        self.http_api.add_routes(
            path=ROUTE,
            methods=[gateway.HttpMethod.ANY],
            integration=integration,
            authorizer=self._authorizer(),
        )
        public = self._public_routes(integration) if config.public_callbacks else []
        self.access_logs = logs.LogGroup(
            self,
            "AccessLogs",
            log_group_name=f"{VENDED_LOGS}{resource_name(config.prefix, 'api')}",
            encryption_key=key,
            retention=logs.RetentionDays[LOG_RETENTIONS[config.log_retention_days]],
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.stage = gateway.HttpStage(
            self,
            "Stage",
            http_api=self.http_api,
            stage_name="$default",
            auto_deploy=True,
            throttle=gateway.ThrottleSettings(
                rate_limit=config.api_requests_per_second, burst_limit=config.api_burst
            ),
            access_log_settings=_AccessLog(self.access_logs),
        )
        if public:
            self._throttle(public)

    @property
    def url(self) -> str:
        """The URL of the API, without the ``/v1`` of its routes."""
        return self.http_api.api_endpoint

    def arn_of(self, method: str, path: str) -> str:
        """Return what ``execute-api:Invoke`` is allowed on, such as ``POST`` and ``/v1/jobs``."""
        return Stack.of(self).format_arn(
            service="execute-api",
            resource=self.http_api.api_id,
            resource_name=f"$default/{method}{path}",
            arn_format=ArnFormat.SLASH_RESOURCE_NAME,
        )

    def _public_routes(self, integration: gateway.HttpRouteIntegration) -> list[gateway.HttpRoute]:
        """Add the route that the token of a callback alone opens."""
        return self.http_api.add_routes(
            path=PUBLIC_PATH,
            methods=[gateway.HttpMethod.POST],
            integration=integration,
            authorizer=gateway.HttpNoneAuthorizer(),
        )

    def _throttle(self, public: list[gateway.HttpRoute]) -> None:
        """Give the public route a rate of its own, so that it cannot use up that of callers."""
        stage = self.stage.node.default_child
        assert isinstance(stage, gateway.CfnStage)
        stage.route_settings = {
            PUBLIC_ROUTE_KEY: {
                "ThrottlingRateLimit": self._config.public_callbacks_per_second,
                "ThrottlingBurstLimit": self._config.public_callbacks_burst,
            }
        }
        # A stage with the settings of a route that does not exist yet is refused.
        self.stage.node.add_dependency(*public)

    def _authorizer(self) -> gateway.IHttpRouteAuthorizer:
        if self._config.api_authorization == "iam":
            return authorizers.HttpIamAuthorizer()
        assert self._config.jwt_issuer is not None
        return authorizers.HttpJwtAuthorizer(
            "Tokens", self._config.jwt_issuer, jwt_audience=list(self._config.jwt_audience)
        )

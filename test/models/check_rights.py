"""
Compares the rights of the page about deployment with the permissions of the handlers in CloudFormation's resource schemas, which cfn-lint has.
The argument is a JSON file with the actions for each type of resource: {type: [service:Action, ...]}.
"""

import json
import sys

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

# Actions that the schemas do not name, by type: those for tags of an API, and those for a stage's access log.
EXTRA = {
    "AWS::ApiGatewayV2::Api": {"apigateway:TagResource", "apigateway:UntagResource"},
    "AWS::ApiGatewayV2::Stage": {
        "logs:CreateLogDelivery",
        "logs:DeleteLogDelivery",
        "logs:DescribeLogGroups",
        "logs:DescribeResourcePolicies",
        "logs:GetLogDelivery",
        "logs:ListLogDeliveries",
        "logs:PutResourcePolicy",
        "logs:UpdateLogDelivery",
    },
}
# Actions that the schemas name for properties that a queue never sets, by the start of the action.
LEFT_OUT = {
    "AWS::ApiGatewayV2::Api": ["s3:getObject"],
    "AWS::ApiGatewayV2::Authorizer": ["iam:PassRole"],
    "AWS::ApiGatewayV2::Integration": ["iam:PassRole"],
    "AWS::DynamoDB::Table": [
        *["dynamodb:AssociateTableReplica", "dynamodb:BatchWriteItem", "dynamodb:CreateTableReplica"],
        *["dynamodb:DeleteItem", "dynamodb:DeleteResourcePolicy", "dynamodb:DescribeImport"],
        *["dynamodb:DisableKinesis", "dynamodb:EnableKinesis", "dynamodb:GetItem", "dynamodb:ImportTable"],
        *["dynamodb:PutItem", "dynamodb:PutResourcePolicy", "dynamodb:Query", "dynamodb:Scan"],
        *["dynamodb:UpdateContributorInsights", "dynamodb:UpdateItem", "dynamodb:UpdateKinesis"],
        *["iam:", "kinesis:", "kms:", "logs:", "s3:"],
    ],
    "AWS::Events::Rule": ["iam:PassRole"],
    "AWS::IAM::ManagedPolicy": [
        *["iam:AttachGroup", "iam:AttachUser", "iam:DetachGroup", "iam:DetachUser"],
    ],
    "AWS::IAM::Policy": [
        *["iam:DeleteGroup", "iam:DeleteUser", "iam:GetGroup", "iam:GetUser", "iam:PutGroup", "iam:PutUser"],
    ],
    "AWS::IAM::Role": ["iam:DeleteRolePermissionsBoundary", "iam:PutRolePermissionsBoundary"],
    "AWS::Lambda::EventSourceMapping": ["kms:"],
    "AWS::Lambda::Function": [
        *["ec2:", "elasticfilesystem:", "kms:", "s3files:", "lambda:AssociateRuntimeAlias"],
        *["lambda:DeleteFunctionCodeSigningConfig", "lambda:GetCodeSigningConfig", "lambda:GetFunctionScaling"],
        *["lambda:GetLayerVersion", "lambda:PassCapacityProvider", "lambda:PublishVersion"],
        *["lambda:PutFunctionCodeSigningConfig", "lambda:PutFunctionScaling", "lambda:PutRuntimeManagement"],
    ],
    "AWS::Logs::LogGroup": [
        *["firehose:", "s3:", "logs:AssociateKmsKey", "logs:CreateLogDelivery", "logs:DeleteDataProtection"],
        *["logs:DeleteIndexPolicy", "logs:DeleteResourcePolicy", "logs:DescribeResourcePolicies"],
        *["logs:DisassociateKmsKey", "logs:PutBearerToken", "logs:PutDataProtection", "logs:PutIndexPolicy"],
        *["logs:PutLogGroupDeletionProtection", "logs:PutResourcePolicy"],
    ],
    "AWS::SecretsManager::Secret": ["secretsmanager:RemoveRegions", "secretsmanager:ReplicateSecret"],
}


def needed(kind):
    """The permissions of the handlers that create, read, change and delete a resource."""
    handlers = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema["handlers"]
    names = ("create", "read", "update", "delete")
    return {action for name in names for action in handlers.get(name, {}).get("permissions", [])}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rights = json.load(file)
    faults = []
    for kind, actions in rights.items():
        schema = needed(kind)
        left_out = tuple(LEFT_OUT.get(kind, []))
        missing = {one for one in schema - set(actions) if not one.startswith(left_out or "-")}
        unknown = set(actions) - schema - EXTRA.get(kind, set())
        faults += [f"{kind} needs {one}" for one in sorted(missing)]
        faults += [f"{kind} does not need {one}" for one in sorted(unknown)]
    print("\n".join(faults) or f"the rights for {len(rights)} types of resources are those of the schemas")
    sys.exit(1 if faults else 0)


main()

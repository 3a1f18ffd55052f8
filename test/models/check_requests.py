"""Checks recorded requests against AWS's own models of its services, which the package botocore contains.

The one argument is a file with a request a line: {"by": function, "operation": name, "input": members}.
botocore itself looks at types, members and least lengths; here are also looked at: enums, patterns, greatest lengths.
"""

import json
import re
import sys

from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

SERVICES = ["dynamodb", "sqs", "secretsmanager", "lambda", "scheduler"]
SHOWN = 20


def operations():
    """The service and the model of each operation, by its name."""
    found = {}
    for service in SERVICES:
        model = ServiceModel(Loader().load_service_model(service, "service-2"), service)
        for name in model.operation_names:
            found.setdefault(name, []).append((service, model.operation_model(name)))
    return found


def faults_in(shape, value, path):
    """The faults of a value by the rules of its shape, only by those rules that botocore does not check."""
    kind, rules = shape.type_name, shape.metadata
    if kind == "structure":
        for name, member in (value or {}).items():
            if name in shape.members:
                yield from faults_in(shape.members[name], member, f"{path}.{name}")
    elif kind == "list":
        for i, member in enumerate(value):
            yield from faults_in(shape.member, member, f"{path}[{i}]")
    elif kind == "map":
        for name, member in value.items():
            yield from faults_in(shape.key, name, f"{path} key")
            yield from faults_in(shape.value, member, f"{path}.{name}")
    elif kind == "string":
        enum = getattr(shape, "enum", [])
        if enum and value not in enum:
            yield f"{path} must be one of {enum}, is {value!r}"
        if "pattern" in rules and not re.fullmatch(rules["pattern"], value):
            yield f"{path} must match {rules['pattern']}, is {value!r}"
    if "max" in rules and not isinstance(value, bool):
        size = value if isinstance(value, (int, float)) else len(value)
        if size > rules["max"]:
            yield f"{path} must be at most {rules['max']}, is {size}"


def main(path):
    known = operations()
    counts, faults = {}, {}
    with open(path, encoding="utf8") as lines:
        for line in lines:
            request = json.loads(line)
            operation, members = request["operation"], request["input"]
            if len(known.get(operation, [])) != 1:
                sys.exit(f"{operation} must be an operation of one service of {SERVICES}")
            service, model = known[operation][0]
            counts.setdefault(service, {}).setdefault(operation, 0)
            counts[service][operation] += 1
            said = [str(ParamValidator().validate(members, model.input_shape).generate_report())]
            said += faults_in(model.input_shape, members, operation)
            for fault in filter(None, said):
                faults.setdefault(f"{request['by']} {operation}: {fault}", None)
    missing = [service for service in SERVICES if service not in counts]
    if missing:
        sys.exit(f"no request of {', '.join(missing)} was recorded")
    for fault in list(faults)[:SHOWN]:
        print(fault)
    if faults:
        sys.exit(f"error: {len(faults)} faults in requests")
    for service, all_of in counts.items():
        print(f"{service}: {sum(all_of.values())} requests of {len(all_of)} operations are right")


main(sys.argv[1])

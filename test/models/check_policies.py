"""Checks policies against AWS's service authorization data, which the package parliament contains.

The one argument is a file with policies, by their names: {"name": {"Statement": [...]}}. Each action must be known, and
have the resources and conditions that the policy names.
"""

import json
import sys
import warnings

warnings.filterwarnings("ignore", category=UserWarning, message="pkg_resources")

from parliament import analyze_policy_string  # noqa: E402  (the warning comes with the import)


def main(path):
    with open(path, encoding="utf8") as file:
        policies = json.load(file)
    actions, faults = set(), []
    for name, policy in policies.items():
        for statement in policy["Statement"]:
            some = statement["Action"]
            actions.update([some] if isinstance(some, str) else some)
        for finding in analyze_policy_string(json.dumps(policy)).findings:
            faults.append(f"{name}: {finding.issue} {finding.detail}")
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(f"error: {len(faults)} faults in policies")
    if not actions:
        sys.exit("error: the file has no policy")
    print(f"{len(policies)} policies with {len(actions)} actions are right")


main(sys.argv[1])

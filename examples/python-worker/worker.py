"""Pulls the jobs of topic `thumbnail` over HTTP, one at a time: python3 worker.py [URL] [--once]

Needs nothing but Python's own library against a local stack. On AWS the calls are signed, for which it takes botocore
(part of boto3) and the credentials that botocore finds. The job stays invisible to others until its lease ends; a worker
that dies has failed one attempt.
"""

import json
import os
import sys
import urllib.error
import urllib.request

TOPIC = "thumbnail"
WAIT_SECONDS = 20


def call(url, path, body):
    """POSTs JSON and answers JSON; raises urllib.error.HTTPError for what is refused."""
    data = json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    if ".execute-api." in url:
        headers = signed(url + path, data, headers)
    request = urllib.request.Request(url + path, data, headers, method="POST")
    with urllib.request.urlopen(request, timeout=WAIT_SECONDS + 10) as response:
        return json.load(response)


def signed(url, data, headers):
    """The headers with AWS's Signature Version 4 among them."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.session import Session

    session = Session()
    request = AWSRequest("POST", url, headers, data)
    region = session.get_config_variable("region") or os.environ["AWS_REGION"]
    SigV4Auth(session.get_credentials(), "execute-api", region).add_auth(request)
    return dict(request.headers)


def make_thumbnail(job):
    """The work itself; raise to have it repeated by the topic's backoff."""
    body = job["body"]
    if body["width"] <= 0:
        raise ValueError(f"width must be more than 0, is {body['width']}")
    print(f"{body['image']} at {body['width']} px, attempt {job['attempt']}", flush=True)


def work(url, once):
    while True:
        jobs = call(url, f"/topics/{TOPIC}/receive", {"max": 1, "waitSeconds": WAIT_SECONDS})["jobs"]
        for job in jobs:
            receipt = {"receipt": job["receipt"]}
            try:
                make_thumbnail(job)
            except Exception as error:
                call(url, f"/topics/{TOPIC}/retry", {**receipt, "error": str(error)})
            else:
                call(url, f"/topics/{TOPIC}/finish", receipt)
        if once and jobs:
            return


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--once"]
    base = arguments[0] if arguments else os.environ.get("MINUTEHAND_URL", "http://127.0.0.1:4500")
    work(base.rstrip("/"), "--once" in sys.argv)

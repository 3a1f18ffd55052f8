"""Pulls the jobs of topic `thumbnail` over HTTP, one at a time: python3 worker.py [URL] [--once]

Needs nothing but Python's own library against a local stack. On AWS the calls are signed, for which it takes botocore
(part of boto3) and the credentials that botocore finds. The job stays invisible to others until its lease ends; a worker
that dies has failed one attempt.
"""

import http.client
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request

TOPIC = "thumbnail"
WAIT_SECONDS = 20
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 20


def call(url, path, body):
    """What the API answers, however long it takes to be reached; raises urllib.error.HTTPError for what is refused."""
    pause = FIRST_PAUSE
    while True:
        try:
            return post(url, path, body)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                raise
            trouble, wait = error, wait_of(error.headers, pause)
        # What is no JSON is somebody else's answer; a URL that is none is a ValueError too, which no repeat mends.
        except (OSError, http.client.HTTPException, json.JSONDecodeError, UnicodeDecodeError) as error:
            trouble, wait = error, pause
        print(f"{path}: {trouble}; again in {wait} s", file=sys.stderr, flush=True)
        time.sleep(wait)
        pause = min(pause * 2, LONGEST_PAUSE)


def wait_of(headers, pause):
    """The seconds of a Retry-After; the pause where there is none, or it is a date."""
    try:
        return max(int(headers["retry-after"]), 0)
    except (TypeError, ValueError):
        return pause


def post(url, path, body):
    """POSTs JSON once and answers JSON."""
    data = json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    gateway = re.search(r"\.execute-api\.([a-z0-9-]+)\.", url)
    if gateway:
        headers = signed(url + path, data, headers, region=gateway[1])
    request = urllib.request.Request(url + path, data, headers, method="POST")
    with urllib.request.urlopen(request, timeout=WAIT_SECONDS + 10) as response:
        return json.load(response)


def signed(url, data, headers, region):
    """The headers with AWS's Signature Version 4 among them."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.session import Session

    request = AWSRequest("POST", url, headers, data)
    SigV4Auth(Session().get_credentials(), "execute-api", region).add_auth(request)
    return dict(request.headers)


def make_thumbnail(job):
    """The work itself; raise to have it repeated by the topic's backoff."""
    body = job["body"]
    if body["width"] <= 0:
        raise ValueError(f"width must be more than 0, is {body['width']}")
    print(f"{body['image']} at {body['width']} px, attempt {job['attempt']}", flush=True)


def settle(url, path, body):
    """Says how a job ended, unless its lease has ended before: then it is another's, or runs again."""
    try:
        call(url, path, body)
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise
        print(f"{path}: {error}; it took longer than its lease", file=sys.stderr, flush=True)


def work(url, once):
    while True:
        jobs = call(url, f"/topics/{TOPIC}/receive", {"max": 1, "waitSeconds": WAIT_SECONDS})["jobs"]
        for job in jobs:
            receipt = {"receipt": job["receipt"]}
            try:
                make_thumbnail(job)
            except Exception as error:
                settle(url, f"/topics/{TOPIC}/retry", {**receipt, "error": str(error)})
            else:
                settle(url, f"/topics/{TOPIC}/finish", receipt)
        if once and jobs:
            return


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--once"]
    base = arguments[0] if arguments else os.environ.get("MINUTEHAND_URL", "http://127.0.0.1:4500")
    work(base.rstrip("/"), "--once" in sys.argv)

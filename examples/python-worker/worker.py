"""Pulls the jobs of topic `thumbnail` over HTTP, one at a time: python3 worker.py [URL] [--once]

With a local stack it needs only Python's own library. On AWS it signs its calls, and needs botocore (part of boto3) and the
credentials that botocore finds. Other workers do not get the job until its lease ends. If this worker dies, the lease ends and
the run counts as a failed attempt.

To stop the worker, send it SIGTERM. It lets its last `receive` end, which takes up to 20 seconds, runs the job if one still comes, and
then ends. If you kill it at once, the job of that `receive` has no worker, and loses an attempt.
"""

import http.client
import json
import os
import re
import signal
import sys
import time
import urllib.error
import urllib.request

TOPIC = "thumbnail"
WAIT_SECONDS = 20
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 20

stopping = False


def stop(*_):
    """Only sets a mark, so that a `receive` under way is not cut off: the API may just have claimed a job for it."""
    global stopping
    stopping = True


def call(url, path, body):
    """Calls the API and retries until it answers; a `receive` only while the worker is not stopping. Raises urllib.error.HTTPError if the API refuses the call."""
    pause = FIRST_PAUSE
    while True:
        try:
            return post(url, path, body)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                raise
            trouble, wait = error, wait_of(error.headers, pause)
        # An answer that is not JSON comes from a proxy, so retry. Do not catch ValueError as a whole: an invalid URL raises it too.
        except (OSError, http.client.HTTPException, json.JSONDecodeError, UnicodeDecodeError) as error:
            trouble, wait = error, pause
        if stopping and path.endswith("/receive"):
            return {"jobs": []}
        print(f"{path}: {trouble}; again in {wait} s", file=sys.stderr, flush=True)
        time.sleep(wait)
        pause = min(pause * 2, LONGEST_PAUSE)


def wait_of(headers, pause):
    """The seconds of the header Retry-After, or `pause` if the header is absent or a date."""
    try:
        return max(int(headers["retry-after"]), 0)
    except (TypeError, ValueError):
        return pause


def post(url, path, body):
    """Sends one POST with JSON and answers the JSON of the answer."""
    data = json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    gateway = re.search(r"\.execute-api\.([a-z0-9-]+)\.", url)
    if gateway:
        headers = signed(url + path, data, headers, region=gateway[1])
    request = urllib.request.Request(url + path, data, headers, method="POST")
    with urllib.request.urlopen(request, timeout=WAIT_SECONDS + 10) as response:
        return json.load(response)


def signed(url, data, headers, region):
    """Adds AWS's Signature Version 4 to the headers."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.session import Session

    request = AWSRequest("POST", url, headers, data)
    SigV4Auth(Session().get_credentials(), "execute-api", region).add_auth(request)
    return dict(request.headers)


def make_thumbnail(job):
    """Does the work of a job. If it raises, the job runs again by the topic's backoff."""
    body = job["body"]
    if body["width"] <= 0:
        raise ValueError(f"width must be more than 0, is {body['width']}")
    print(f"{body['image']} at {body['width']} px, attempt {job['attempt']}", flush=True)


def settle(url, path, body):
    """Tells the API how a run ended. The API answers 409 if the lease ended first, because then the job runs again."""
    try:
        call(url, path, body)
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise
        print(f"{path}: {error}; it took longer than its lease", file=sys.stderr, flush=True)


def work(url, once):
    while not stopping:
        jobs = call(url, f"/topics/{TOPIC}/receive", {"max": 1, "waitSeconds": WAIT_SECONDS})["jobs"]
        for job in jobs:
            receipt = {"receipt": job["receipt"]}
            try:
                make_thumbnail(job)
            except Exception as error:
                settle(url, f"/topics/{TOPIC}/retry", {**receipt, "error": f"{type(error).__name__}: {error}"})
            else:
                settle(url, f"/topics/{TOPIC}/finish", receipt)
        if once and jobs:
            return


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    arguments = [argument for argument in sys.argv[1:] if argument != "--once"]
    base = arguments[0] if arguments else os.environ.get("MINUTEHAND_URL", "http://127.0.0.1:4500")
    work(base.rstrip("/"), "--once" in sys.argv)

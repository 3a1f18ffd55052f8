"""Calls Minutehand's API over HTTP: signs each call on AWS, and repeats a call that gets no answer.

With a local stack it needs only Python's own library. On AWS, which is each https: URL, it needs botocore (part of boto3) and the credentials that botocore finds,
and for a domain name of your own AWS_REGION.
"""

import functools
import http.client
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request

TIMEOUT = 30
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 20

class Refused(Exception):
    """An answer of the API that is not 2xx. `code` names the reason, such as `job-running`; None if the answer is not from the API."""

    def __init__(self, error):
        self.status, self.headers = error.code, error.headers
        try:
            problem = json.load(error)
            # A later version may add fields, so take only those that are read here.
            self.code, self.detail = problem["code"], problem["detail"]
        except (ValueError, KeyError, TypeError):
            self.code, self.detail = None, None
        super().__init__(f"{self.status} {self.code} {self.detail}")


# What a try can raise. JSONDecodeError and UnicodeDecodeError: an answer that is not JSON comes from a proxy. Do not take ValueError as a
# whole: an invalid URL raises it too.
TROUBLES = (Refused, OSError, http.client.HTTPException, json.JSONDecodeError, UnicodeDecodeError)


def call(url, method, path, body=None, key=None, revision=None, go_on=lambda tries: True):
    """Calls the API until it answers, and returns the JSON of the answer.

    Raises Refused if the API refuses the call, and the last trouble if `go_on` says that the tries are enough. `key`: the Idempotency-Key
    of a call that must not take effect twice. `revision`: the revision of the job that the caller has read. If the job has another one by
    now, the API refuses the call with 412.
    """
    pause, tries = FIRST_PAUSE, 0
    while True:
        try:
            answer = send(url, method, path, body, key, revision)
        except TROUBLES as error:
            is_answer = isinstance(error, Refused)
            if is_answer and error.status < 500 and error.status != 429:
                raise
            tries += 1
            if not go_on(tries):
                raise
            wait = wait_of(error.headers, pause) if is_answer else pause
            print(f"{path}: {error}; again in {wait} s", file=sys.stderr, flush=True)
        else:
            if tries > 0:
                print(f"{path}: the API answers again", file=sys.stderr, flush=True)
            return answer
        time.sleep(wait)
        pause = min(pause * 2, LONGEST_PAUSE)


def wait_of(headers, pause):
    """The seconds of the header Retry-After, or `pause` if the header is absent or a date."""
    try:
        return max(int(headers["retry-after"]), 0)
    except (TypeError, ValueError):
        return pause


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Answers a redirect as it is: to follow it would turn a POST into a GET, and the signature is for one host only."""

    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirects)


def send(url, method, path, body, key, revision):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    if key is not None:
        headers["idempotency-key"] = key
    if revision is not None:
        headers["if-match"] = f'"{revision}"'
    gateway = re.search(r"\.execute-api\.([a-z0-9-]+)\.", url)
    if gateway or url.startswith("https:"):  # https: a domain name of your own
        region = gateway[1] if gateway else os.environ["AWS_REGION"]
        headers = signed(method, url + path, data, headers, region)
    request = urllib.request.Request(url + path, data, headers, method=method)
    try:
        with opener.open(request, timeout=TIMEOUT) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise Refused(error) from None


def signed(method, url, data, headers, region):
    """Adds AWS's Signature Version 4 to the headers."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest(method, url, headers, data)
    SigV4Auth(session().get_credentials(), "execute-api", region).add_auth(request)
    return dict(request.headers)


@functools.cache
def session():
    """Finds the credentials, once for all calls. botocore renews those that end."""
    from botocore.session import Session

    return Session()

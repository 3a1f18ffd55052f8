"""Pulls the jobs of a topic over HTTP: python3 worker.py [TOPIC] [--concurrency N] [--once]

Without TOPIC, it pulls `thumbnail`. It runs up to N jobs at once, each in a thread of its own. Without N, it runs one at a time.

MINUTEHAND_URL is the address of the API. Without it, the worker calls the local stack.

Other workers do not get the job until its lease ends. While a job runs, the worker extends its lease. If this worker dies, the lease
ends and the run counts as a failed attempt.

To stop the worker, send it SIGTERM. It lets its last `receive` end, which takes up to WAIT_SECONDS (20), runs the jobs that still come, and
then ends. If you kill it at once, the jobs of that `receive` have no worker, and lose an attempt.
"""

import argparse
import contextlib
import os
import signal
import sys
import threading
import traceback
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from api import TROUBLES, Refused, call

parser = argparse.ArgumentParser()
parser.add_argument("topic", nargs="?", default="thumbnail")
parser.add_argument("--concurrency", type=int, default=1)
parser.add_argument("--once", action="store_true", help="end after the first job")
OPTIONS = parser.parse_args()
URL = os.environ.get("MINUTEHAND_URL", "http://127.0.0.1:4500").rstrip("/")
TOPIC = OPTIONS.topic
WAIT_SECONDS = int(os.environ.get("WAIT_SECONDS", "20"))
# A lease ends after the topic's `ttr`, which is 30 seconds by default. Extend it well before.
EXTEND_EVERY = float(os.environ.get("EXTEND_EVERY", "10"))
EXTEND_BY = 30
# If `make_thumbnail` raises an error of another class, the job is dead at once.
RETRIED = (Exception,)

stopping = False


def stop(*_):
    """Only sets a mark, so that a `receive` under way is not cut off: the API may just have claimed a job for it."""
    global stopping
    stopping = True


def make_thumbnail(job, lost):
    """Does the work of a job. If it raises an error of RETRIED, the job runs again by the topic's backoff. Stop early if `lost` is set: the job is another's."""
    body = job["body"]
    if body["width"] <= 0:
        raise ValueError(f"width must be more than 0, is {body['width']}")
    lost.wait(float(os.environ.get("WORK_SECONDS", "0")))  # stands for the work
    print(f"{body['image']} at {body['width']} px, attempt {job['attempt']}", flush=True)


def receive(url, most):
    """Waits for jobs. A `receive` that failed is repeated only while the worker is not stopping."""
    body = {"max": min(most, 10), "waitSeconds": WAIT_SECONDS}
    try:
        return call(url, "POST", f"/topics/{TOPIC}/receive", body, go_on=lambda _: not stopping)["jobs"]
    except TROUBLES:
        if stopping:
            return []
        raise


@contextlib.contextmanager
def extended(url, receipt):
    """Extends the lease while the block runs. Yields an event that is set when the claim is lost."""
    done, lost = threading.Event(), threading.Event()

    def extend():
        while not done.wait(EXTEND_EVERY):
            body = {"receipt": receipt, "seconds": EXTEND_BY}
            try:
                call(url, "POST", f"/topics/{TOPIC}/extend", body, go_on=lambda _: not done.is_set())
            except TROUBLES as error:
                if not done.is_set():
                    print(f"extend: {error}", file=sys.stderr, flush=True)
                    lost.set()
                return

    thread = threading.Thread(target=extend, daemon=True)
    thread.start()
    try:
        yield lost
    finally:
        done.set()
        thread.join()


def settle(url, path, body):
    """Tells the API how a run ended. The API answers 409 if the lease ended first, because then the job runs again."""
    try:
        call(url, "POST", path, body)
    except Refused as error:
        if error.status != 409:
            raise
        print(f"{path}: {error}; it took longer than its lease", file=sys.stderr, flush=True)


def run(url, job):
    receipt = {"receipt": job["receipt"]}
    try:
        with extended(url, job["receipt"]) as lost:
            make_thumbnail(job, lost)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        print(f"job {job['id']}, attempt {job['attempt']}: {reason}", file=sys.stderr, flush=True)
        traceback.print_exc()
        path = "retry" if isinstance(error, RETRIED) else "bury"
        settle(url, f"/topics/{TOPIC}/{path}", {**receipt, "error": reason})
    else:
        settle(url, f"/topics/{TOPIC}/finish", receipt)


def work(url, concurrency, once):
    """Receives at most as many jobs as threads are free, because the lease of a job begins at once. At the end, waits for all that run."""
    with ThreadPoolExecutor(concurrency) as threads:
        running = set()
        while not stopping:
            jobs = receive(url, concurrency - len(running))
            running |= {threads.submit(run, url, job) for job in jobs}
            if once and jobs:
                break
            done, running = wait(running, None if len(running) == concurrency else 0, FIRST_COMPLETED)
            raise_errors_of(done)
        raise_errors_of(running)


def raise_errors_of(runs):
    for ended in runs:
        ended.result()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    print(f"waits for jobs of {TOPIC} at {URL}", file=sys.stderr, flush=True)
    try:
        work(URL, OPTIONS.concurrency, OPTIONS.once)
    except Refused as error:
        # For example, the queue has no such topic.
        sys.exit(error.detail or str(error))

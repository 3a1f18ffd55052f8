"""Pulls the jobs of a topic over HTTP, one at a time: python3 worker.py [TOPIC] [--once]. Without TOPIC: `thumbnail`

MINUTEHAND_URL is the address of the API. Without it, the worker calls the local stack.

Other workers do not get the job until its lease ends. While a job runs, the worker extends its lease. If this worker dies, the lease
ends and the run counts as a failed attempt.

To stop the worker, send it SIGTERM. It lets its last `receive` end, which takes up to WAIT_SECONDS (20), runs the job if one still comes, and
then ends. If you kill it at once, the job of that `receive` has no worker, and loses an attempt.
"""

import contextlib
import os
import signal
import sys
import threading

from api import TROUBLES, Refused, call

ARGUMENTS = [argument for argument in sys.argv[1:] if argument != "--once"]
URL = os.environ.get("MINUTEHAND_URL", "http://127.0.0.1:4500").rstrip("/")
TOPIC = ARGUMENTS[0] if ARGUMENTS else "thumbnail"
WAIT_SECONDS = int(os.environ.get("WAIT_SECONDS", "20"))
# A lease ends after the topic's `ttr`, which is 30 seconds by default. Extend it well before.
EXTEND_EVERY = float(os.environ.get("EXTEND_EVERY", "10"))
EXTEND_BY = 30

stopping = False


def stop(*_):
    """Only sets a mark, so that a `receive` under way is not cut off: the API may just have claimed a job for it."""
    global stopping
    stopping = True


def make_thumbnail(job, lost):
    """Does the work of a job. If it raises, the job runs again by the topic's backoff. Stop early if `lost` is set: the job is another's."""
    body = job["body"]
    if body["width"] <= 0:
        raise ValueError(f"width must be more than 0, is {body['width']}")
    lost.wait(float(os.environ.get("WORK_SECONDS", "0")))  # stands for the work
    print(f"{body['image']} at {body['width']} px, attempt {job['attempt']}", flush=True)


def receive(url):
    """Waits for a job. A `receive` that failed is repeated only while the worker is not stopping."""
    body = {"max": 1, "waitSeconds": WAIT_SECONDS}
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


def work(url, once):
    while not stopping:
        jobs = receive(url)
        for job in jobs:
            receipt = {"receipt": job["receipt"]}
            try:
                with extended(url, job["receipt"]) as lost:
                    make_thumbnail(job, lost)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                print(f"job {job['id']}, attempt {job['attempt']}: {reason}", file=sys.stderr, flush=True)
                settle(url, f"/topics/{TOPIC}/retry", {**receipt, "error": reason})
            else:
                settle(url, f"/topics/{TOPIC}/finish", receipt)
        if once and jobs:
            return


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    print(f"waits for jobs of {TOPIC} at {URL}", file=sys.stderr, flush=True)
    try:
        work(URL, "--once" in sys.argv)
    except Refused as error:
        # For example, the queue has no such topic.
        sys.exit(error.detail or str(error))

"""Files or cancels a job of topic `thumbnail` over HTTP:

python3 producer.py file IMAGE WIDTH DELAY    # a DELAY such as 30m; a number without a unit is seconds
python3 producer.py cancel IMAGE

MINUTEHAND_URL is the address of the API. Without it, the producer calls the local stack.
"""

import os
import sys
import urllib.parse
import uuid

from api import Refused, call

URL = os.environ.get("MINUTEHAND_URL", "http://127.0.0.1:4500").rstrip("/")
TOPIC = "thumbnail"
TRIES = 6


def few(tries):
    """Somebody waits for a producer, so it gives up sooner than a worker."""
    return tries < TRIES


def file(image, width, delay):
    """Files a job, and returns it. The image is the job's key: while the job waits, a further call replaces it.

    The Idempotency-Key is drawn once, before the first try. So if the answer of a try is lost, the next try files no second job.
    """
    path = f"/topics/{TOPIC}/jobs/{urllib.parse.quote(image, safe='')}"
    body = {"delay": int(delay) if delay.isdigit() else delay, "body": {"image": image, "width": int(width)}}
    return call(URL, "PUT", path, body, key=str(uuid.uuid4()), go_on=few)


def cancel(image):
    """Cancels the job of an image, and returns what became of it: `cancelled`, or the code of the refusal."""
    path = f"/topics/{TOPIC}/jobs/{urllib.parse.quote(image, safe='')}"
    try:
        return call(URL, "DELETE", path, go_on=few)["state"]
    except Refused as error:
        # Too late: nobody can cancel these jobs. Any other refusal needs a person.
        if error.code in ("job-running", "job-finished", "job-not-found"):
            return error.code
        raise


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "file":
        job = file(*rest)
        print(f"{job['id']} is due at {job['dueAt']}")
    else:
        print(cancel(*rest))

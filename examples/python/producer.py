"""Files or cancels a job of topic `thumbnail` over HTTP:

python3 producer.py file URL IMAGE WIDTH DELAY    # a DELAY such as 30m; a number without a unit is seconds
python3 producer.py cancel URL IMAGE
"""

import sys
import urllib.parse
import uuid

from api import Refused, call

TOPIC = "thumbnail"
TRIES = 6


def few(tries):
    """Somebody waits for a producer, so it gives up sooner than a worker."""
    return tries < TRIES


def file(url, image, width, delay):
    """Files a job, and returns it. The image is the job's key: while the job waits, a further call replaces it.

    The Idempotency-Key is drawn once, before the first try. So if the answer of a try is lost, the next try files no second job.
    """
    path = f"/topics/{TOPIC}/jobs/{urllib.parse.quote(image, safe='')}"
    body = {"delay": int(delay) if delay.isdigit() else delay, "body": {"image": image, "width": int(width)}}
    return call(url, "PUT", path, body, key=str(uuid.uuid4()), go_on=few)


def cancel(url, image):
    """Cancels the job of an image, and returns what became of it: `cancelled`, or the code of the refusal."""
    path = f"/topics/{TOPIC}/jobs/{urllib.parse.quote(image, safe='')}"
    try:
        return call(url, "DELETE", path, go_on=few)["state"]
    except Refused as error:
        # Too late: nobody can cancel these jobs. Any other refusal needs a person.
        if error.code in ("job-running", "job-finished", "job-not-found"):
            return error.code
        raise


if __name__ == "__main__":
    command, base, *rest = sys.argv[1:]
    if command == "file":
        job = file(base.rstrip("/"), *rest)
        print(f"{job['id']} is due at {job['dueAt']}")
    else:
        print(cancel(base.rstrip("/"), *rest))

"""One life of a job through the client that openapi-python-client makes."""

import sys
from datetime import timedelta

from client import Client
from client.api.jobs import bulk, cancel, enqueue, enqueue_many, get_job, list_jobs, reschedule
from client.api.pull import finish, receive
from client.api.topics import get_topic
from client.models import BulkCancel, BulkCancelAction, Changes, Finishing, JobState, NewJob, NewJobs, Problem, Receiving, TimelineEvent

here = Client(base_url=sys.argv[1])

order = NewJob(topic="work", body={"by": "openapi-python-client"}, delay="1h", expires_after=90.5)
filed = enqueue.sync(client=here, body=order, idempotency_key="life-of-openapi-python-client")
assert (filed.state, filed.expires_after) == (JobState.SCHEDULED, 90.5), filed
assert get_job.sync(filed.id, client=here).timeline[0].event == TimelineEvent.FILED

later = filed.due_at + timedelta(hours=1)
assert reschedule.sync(filed.id, client=here, body=Changes(due_at=later)).due_at == later
end = later + timedelta(seconds=1)
assert [job.id for job in list_jobs.sync(client=here, topic="work", from_=later, to=end).jobs] == [filed.id]
everything = BulkCancel(action=BulkCancelAction.CANCEL, topic="work", from_=later, to=end, dry_run=True)
assert bulk.sync(client=here, body=everything).matched == 1
assert cancel.sync(filed.id, client=here).state == JobState.CANCELLED

now = NewJob(topic="work", body=17, delay=0)
nowhere = NewJob(topic="no-topic", body=1, delay="1s")
first, second = enqueue_many.sync(client=here, body=NewJobs(jobs=[now, nowhere])).results
assert second.error.code == "unknown-topic", second
(pulled,) = receive.sync("work", client=here, body=Receiving(wait_seconds=20)).jobs
assert (pulled.id, pulled.body) == (first.job.id, 17), pulled
assert finish.sync("work", client=here, body=Finishing(receipt=pulled.receipt)).state == JobState.DONE

assert get_topic.sync("work", client=here).policy.backoff.waits
missing = get_job.sync("01KGJPQM00T9B5Q2V3W4X5Y6Z7", client=here)
assert isinstance(missing, Problem) and missing.code == "job-not-found", missing
order.due_at = later
refused = enqueue.sync(client=here, body=order)
assert isinstance(refused, Problem) and len(refused.errors) == 1, refused

"""One life of a job through the client that openapi-generator makes for Python."""

import sys
from datetime import timedelta

from generated import ApiClient, ApiException, Configuration, JobsApi, PullApi, TopicsApi
from generated.models import Bulk, BulkCancel, Changes, Duration, DurationAbove0, Finishing, NewJob, NewJobs, Problem, Receiving

client = ApiClient(Configuration(host=sys.argv[1]))
jobs, pull, topics = JobsApi(client), PullApi(client), TopicsApi(client)


def refusal(call, *args):
    try:
        call(*args)
    except ApiException as refused:
        return Problem.from_json(refused.body)
    raise AssertionError("the call was not refused")


order = NewJob(topic="work", body={"by": "openapi-generator"}, delay=Duration("1h"), expires_after=DurationAbove0(90.5))
filed = jobs.enqueue(order, idempotency_key="life-of-openapi-generator")
assert (filed.state, filed.expires_after) == ("scheduled", 90.5), filed
assert jobs.get_job(filed.id).timeline[0].event == "filed"

later = filed.due_at + timedelta(hours=1)
assert jobs.reschedule(filed.id, Changes(due_at=later)).due_at == later
end = later + timedelta(seconds=1)
assert [job.id for job in jobs.list_jobs(topic="work", var_from=later, to=end).jobs] == [filed.id]
everything = Bulk(BulkCancel(action="cancel", topic="work", var_from=later, to=end, dry_run=True))
assert jobs.bulk(everything).matched == 1
assert jobs.cancel(filed.id).state == "cancelled"

now = NewJob(topic="work", body=17, delay=Duration(0))
nowhere = NewJob(topic="no-topic", body=1, delay=Duration("1s"))
first, second = jobs.enqueue_many(NewJobs(jobs=[now, nowhere])).results
assert second.error.code == "unknown-topic", second
(pulled,) = pull.receive("work", Receiving(wait_seconds=20)).jobs
assert (pulled.id, pulled.body) == (first.job.id, 17), pulled
assert pull.finish("work", Finishing(receipt=pulled.receipt)).state == "done"

assert topics.get_topic("work").policy.backoff.waits
assert refusal(jobs.get_job, "01KGJPQM00T9B5Q2V3W4X5Y6Z7").code == "job-not-found"
order.due_at = later
assert len(refusal(jobs.enqueue, order).errors) == 1

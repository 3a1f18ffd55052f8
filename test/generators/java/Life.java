import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import minutehand.ApiClient;
import minutehand.ApiException;
import minutehand.api.JobsApi;
import minutehand.api.PullApi;
import minutehand.api.TopicsApi;
import minutehand.model.*;

/** One life of a job through the client that openapi-generator makes for Java. */
class Life {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(args[0]);
    JobsApi jobs = new JobsApi(client);
    PullApi pull = new PullApi(client);

    NewJob order = new NewJob().topic("work").body(Map.of("by", "java")).delay(new Duration("1h")).expiresAfter(new DurationAbove0(90.5));
    Job filed = jobs.enqueue(order, null, "life-of-java");
    same(filed.getState(), JobState.SCHEDULED);
    same(filed.getExpiresAfter(), 90.5);
    same(jobs.getJob(filed.getId()).getTimeline().get(0).getEvent(), TimelineEvent.FILED);

    OffsetDateTime later = filed.getDueAt().plusHours(1);
    same(jobs.reschedule(filed.getId(), new Changes().dueAt(later), null, null, null).getDueAt(), later);
    JobPage page = jobs.listJobs("work", later, later.plusSeconds(1), null, null, null, 10, null);
    same(page.getJobs().get(0).getId(), filed.getId());
    BulkCancel all = new BulkCancel().action(BulkCancel.ActionEnum.CANCEL).topic("work").from(later).to(later.plusSeconds(1)).dryRun(true);
    same(jobs.bulk(new Bulk(all), null, null).getMatched(), 1L);
    same(jobs.cancel(filed.getId(), "the order is paid", "\"1\"").getState(), JobState.CANCELLED);

    NewJob now = new NewJob().topic("work").body(17).delay(new Duration(0.0));
    List<BatchResult> results = jobs.enqueueMany(new NewJobs().jobs(List.of(now, new NewJob().topic("no-topic").body(1).delay(new Duration("1s")))), null, null).getResults();
    same(results.get(1).getError().getCode(), "unknown-topic");
    PulledJob pulled = pull.receive("work", new Receiving().waitSeconds(20)).getJobs().get(0);
    same(pulled.getId(), results.get(0).getJob().getId());
    same(pulled.getBody(), 17);
    same(pull.finish("work", new Finishing().receipt(pulled.getReceipt())).getState(), JobState.DONE);

    same(new TopicsApi(client).getTopic("work").getPolicy().getBackoff().getWaits().isEmpty(), false);
    same(refusal(() -> jobs.getJob("01KGJPQM00T9B5Q2V3W4X5Y6Z7")).getCode(), "job-not-found");
    order.dueAt(later);
    same(refusal(() -> jobs.enqueue(order, null, null)).getErrors().size(), 1);
  }

  interface Call {
    void run() throws ApiException;
  }

  static Problem refusal(Call call) throws Exception {
    try {
      call.run();
    } catch (ApiException refused) {
      return ApiClient.createDefaultObjectMapper().readValue(refused.getResponseBody(), Problem.class);
    }
    throw new AssertionError("the call was not refused");
  }

  static void same(Object is, Object wanted) {
    if (!wanted.equals(is)) throw new AssertionError("is " + is + ", must be " + wanted);
  }
}

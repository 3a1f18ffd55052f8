// One life of a job through the client that oapi-codegen makes.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"minutehand/life/client"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func same[T comparable](is, wanted T) {
	if is != wanted {
		panic(fmt.Sprintf("is %v, must be %v", is, wanted))
	}
}

func durationText(text string) *client.Duration {
	duration := &client.Duration{}
	if err := duration.FromDurationText(text); err != nil {
		panic(err)
	}
	return duration
}

func main() {
	ctx := context.Background()
	api := must(client.NewClientWithResponses(os.Args[1]))
	key := "life-of-oapi-codegen"
	order := client.NewJob{Topic: "work", Body: map[string]string{"by": "go"}, Delay: durationText("1h"), ExpiresAfter: &client.DurationAbove0{}}
	if err := order.ExpiresAfter.FromDurationAbove00(90.5); err != nil {
		panic(err)
	}
	filed := must(api.EnqueueWithResponse(ctx, &client.EnqueueParams{IdempotencyKey: &key}, order)).JSON201
	same(filed.State, client.JobStateScheduled)
	same(*filed.ExpiresAfter, 90.5)
	same(must(api.GetJobWithResponse(ctx, filed.Id)).JSON200.Timeline[0].Event, client.TimelineEventFiled)

	later := filed.DueAt.Add(time.Hour)
	moved := must(api.RescheduleWithResponse(ctx, filed.Id, nil, client.Changes{DueAt: &later})).JSON200
	same(moved.DueAt, later)
	end, work, dry := later.Add(time.Second), "work", true
	page := must(api.ListJobsWithResponse(ctx, &client.ListJobsParams{Topic: &work, From: &later, To: &end})).JSON200
	same(page.Jobs[0].Id, filed.Id)
	var everything client.Bulk
	if err := everything.FromBulkCancel(client.BulkCancel{Topic: work, From: &later, To: &end, DryRun: &dry}); err != nil {
		panic(err)
	}
	same(must(api.BulkWithResponse(ctx, nil, everything)).JSON200.Matched, int64(1))
	same(must(api.CancelWithResponse(ctx, filed.Id, nil)).JSON200.State, client.JobStateCancelled)

	batch := client.NewJobs{Jobs: []client.NewJob{
		{Topic: work, Body: 17, Delay: durationText("0s")},
		{Topic: "no-topic", Body: 1, Delay: durationText("1s")},
	}}
	results := must(api.EnqueueManyWithResponse(ctx, nil, batch)).JSON200.Results
	same(results[1].Error.Code, "unknown-topic")
	wait := 20
	pulled := must(api.ReceiveWithResponse(ctx, work, client.Receiving{WaitSeconds: &wait})).JSON200.Jobs[0]
	same(pulled.Id, results[0].Job.Id)
	same(pulled.Body, any(17.0))
	done := must(api.FinishWithResponse(ctx, work, client.Finishing{Receipt: pulled.Receipt})).JSON200
	same(*done.State, client.JobStateDone)

	backoff := must(api.GetTopicWithResponse(ctx, work)).JSON200.Policy.Backoff
	same(len(*backoff.Waits) > 0, true)
	same(must(api.GetJobWithResponse(ctx, "01KGJPQM00T9B5Q2V3W4X5Y6Z7")).ApplicationproblemJSON404.Code, "job-not-found")
	order.DueAt = &later
	refused := must(api.EnqueueWithResponse(ctx, nil, order)).ApplicationproblemJSON400
	same(len(*refused.Errors), 1)
}

// Pulls the jobs of a topic over HTTP, one at a time: go run ./worker [TOPIC] [--once]. Without TOPIC: `thumbnail`
//
// MINUTEHAND_URL is the address of the API. Without it, the worker calls the local stack.
//
// Other workers do not get the job until its lease ends. While a job runs, the worker extends its lease. If this worker dies, the lease
// ends and the run counts as a failed attempt.
//
// To stop the worker, send it SIGTERM. It lets its last `receive` end, which takes up to WAIT_SECONDS (20), runs the job if one still comes,
// and then ends. If you kill it at once, the job of that `receive` has no worker, and loses an attempt.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"minutehand/examples/api"
)

const extendBy = 30

// The path of the topic.
var topic string

var waitFor = seconds("WAIT_SECONDS", 20*time.Second)

// A lease ends after the topic's `ttr`, which is 30 seconds by default. Extend it well before.
var extendEvery = seconds("EXTEND_EVERY", 10*time.Second)

// job is a pulled job. Fields that a later version adds are ignored.
type job struct {
	ID      string `json:"id"`
	Receipt string `json:"receipt"`
	Attempt int    `json:"attempt"`
	Body    struct {
		Image string `json:"image"`
		Width int    `json:"width"`
	} `json:"body"`
}

func main() {
	log.SetFlags(0)
	// Only a mark: the calls do not get this context, because a `receive` that is cut off may have claimed a job for nobody.
	stopping, forget := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer forget()
	arguments := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(one string) bool { return one == "--once" })
	url := cmp.Or(os.Getenv("MINUTEHAND_URL"), "http://127.0.0.1:4500")
	name := append(arguments, "thumbnail")[0]
	topic = "/topics/" + name
	log.Printf("waits for jobs of %s at %s", name, url)
	client, err := api.New(context.Background(), url)
	if err == nil {
		err = work(client, stopping, slices.Contains(os.Args, "--once"))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func work(client *api.Client, stopping context.Context, once bool) error {
	for stopping.Err() == nil {
		jobs, err := receive(client, stopping)
		if err != nil {
			return err
		}
		for _, one := range jobs {
			if err := run(client, one); err != nil {
				return err
			}
		}
		if once && len(jobs) > 0 {
			return nil
		}
	}
	return nil
}

// receive waits for a job. A `receive` that failed is repeated only while the worker is not stopping.
func receive(client *api.Client, stopping context.Context) ([]job, error) {
	var answer struct{ Jobs []job }
	request := api.Request{
		Method: "POST", Path: topic + "/receive",
		Body: map[string]any{"max": 1, "waitSeconds": waitFor.Seconds()},
		GoOn: func(int) bool { return stopping.Err() == nil },
	}
	err := client.Call(context.Background(), request, &answer)
	if err != nil && stopping.Err() != nil {
		return nil, nil
	}
	return answer.Jobs, err
}

// run does one job, and tells the API how it ended.
func run(client *api.Client, one job) error {
	ctx, cancel := context.WithCancel(context.Background())
	extended := make(chan struct{})
	go func() {
		defer close(extended)
		extend(ctx, cancel, client, one.Receipt)
	}()
	failure := makeThumbnail(ctx, one)
	cancel()
	<-extended
	if failure != nil {
		log.Printf("job %s, attempt %d: %v", one.ID, one.Attempt, failure)
		return settle(client, "/retry", map[string]string{"receipt": one.Receipt, "error": failure.Error()})
	}
	return settle(client, "/finish", map[string]string{"receipt": one.Receipt})
}

// extend extends the lease until ctx ends. If the claim is lost, it cancels ctx, so that the work stops.
func extend(ctx context.Context, cancel context.CancelFunc, client *api.Client, receipt string) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(extendEvery):
		}
		body := map[string]any{"receipt": receipt, "seconds": extendBy}
		err := client.Call(ctx, api.Request{Method: "POST", Path: topic + "/extend", Body: body}, &struct{}{})
		if err != nil && ctx.Err() == nil {
			log.Printf("extend: %v", err)
			cancel()
			return
		}
	}
}

// makeThumbnail does the work of a job. If it returns an error, the job runs again by the topic's backoff.
func makeThumbnail(ctx context.Context, one job) error {
	if one.Body.Width <= 0 {
		return fmt.Errorf("width must be more than 0, is %d", one.Body.Width)
	}
	select { // stands for the work
	case <-time.After(seconds("WORK_SECONDS", 0)):
	case <-ctx.Done():
		return ctx.Err()
	}
	fmt.Printf("%s at %d px, attempt %d\n", one.Body.Image, one.Body.Width, one.Attempt)
	return nil
}

// settle tells the API how a run ended. The API answers 409 if the lease ended first, because then the job runs again.
func settle(client *api.Client, path string, body any) error {
	err := client.Call(context.Background(), api.Request{Method: "POST", Path: topic + path, Body: body}, &struct{}{})
	var problem *api.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusConflict {
		log.Printf("%s: %v; it took longer than its lease", topic+path, err)
		return nil
	}
	return err
}

// seconds reads a number of seconds from the environment.
func seconds(name string, otherwise time.Duration) time.Duration {
	read, err := time.ParseDuration(os.Getenv(name) + "s")
	if err != nil {
		return otherwise
	}
	return read
}

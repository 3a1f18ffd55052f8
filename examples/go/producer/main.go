// Files or cancels a job of topic `thumbnail` over HTTP:
//
//	go run ./producer file IMAGE WIDTH DELAY    # a DELAY such as 30m
//	go run ./producer cancel IMAGE
//
// MINUTEHAND_URL is the address of the API. Without it, the producer calls the local stack.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"slices"
	"strconv"

	"minutehand/examples/api"
)

const topic = "/topics/thumbnail"

// tries: somebody waits for a producer, so it gives up sooner than a worker.
const tries = 6

// tooLate are the codes for a job that nobody can cancel. Any other refusal needs a person.
var tooLate = []string{"job-running", "job-finished", "job-not-found"}

type job struct {
	ID    string `json:"id"`
	DueAt string `json:"dueAt"`
	State string `json:"state"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: producer file IMAGE WIDTH DELAY, or producer cancel IMAGE")
	}
	command, rest := os.Args[1], os.Args[2:]
	client, err := api.New(context.Background(), cmp.Or(os.Getenv("MINUTEHAND_URL"), "http://127.0.0.1:4500"))
	if err != nil {
		log.Fatal(err)
	}
	say := cancel
	if command == "file" {
		say = file
	}
	said, err := say(client, rest)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(said)
}

// file files a job. The image is the job's key: while the job waits, a further call replaces it.
//
// The Idempotency-Key is drawn once, before the first try. So if the answer of a try is lost, the next try files no second job.
func file(client *api.Client, arguments []string) (string, error) {
	if len(arguments) != 3 {
		return "", errors.New("usage: producer file IMAGE WIDTH DELAY")
	}
	image, delay := arguments[0], arguments[2]
	width, err := strconv.Atoi(arguments[1])
	if err != nil {
		return "", err
	}
	body := map[string]any{"delay": delay, "body": map[string]any{"image": image, "width": width}}
	var filed job
	err = client.Call(context.Background(), api.Request{
		Method: "PUT", Path: topic + "/jobs/" + url.PathEscape(image), Body: body, Key: rand.Text(), GoOn: few,
	}, &filed)
	return fmt.Sprintf("%s is due at %s", filed.ID, filed.DueAt), err
}

// cancel cancels the job of an image, and says what became of it: `cancelled`, or the code of the refusal.
func cancel(client *api.Client, arguments []string) (string, error) {
	var cancelled job
	request := api.Request{Method: "DELETE", Path: topic + "/jobs/" + url.PathEscape(arguments[0]), GoOn: few}
	err := client.Call(context.Background(), request, &cancelled)
	var problem *api.Problem
	if errors.As(err, &problem) && slices.Contains(tooLate, problem.Code) {
		return problem.Code, nil
	}
	return cancelled.State, err
}

func few(tried int) bool { return tried < tries }

// Package api calls Minutehand's API over HTTP: it signs each call on AWS, and repeats a call that gets no answer.
package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
)

const (
	timeout      = 30 * time.Second
	firstPause   = 200 * time.Millisecond
	longestPause = 20 * time.Second
)

var gateway = regexp.MustCompile(`\.execute-api\.([a-z0-9-]+)\.`)

// Client calls one API. It signs its calls if the URL is of API Gateway, with the credentials that AWS's SDK finds.
type Client struct {
	url         string
	region      string // "": calls are not signed
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	http        http.Client
}

// Request is a call of the API.
type Request struct {
	Method, Path string
	Body         any // nil: none
	// Key is the Idempotency-Key of a call that must not take effect twice.
	Key string
	// GoOn says after a number of tries whether to try once more. nil: always.
	GoOn func(tries int) bool
}

// Problem is an answer of the API that is not 2xx.
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	// wait is what the header Retry-After says, or -1.
	wait time.Duration
}

func (p *Problem) Error() string { return fmt.Sprintf("%d %s %s", p.Status, p.Code, p.Detail) }

// New makes a client. It loads credentials only if the URL is of API Gateway.
func New(ctx context.Context, url string) (*Client, error) {
	client := &Client{url: strings.TrimSuffix(url, "/"), signer: v4.NewSigner(), http: http.Client{
		Timeout: timeout,
		// To follow a redirect would turn a POST into a GET, and the signature is for one host only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if found := gateway.FindStringSubmatch(url); found != nil {
		settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(found[1]))
		if err != nil {
			return nil, err
		}
		client.region, client.credentials = found[1], settings.Credentials
	}
	return client, nil
}

// Call calls the API until it answers, and decodes the JSON of the answer. It returns a *Problem if the API refuses the call, and the
// last trouble if GoOn says that the tries are enough, or ctx ends.
func (c *Client) Call(ctx context.Context, request Request, answer any) error {
	pause := firstPause
	for tries := 1; ; tries++ {
		err := c.send(ctx, request, answer)
		problem, refused := err.(*Problem)
		if err == nil && tries > 1 {
			fmt.Fprintf(os.Stderr, "%s: the API answers again\n", request.Path)
		}
		if err == nil || (refused && problem.Status < 500 && problem.Status != http.StatusTooManyRequests) {
			return err
		}
		if ctx.Err() != nil || (request.GoOn != nil && !request.GoOn(tries)) {
			return err
		}
		wait := pause
		if refused && problem.wait >= 0 {
			wait = problem.wait
		}
		fmt.Fprintf(os.Stderr, "%s: %v; again in %v s\n", request.Path, err, wait.Seconds())
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		pause = min(2*pause, longestPause)
	}
}

func (c *Client) send(ctx context.Context, request Request, answer any) error {
	body := []byte{}
	if request.Body != nil {
		encoded, err := json.Marshal(request.Body)
		if err != nil {
			return err
		}
		body = encoded
	}
	call, err := http.NewRequestWithContext(ctx, request.Method, c.url+request.Path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	call.Header.Set("content-type", "application/json")
	if request.Key != "" {
		call.Header.Set("idempotency-key", request.Key)
	}
	if c.region != "" {
		if err := c.sign(ctx, call, body); err != nil {
			return err
		}
	}
	response, err := c.http.Do(call)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return problemOf(response, text)
	}
	return json.Unmarshal(text, answer)
}

// sign adds AWS's Signature Version 4.
func (c *Client) sign(ctx context.Context, call *http.Request, body []byte) error {
	credentials, err := c.credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(body)
	return c.signer.SignHTTP(ctx, credentials, call, hex.EncodeToString(hash[:]), "execute-api", c.region, time.Now())
}

// problemOf reads a refusal. A proxy may answer text that is not JSON, so the status is the one of the answer.
func problemOf(response *http.Response, text []byte) *Problem {
	problem := &Problem{wait: -1}
	_ = json.Unmarshal(text, problem)
	problem.Status = response.StatusCode
	if seconds, err := strconv.Atoi(response.Header.Get("retry-after")); err == nil && seconds >= 0 {
		problem.wait = time.Duration(seconds) * time.Second
	}
	return problem
}

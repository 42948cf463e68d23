// Sends what it is asked for, by go-retryablehttp as an application sets it up: client SETTING.
//
// One JSON object a line comes in (method, url, account, key, amount), one goes out (status, replayed, or error).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

type ask struct {
	Method  string  `json:"method"`
	URL     string  `json:"url"`
	Account string  `json:"account"`
	Key     *string `json:"key"`
	Amount  int     `json:"amount"`
}

type told struct {
	Status   *int   `json:"status"`
	Replayed bool   `json:"replayed"`
	Error    string `json:"error,omitempty"`
}

// begin: go
// A 409 that says when to come back is tried again too, and then: the first request still runs.
func comesBack(client *retryablehttp.Client) {
	client.CheckRetry = func(ctx context.Context, response *http.Response, err error) (bool, error) {
		if err == nil && response.StatusCode == http.StatusConflict && response.Header.Get("Retry-After") != "" {
			return true, nil
		}
		return retryablehttp.DefaultRetryPolicy(ctx, response, err)
	}
	client.Backoff = func(min, max time.Duration, attempt int, response *http.Response) time.Duration {
		if response != nil {
			if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
				return time.Duration(seconds) * time.Second
			}
		}
		return retryablehttp.DefaultBackoff(min, max, attempt, response)
	}
}

// end: go

func send(client *retryablehttp.Client, ask ask) (told, error) {
	var body interface{}
	if ask.Method != http.MethodGet {
		body = []byte(fmt.Sprintf(`{"amount":%d}`, ask.Amount))
	}
	request, err := retryablehttp.NewRequest(ask.Method, ask.URL, body)
	if err != nil {
		return told{}, err
	}
	request.Header.Set("X-Account", ask.Account)
	request.Header.Set("Content-Type", "application/json")
	if ask.Key != nil {
		request.Header.Set("Idempotency-Key", *ask.Key)
	}
	response, err := client.Do(request)
	if err != nil {
		return told{}, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return told{}, err
	}
	replayed := response.Header.Get("Idempotent-Replayed") == "true"
	return told{Status: &response.StatusCode, Replayed: replayed}, nil
}

func main() {
	client := retryablehttp.NewClient()
	client.Logger = nil
	if os.Args[1] == "retryablehttp-409" {
		comesBack(client)
	}
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var ask ask
		err := json.Unmarshal(lines.Bytes(), &ask)
		var said told
		if err == nil {
			said, err = send(client, ask)
		}
		if err != nil {
			said = told{Error: err.Error()}
		}
		if err := out.Encode(said); err != nil {
			panic(err)
		}
	}
}

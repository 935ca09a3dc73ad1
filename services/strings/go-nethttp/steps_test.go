// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// What the experiment strings-ladder compares: a constant, the answer alone, and the answer observed.

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, response.StatusCode, err)
	}
	return string(body)
}

func TestEachStepAnswersAlikeAndOnlyTheObservedOneIsCounted(t *testing.T) {
	for _, c := range []struct {
		flag  string
		count bool
	}{{"--lean", false}, {"--metrics=off", false}, {"--metrics=on", true}} {
		address, stop, exited := started(t, "--craft=idiomatic", c.flag)
		response, err := http.Post("http://"+address+"/uppercase", "application/json", strings.NewReader(`{"s":"hello"}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || string(body) != `{"v":"HELLO"}` {
			t.Errorf("%s: %q, %v", c.flag, body, err)
		}
		metrics := get(t, "http://"+address+"/metrics")
		if got := strings.Contains(metrics, `http_requests_total{path="/uppercase",status="200"} 1`); got != c.count {
			t.Errorf("%s: counted is %v", c.flag, got)
		}
		if !strings.Contains(metrics, "\ngo_gc_heap_allocs_bytes_total ") {
			t.Errorf("%s: the runtime does not tell what it allocated", c.flag)
		}
		stop()
		<-exited
	}
}

func TestALogNeedsWhatIsObserved(t *testing.T) {
	var stderr strings.Builder
	status := run(context.Background(), []string{"--port=0", "--metrics=off", "--logging=on"}, io.Discard, &stderr)
	if status != badUsage || !strings.Contains(stderr.String(), "--logging on needs --metrics on") {
		t.Errorf("status %d, %s", status, stderr.String())
	}
}

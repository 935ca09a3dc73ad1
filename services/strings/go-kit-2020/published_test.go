// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/ioutil"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

type contractCase struct {
	Name, Face, Language string
	Services             []string
	Request              struct {
		Method, Path, Body string
		Headers            map[string]string
	}
	Expect struct {
		Status int
		Body   *string
		JSON   interface{}
	}
}

func (c contractCase) isOurs() bool {
	if c.Face != "published" {
		return false
	}
	for _, name := range c.Services {
		if name == "go-kit-2020" {
			return true
		}
	}
	return len(c.Services) == 0 && (c.Language == "" || c.Language == "go")
}

func published(sink io.Writer, logging bool) *httptest.Server {
	return httptest.NewServer(routes(leveled(sink, logging), prometheus.NewRegistry()))
}

func TestEveryCaseOfTheContractHolds(t *testing.T) {
	data, err := ioutil.ReadFile("../contract/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	server := published(ioutil.Discard, true)
	defer server.Close()
	asked := 0
	for _, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var c contractCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if c.isOurs() {
			asked++
			t.Run(c.Name, func(t *testing.T) { check(t, server, c) })
		}
	}
	if asked < 18 {
		t.Errorf("only %d cases", asked)
	}
}

func check(t *testing.T, server *httptest.Server, c contractCase) {
	status, body := ask(t, server, c.Request.Method, c.Request.Path, c.Request.Body)
	if status != c.Expect.Status {
		t.Errorf("status %d, not %d", status, c.Expect.Status)
	}
	if c.Expect.Body != nil && body != *c.Expect.Body {
		t.Errorf("body %q, not %q", body, *c.Expect.Body)
	}
	if c.Expect.JSON != nil {
		var answer interface{}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || !reflect.DeepEqual(answer, c.Expect.JSON) {
			t.Errorf("body %q is not %v", body, c.Expect.JSON)
		}
	}
}

func ask(t *testing.T, server *httptest.Server, method, path, body string) (int, string) {
	request, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := ioutil.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestALineFollowsEachCallWhereLoggingIsOn(t *testing.T) {
	for _, logging := range []bool{true, false} {
		var sink bytes.Buffer
		server := published(&sink, logging)
		ask(t, server, "POST", "/uppercase", `{"s":"hello"}`)
		ask(t, server, "POST", "/count", `{"s":"hello"}`)
		server.Close()
		wanted := ""
		if logging {
			wanted = `level=info method=uppercase input=hello output=HELLO err=null took=\S+\nlevel=info method=count input=hello n=5 took=\S+\n`
		}
		if !regexp.MustCompile("^" + wanted + "$").MatchString(sink.String()) {
			t.Errorf("logging %v: %q", logging, sink.String())
		}
	}
}

func TestEveryCallIsCountedAndTimed(t *testing.T) {
	server := published(ioutil.Discard, false)
	defer server.Close()
	ask(t, server, "POST", "/uppercase", `{"s":"hello"}`)
	ask(t, server, "POST", "/count", `{"s":"hello"}`)
	_, text := ask(t, server, "GET", "/metrics", "")
	for _, line := range []string{
		`my_group_string_service_request_count{error="false",method="uppercase"} 1`,
		`my_group_string_service_request_latency_microseconds_count{error="false",method="count"} 1`,
		`my_group_String_service_count_result_sum 5`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}

func TestABodyOverTheLimitIsRefused(t *testing.T) {
	server := published(ioutil.Discard, false)
	defer server.Close()
	long := fmt.Sprintf(`{"s":"%s"}`, strings.Repeat("x", maxBodyBytes))
	if status, _ := ask(t, server, "POST", "/uppercase", long); status != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", status)
	}
}

func TestItServesUntilItIsStoppedAndAppendsToItsFile(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	file := filepath.Join(t.TempDir(), "log")
	reader, writer := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		args := []string{"--port", "0", "--face=published", "--logging=on", "--log-sink=file", "--log-file=" + file}
		ended <- run(ctx, args, writer)
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var port int
	if _, err := fmt.Sscanf(line, "listening host=127.0.0.1 port=%d", &port); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	response, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/count", port), "", strings.NewReader(`{"s":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	stop()
	if status := <-ended; status != 0 {
		t.Errorf("status %d", status)
	}
	if text, err := ioutil.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "level=info method=count ") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestFlagsThatCannotBeReadAreNamedInOneLine(t *testing.T) {
	for line, named := range map[string]string{
		"--face=published":                            "--port",
		"--port=65536 --face=published":               `"65536"`,
		"--port=0":                                    "--face=published",
		"--port=0 --face=matched":                     "--face=published",
		"--port=0 --face=published --logging=yes":     "off, on",
		"--port=0 --face=published --log-sink=stdout": "null, file, pipe",
		"--port=0 --face=published --log-sink=file":   "--log-file",
		"--port=0 --face=published --lean":            "-lean",
		"--port=0 --face=published surplus":           "surplus",
	} {
		var stderr bytes.Buffer
		status := run(context.Background(), strings.Fields(line), &stderr)
		if text := stderr.String(); status != 2 || !strings.Contains(text, named) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: status %d, %q", line, status, text)
		}
	}
}

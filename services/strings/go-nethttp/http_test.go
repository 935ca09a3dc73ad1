// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func post(t *testing.T, server *httptest.Server, path, body string) *http.Response {
	t.Helper()
	response, err := server.Client().Post(server.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response
}

// lockedBuffer is a log sink that is read while the server may still write.
type lockedBuffer struct {
	mutex sync.Mutex
	data  bytes.Buffer
	calls int
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.calls++
	return b.data.Write(p)
}

// lines returns the n lines that are there: each is written before its answer is sent.
func (b *lockedBuffer) lines(t *testing.T, n int) []string {
	t.Helper()
	b.mutex.Lock()
	text, calls := b.data.String(), b.calls
	b.mutex.Unlock()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != n || calls != n {
		t.Fatalf("%d lines by %d writes, not %d: %q", len(lines), calls, n, text)
	}
	return lines
}

func TestEachWorkloadRequestIsOneLineAndOneWrite(t *testing.T) {
	for _, craft := range []string{"tuned", "idiomatic"} {
		t.Run(craft, func(t *testing.T) { eachRequestIsOneLine(t, craft) })
	}
}

func eachRequestIsOneLine(t *testing.T, craft string) {
	var sink lockedBuffer
	server := craftedServer(t, &sink, craft)
	const stamp = `^ts=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z `
	post(t, server, "/health", "")
	for i, c := range []struct{ path, body, line string }{
		{"/uppercase", `{"s":"hello"}`, `method=POST path=/uppercase status=200 bytes_in=13 bytes_out=13 took_us=\d+$`},
		{"/count?x=y", `{"s":1}`, `method=POST path=/count status=400 bytes_in=7 bytes_out=22 took_us=\d+$`},
		{"/work", strings.Repeat(" ", maxBodyBytes+5), `method=POST path=/work status=413 bytes_in=65541 bytes_out=26 took_us=\d+$`},
		{"/no\tsuch\npath", `{}`, `method=POST path=other status=404 bytes_in=2 bytes_out=21 took_us=\d+$`},
	} {
		post(t, server, strings.NewReplacer("\t", "%09", "\n", "%0A").Replace(c.path), c.body)
		lines := sink.lines(t, i+1)
		if !regexp.MustCompile(stamp + c.line).MatchString(lines[i]) {
			t.Errorf("%s: %q does not match %s", c.path, lines[i], c.line)
		}
	}
}

func TestTimestampIsWhenTheAnswerWasMadeInMicroseconds(t *testing.T) {
	var sink lockedBuffer
	observer := newObserver(newRegistry(), &sink).of("/uppercase", 200)
	begin := time.Date(2026, 1, 31, 9, 30, 59, 999_999_000, time.FixedZone("", 3_600))
	for _, took := range []time.Duration{0, time.Microsecond, 1_234 * time.Microsecond} {
		observer.observe(observation{method: "POST", status: 200, begin: begin, took: took}, nil)
	}
	for i, line := range sink.lines(t, 3) {
		want := []string{"08:30:59.999999", "08:31:00.000000", "08:31:00.001233"}[i]
		if !strings.HasPrefix(line, "ts=2026-01-31T"+want+"Z ") {
			t.Errorf("%q is not at %s", line, want)
		}
	}
}

func TestAnAnswerIsCountedAndLoggedBeforeItIsSent(t *testing.T) {
	recorder := httptest.NewRecorder()
	sent := -1
	sink := writerFunc(func(p []byte) (int, error) {
		sent = recorder.Body.Len()
		return len(p), nil
	})
	registry := newRegistry()
	request := httptest.NewRequest("POST", "/uppercase", strings.NewReader(`{"s":"hello"}`))
	matchedRoutes(newObserver(registry, sink), metricsHandler(registry), "tuned").ServeHTTP(recorder, request)
	if sent != 0 || recorder.Body.Len() != 13 {
		t.Errorf("%d bytes were sent when the line was written, %d at the end", sent, recorder.Body.Len())
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestLogLineNeedsNoMemory(t *testing.T) {
	observer := newObserver(newRegistry(), io.Discard).of("/uppercase", 200)
	line := make([]byte, 0, 256)
	seen := observation{method: "POST", status: 200, begin: time.Now(), took: 41 * time.Microsecond}
	if n := testing.AllocsPerRun(50, func() { line = observer.observe(seen, line) }); n > 0 {
		t.Errorf("%v allocations a line", n)
	}
}

func scrape(t *testing.T, server *httptest.Server) string {
	t.Helper()
	response, err := server.Client().Get(server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Errorf("content type %q", kind)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestMetricsCountRequestsByPathAndStatus(t *testing.T) {
	var sink lockedBuffer
	server := matchedServer(t, &sink)
	post(t, server, "/uppercase", `{"s":"a"}`)
	post(t, server, "/uppercase", `{"s":"b"}`)
	post(t, server, "/work", `{`)
	post(t, server, "/nothing", "")
	sink.lines(t, 4)
	metrics := scrape(t, server)
	for _, line := range []string{
		`http_requests_total{path="/uppercase",status="200"} 2`,
		`http_requests_total{path="/work",status="400"} 1`,
		`http_requests_total{path="other",status="404"} 1`,
		`http_request_duration_seconds_bucket{path="/uppercase",le="+Inf"} 2`,
		`http_request_duration_seconds_count{path="other"} 1`,
	} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	bounds := regexp.MustCompile(`duration_seconds_bucket\{path="/count",le="([^"]+)"`).FindAllStringSubmatch(metrics, -1)
	var got []string
	for _, bound := range bounds {
		got = append(got, bound[1])
	}
	const want = "0.0001 0.00025 0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 +Inf"
	if strings.Join(got, " ") != want {
		t.Errorf("upper bounds %v, not %s", got, want)
	}
}

func TestMetricsTellOfTheRuntime(t *testing.T) {
	metrics := scrape(t, matchedServer(t, nil))
	for _, name := range []string{
		"go_goroutines", "go_memory_classes_heap_objects_bytes", "go_memory_classes_heap_released_bytes",
		"go_gc_cycles_total_gc_cycles_total", "go_sched_pauses_total_gc_seconds_bucket", "go_sched_latencies_seconds_bucket",
		"process_cpu_seconds_total", "process_resident_memory_bytes",
	} {
		if !strings.Contains(metrics, "\n"+name) {
			t.Errorf("no metric %s", name)
		}
	}
}

func TestPublishedFaceLogsAsTheArticleDid(t *testing.T) {
	var sink lockedBuffer
	server := publishedServer(t, &sink)
	post(t, server, "/uppercase", `{"s":"hello"}`)
	post(t, server, "/uppercase", `{"s":""}`)
	post(t, server, "/count", `{"s":"hé"}`)
	for i, line := range sink.lines(t, 3) {
		want := []string{
			`^method=uppercase input=hello output=HELLO err=null took=\S+$`,
			`^method=uppercase input= output= err="Empty string" took=\S+$`,
			`^method=count input=hé n=3 took=\S+$`,
		}[i]
		if !regexp.MustCompile(want).MatchString(line) {
			t.Errorf("%q does not match %s", line, want)
		}
	}
}

func TestPublishedFaceBoundsBodiesAndRefusesBadOnes(t *testing.T) {
	server := publishedServer(t, io.Discard)
	for body, want := range map[string]int{
		"": 400, "{": 400, `{"s":1}`: 400, `{"s":"` + strings.Repeat("x", maxBodyBytes) + `"}`: 413,
	} {
		if got := post(t, server, "/uppercase", body).StatusCode; got != want {
			t.Errorf("%.20q: %d, not %d", body, got, want)
		}
	}
}

func TestLeanAnswersUppercaseAndHealthOnly(t *testing.T) {
	server := httptest.NewServer(leanRoutes(metricsHandler(newRegistry())))
	defer server.Close()
	for path, want := range map[string]int{"/uppercase": 200, "/count": 404, "/metrics": 404} {
		if got := post(t, server, path, "not even JSON").StatusCode; got != want {
			t.Errorf("%s: %d, not %d", path, got, want)
		}
	}
	response, err := server.Client().Get(server.URL + "/health")
	if err != nil || response.StatusCode != 200 {
		t.Errorf("health: %v, %v", response, err)
	}
}

// raw sends bytes on a connection of its own and returns the first answer.
func raw(t *testing.T, server *httptest.Server, text string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func TestPathsAreComparedAsTheyWereSent(t *testing.T) {
	server := matchedServer(t, nil)
	for _, path := range []string{"//uppercase", "/./uppercase", "/upper%63ase", "/uppercase%2F", "/count/../uppercase"} {
		response, body := raw(t, server, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{\"s\":\"a\"}")
		if response.StatusCode != 404 || body != string(notFound) {
			t.Errorf("%s: %d %s", path, response.StatusCode, body)
		}
	}
}

func TestChunkedBodiesAreReadAndCounted(t *testing.T) {
	var sink lockedBuffer
	server := matchedServer(t, &sink)
	_, body := raw(t, server, "POST /uppercase HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"s\"\r\n5\r\n:\"a\"}\r\n0\r\n\r\n")
	if body != `{"v":"A"}` {
		t.Errorf("body %q", body)
	}
	if line := sink.lines(t, 1)[0]; !strings.Contains(line, " bytes_in=9 ") {
		t.Errorf("line %q", line)
	}
}

func TestConnectionsSendSmallPacketsAtOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	control, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	noDelay := 0
	if e := control.Control(func(fd uintptr) {
		noDelay, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY)
	}); e != nil || err != nil || noDelay == 0 {
		t.Errorf("TCP_NODELAY is %d, %v, %v", noDelay, e, err)
	}
}

func TestAnswersAreWholeWhenManyAskAtOnce(t *testing.T) {
	server := matchedServer(t, io.Discard)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 50 {
				text := strings.Repeat(fmt.Sprintf("w%d-%d ", worker, i), 1+i*7)
				response, err := server.Client().Post(server.URL+"/uppercase", "", strings.NewReader(`{"s":"`+text+`"}`))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(response.Body)
				response.Body.Close()
				if want := `{"v":"` + strings.ToUpper(text) + `"}`; err != nil || string(body) != want {
					t.Errorf("%.50q instead of %.50q, %v", body, want, err)
				}
			}
		})
	}
	group.Wait()
}

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

// ask sends a request and returns the status and the body.
func ask(t *testing.T, server *httptest.Server, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
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

func (b *lockedBuffer) text() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.data.String()
}

// lines waits for n lines: one is written after its answer was sent.
func (b *lockedBuffer) lines(t *testing.T, n int) []string {
	t.Helper()
	for range 500 {
		b.mutex.Lock()
		text, calls := b.data.String(), b.calls
		b.mutex.Unlock()
		if strings.Count(text, "\n") >= n {
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if len(lines) != n || calls != n {
				t.Fatalf("%d lines by %d writes, not %d: %q", len(lines), calls, n, text)
			}
			return lines
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %d lines came", n)
	return nil
}

func TestEachWorkloadRequestIsOneLineAndOneWrite(t *testing.T) {
	inEachCraft(t, eachRequestIsOneLine)
}

func eachRequestIsOneLine(t *testing.T, craft string) {
	nowhere(t)
	var sink lockedBuffer
	server := newLoggingService(t, &sink, craft)
	const stamp = `^ts=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z `
	ask(t, server, "GET", "/health", "")
	for i, c := range []struct{ method, path, body, line string }{
		{"POST", "/client/new/12", "", `method=POST path=/client/new status=503 bytes_in=0 bytes_out=32 took_us=\d+$`},
		{"POST", "/client/new/x?x=y", "abc", `method=POST path=/client/new status=400 bytes_in=3 bytes_out=23 took_us=\d+$`},
		{"POST", "/transaction", strings.Repeat(" ", maxBodyBytes+5), `method=POST path=/transaction status=413 bytes_in=65541 bytes_out=26 took_us=\d+$`},
		{"GET", "/client/0/balance", "", `method=GET path=/client/balance status=400 bytes_in=0 bytes_out=18 took_us=\d+$`},
		{"PUT", "/client/1/balance", "{}", `method=PUT path=/client/balance status=405 bytes_in=2 bytes_out=30 took_us=\d+$`},
		{"GET", "/client/2147483648/balance", "", `method=GET path=/client/balance status=404 bytes_in=0 bytes_out=26 took_us=\d+$`},
		{"POST", "/no%09such%0Apath", "{}", `method=POST path=other status=404 bytes_in=2 bytes_out=21 took_us=\d+$`},
	} {
		ask(t, server, c.method, c.path, c.body)
		lines := sink.lines(t, i+1)
		if !regexp.MustCompile(stamp + c.line).MatchString(lines[i]) {
			t.Errorf("%s: %q does not match %s", c.path, lines[i], c.line)
		}
	}
}

// metric returns the value of one line of /metrics.
func metric(t *testing.T, server *httptest.Server, name string) string {
	t.Helper()
	_, text := ask(t, server, "GET", "/metrics", "")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		t.Errorf("no metric %s", name)
		return ""
	}
	return found[1]
}

func TestMetricsCountRequestsByRouteAndStatus(t *testing.T) {
	inEachCraft(t, metricsCountRequests)
}

func metricsCountRequests(t *testing.T, craft string) {
	nowhere(t)
	var sink lockedBuffer
	server := newLoggingService(t, &sink, craft)
	ask(t, server, "GET", "/client/x/balance", "")
	ask(t, server, "GET", "/client/y/balance", "")
	ask(t, server, "POST", "/transaction", "{")
	ask(t, server, "POST", "/nothing", "")
	sink.lines(t, 4) // written after the metrics
	for name, want := range map[string]string{
		`http_requests_total{path="/client/balance",status="400"}`:               "2",
		`http_requests_total{path="/transaction",status="400"}`:                  "1",
		`http_requests_total{path="other",status="404"}`:                         "1",
		`http_request_duration_seconds_bucket{path="/client/balance",le="+Inf"}`: "2",
		`http_request_duration_seconds_count{path="other"}`:                      "1",
		`db_connections{state="in_use"}`:                                         "0", `db_connections{state="idle"}`: "0", `db_connections_opened_total`: "0",
	} {
		if got := metric(t, server, name); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}
	_, metrics := ask(t, server, "GET", "/metrics", "")
	bounds := regexp.MustCompile(`duration_seconds_bucket\{path="/client/new",le="([^"]+)"`).FindAllStringSubmatch(metrics, -1)
	var got []string
	for _, bound := range bounds {
		got = append(got, bound[1])
	}
	const want = "0.0001 0.00025 0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 +Inf"
	if strings.Join(got, " ") != want {
		t.Errorf("upper bounds %v, not %s", got, want)
	}
	for _, name := range []string{
		"go_goroutines", "go_memory_classes_heap_objects_bytes", "go_gc_cycles_total_gc_cycles_total", "go_sched_latencies_seconds_bucket",
		"process_cpu_seconds_total", "process_resident_memory_bytes",
	} {
		if !strings.Contains(metrics, "\n"+name) {
			t.Errorf("no metric %s", name)
		}
	}
}

func TestPublishedAndRepairedFacesBoundBodies(t *testing.T) {
	nowhere(t)
	for _, face := range []string{"published", "repaired"} {
		server := newService(t, "--face="+face)
		for _, path := range []string{"/client/new/1", "/transaction"} {
			if status, _ := ask(t, server, "POST", path, `{"amount":`+strings.Repeat(" ", maxBodyBytes)); status != 413 {
				t.Errorf("%s %s: %d", face, path, status)
			}
		}
	}
}

func TestLeanAnswersTheThreeRoutesAndHealthOnly(t *testing.T) {
	server := httptest.NewServer(leanRoutes())
	defer server.Close()
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"POST", "/client/new/x", 200, `{"id":1,"name":"","email":"","phone":""}`},
		{"POST", "/transaction", 200, `{"id":2,"amount":1,"from_client_id":1,"to_client_id":2}`},
		{"GET", "/client/7/balance", 200, `{"balance":0}`},
		{"GET", "/health", 200, `{"status":"up"}`},
		{"GET", "/transaction", 404, "404 page not found\n"},
		{"GET", "/metrics", 404, "404 page not found\n"},
	} {
		if status, body := ask(t, server, c.method, c.path, "not even JSON"); status != c.status || body != c.body {
			t.Errorf("%s %s: %d %q", c.method, c.path, status, body)
		}
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
	nowhere(t)
	server := newService(t)
	for _, path := range []string{"//client/0/balance", "/./client/0/balance", "/client/%30/balance", "/client/0%2Fbalance", "/x/../client/0/balance", "/client/a%2Fb/balance"} {
		response, body := raw(t, server, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if response.StatusCode != 404 || body != `{"error":"not_found"}` {
			t.Errorf("%s: %d %s", path, response.StatusCode, body)
		}
	}
}

func TestHeadIsAnsweredLikeGetWithoutABody(t *testing.T) {
	inEachCraft(t, headIsAnsweredLikeGet)
}

func headIsAnsweredLikeGet(t *testing.T, craft string) {
	nowhere(t)
	server := newService(t, craft)
	for path, want := range map[string]int{"/health": 200, "/metrics": 200, "/client/0/balance": 400, "/client/1/balance": 503, "/transaction": 405} {
		if status, body := ask(t, server, "HEAD", path, ""); status != want || body != "" {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
}

func TestChunkedBodiesAreReadAndCounted(t *testing.T) {
	inEachCraft(t, chunkedBodiesAreCounted)
}

func chunkedBodiesAreCounted(t *testing.T, craft string) {
	nowhere(t)
	var sink lockedBuffer
	server := newLoggingService(t, &sink, craft)
	_, body := raw(t, server, "POST /transaction HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{\"amou\r\n6\r\nnt\":1}\r\n0\r\n\r\n")
	if body != `{"error":"missing_field"}` {
		t.Errorf("body %q", body)
	}
	if line := sink.lines(t, 1)[0]; !strings.Contains(line, " bytes_in=12 ") {
		t.Errorf("line %q", line)
	}
}

func TestASlowClientIsCutOff(t *testing.T) {
	nowhere(t)
	opts, err := parseFlags([]string{"--port=0"})
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(routes(opts, &database{}, nil))
	if server.ReadHeaderTimeout <= 0 || server.ReadTimeout <= 0 || server.IdleTimeout >= 0 {
		t.Errorf("a slow head, a slow body or an idle connection is not treated as the contract says: %+v", server)
	}
	server.ReadHeaderTimeout, server.ReadTimeout = 50*time.Millisecond, 100*time.Millisecond
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	for _, part := range []string{"POST /transaction HTTP/1.1\r\nHo", "POST /transaction HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, part); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err != nil { // returns only when the server closed the connection
			t.Errorf("%q: %v", part, err)
		}
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

// account makes a client with a balance and returns its id.
func account(t *testing.T, server *httptest.Server, balance int) string {
	t.Helper()
	status, body := ask(t, server, "POST", fmt.Sprint("/client/new/", balance), "")
	found := regexp.MustCompile(`^\{"id":(\d+),"name":"","email":"","phone":""\}\n?$`).FindStringSubmatch(body)
	if status != 200 || found == nil {
		t.Fatalf("%d %s", status, body)
	}
	return found[1]
}

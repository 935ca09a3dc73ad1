// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must come; nothing is asserted about it.
const patience = 20 * time.Second

// lockedBuffer is read while the service may still write.
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

func (b *lockedBuffer) read() (text string, calls int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.data.String(), b.calls
}

// inEachCraft runs a test with the flag of either craft.
func inEachCraft(t *testing.T, test func(t *testing.T, craft string)) {
	for _, craft := range []string{"idiomatic", "tuned"} {
		t.Run(craft, func(t *testing.T) { test(t, "--craft="+craft) })
	}
}

// eventually waits until holds, and fails with what when it never does.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// instance is the whole service in this process, as main would run it.
type instance struct {
	url            string
	address        string
	stdout, stderr *lockedBuffer
	stop           context.CancelFunc // as SIGTERM would
	exited         chan int           // the exit status
	gone           chan struct{}
}

func environment(upstream string, access databaseAccess) func(string) (string, bool) {
	values := map[string]string{
		"UPSTREAM_URL": "http://" + upstream, "PGHOST": access.host, "PGPORT": fmt.Sprint(access.port),
		"PGUSER": access.user, "PGPASSWORD": access.password, "PGDATABASE": access.database,
	}
	return func(name string) (string, bool) { value, found := values[name]; return value, found }
}

// end stops the service and waits for it.
func (s *instance) end() { s.stop(); <-s.gone }

var listening = regexp.MustCompile(`^listening host=127\.0\.0\.1 port=(\d+)\n`)

func started(t *testing.T, upstream *upstreamServer, flags ...string) *instance {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &instance{stdout: &lockedBuffer{}, stderr: &lockedBuffer{}, stop: stop, exited: make(chan int, 1), gone: make(chan struct{})}
	go func() {
		s.exited <- run(ctx, append(flags, "--port=0"), environment(upstream.address, database.access), s.stdout, s.stderr)
		close(s.gone)
	}()
	t.Cleanup(s.end)
	eventually(t, "the service listens", func() bool {
		text, _ := s.stderr.read()
		found := listening.FindStringSubmatch(text)
		if found != nil {
			s.address = "127.0.0.1:" + found[1]
			s.url = "http://" + s.address
		}
		return found != nil
	})
	return s
}

func (s *instance) get(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return exchangeWith(t, request)
}

// expect asks for path and compares status and body; a body of "" is not looked at.
func (s *instance) expect(t *testing.T, path string, status int, body string) {
	t.Helper()
	response, got := s.get(t, path)
	if response.StatusCode != status || body != "" && got != body {
		t.Errorf("%s: %d %.200s, not %d %s", path, response.StatusCode, got, status, body)
	}
}

// metric returns the value of one line of /metrics.
func (s *instance) metric(t *testing.T, name string) string {
	t.Helper()
	_, text := s.get(t, "/metrics")
	_, rest, found := strings.Cut(text, "\n"+name+" ")
	if !found {
		t.Fatalf("no metric %s", name)
	}
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// raw sends bytes on a connection of its own and returns the first answer.
func (s *instance) raw(t *testing.T, text string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
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

func TestEachWorkloadRequestIsOneLineAndOneWrite(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		s := started(t, newUpstreamServer(t), craft, "--logging=on", "--log-sink=pipe")
		const stamp = `^ts=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z `
		s.get(t, "/health")
		for i, c := range []struct{ path, line string }{
			{"/hello?client=1", fmt.Sprintf(`method=GET path=/hello status=200 bytes_in=0 bytes_out=%d took_us=\d+$`, len(leanBody()))},
			{"/db?client=0", `method=GET path=/db status=400 bytes_in=0 bytes_out=22 took_us=\d+$`},
			{"/no%09such%0Apath", `method=GET path=other status=404 bytes_in=0 bytes_out=21 took_us=\d+$`},
		} {
			s.get(t, c.path)
			eventually(t, "a line is written", func() bool {
				text, calls := s.stdout.read()
				return strings.Count(text, "\n") == i+1 && calls == i+1
			})
			text, _ := s.stdout.read()
			lines := strings.Split(text, "\n")
			if !regexp.MustCompile(stamp + c.line).MatchString(lines[i]) {
				t.Errorf("%s: %q does not match %s", c.path, lines[i], c.line)
			}
		}
	})
}

func TestMetricsCountRequestsAndConnections(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		s := started(t, newUpstreamServer(t), craft, "--logging=on", "--log-sink=pipe")
		for _, path := range []string{"/hello", "/hello", "/db", "/db?client=x", "/nothing"} {
			s.get(t, path)
		}
		eventually(t, "all lines are written, and so are the metrics", func() bool { _, calls := s.stdout.read(); return calls == 5 })
		for name, want := range map[string]string{
			`http_requests_total{path="/hello",status="200"}`:               "2",
			`http_requests_total{path="/db",status="200"}`:                  "1",
			`http_requests_total{path="/db",status="400"}`:                  "1",
			`http_requests_total{path="other",status="404"}`:                "1",
			`http_request_duration_seconds_bucket{path="/hello",le="2.5"}`:  "2",
			`http_request_duration_seconds_bucket{path="/hello",le="+Inf"}`: "2",
			`db_connections{state="in_use"}`:                                "0",
			`upstream_connections{state="in_use"}`:                          "0",
			`upstream_connections{state="idle"}`:                            "1",
			`upstream_connections_opened_total`:                             "1",
		} {
			if got := s.metric(t, name); got != want {
				t.Errorf("%s is %s, not %s", name, got, want)
			}
		}
		eventually(t, "the pool opened its minimum", func() bool {
			idle, err := strconv.Atoi(s.metric(t, `db_connections{state="idle"}`))
			return err == nil && idle >= 5 // six when a request wanted one before the five were there
		})
		response, text := s.get(t, "/metrics")
		if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
			t.Errorf("content type %q", kind)
		}
		for _, name := range []string{
			"go_goroutines", "go_memory_classes_heap_objects_bytes", "go_gc_cycles_total_gc_cycles_total",
			"go_sched_latencies_seconds_bucket", "process_cpu_seconds_total", "process_resident_memory_bytes",
		} {
			if !strings.Contains(text, "\n"+name) {
				t.Errorf("no metric %s", name)
			}
		}
	})
}

func TestPathsAndQueriesAreComparedAsTheyWereSent(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		s := started(t, newUpstreamServer(t), craft)
		for path, want := range map[string]string{
			"//hello": string(notFound), "/./hello": string(notFound), "/h%65llo": string(notFound),
			"/hello%2F": string(notFound), "/db/../hello": string(notFound),
			"/hello?client=%31": string(badClient), "/hello?%63lient=0&client=1": string(leanBody()),
			"/hello?client=1;client=2": string(badClient), "/hello?client=1&%zz": string(leanBody()),
		} {
			if _, body := s.raw(t, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); body != want {
				t.Errorf("%s: %.100s, not %.100s", path, body, want)
			}
		}
	})
}

func TestChunkedBodiesAreBoundedAndCounted(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		s := started(t, newUpstreamServer(t), craft, "--logging=on", "--log-sink=pipe")
		const head = "GET /db?client=0 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
		for i, c := range []struct{ chunks, line string }{
			{"4\r\nabcd\r\n5\r\nefghi\r\n0\r\n\r\n", "status=400 bytes_in=9 "},
			{fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", 70_000, strings.Repeat("x", 70_000)), "status=413 bytes_in=65537 "},
		} {
			s.raw(t, head+c.chunks)
			eventually(t, "a line is written", func() bool { _, calls := s.stdout.read(); return calls == i+1 })
			if text, _ := s.stdout.read(); !strings.Contains(text, c.line) {
				t.Errorf("no %s in %q", c.line, text)
			}
		}
	})
}

func TestPublishedFaceBoundsBodies(t *testing.T) {
	s := started(t, newUpstreamServer(t), "--face=published")
	for size, want := range map[int]int{maxBodyBytes: 200, maxBodyBytes + 1: 413} {
		request, err := http.NewRequest(http.MethodGet, s.url+"/hello", strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
		if response, _ := exchangeWith(t, request); response.StatusCode != want {
			t.Errorf("%d bytes: %d, not %d", size, response.StatusCode, want)
		}
	}
}

func TestLeanAnswersHelloAndHealthOnlyAndNeedsNothing(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream)
	_, real := s.get(t, "/hello?client=1")
	asked := upstream.asked.Load()
	lean := started(t, upstream, "--lean")
	lean.expect(t, "/hello", 200, real)
	lean.expect(t, "/hello?client=2", 200, real)
	lean.expect(t, "/health", 200, `{"status":"up"}`)
	lean.expect(t, "/db", 404, "")
	lean.expect(t, "/metrics", 404, "")
	if upstream.asked.Load() != asked {
		t.Error("the upstream was asked")
	}
}

func TestConnectionsSendSmallPacketsAtOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var dialled dialCounter
	client, err := dialled.dial(t.Context(), "tcp", listener.Addr().String()) // as the upstream is called
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := listener.Accept() // as the service is called
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, one := range []net.Conn{conn, client.(*countedConn).Conn} {
		control, err := one.(syscall.Conn).SyscallConn()
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
}

func TestAnswersAreWholeWhenManyAskAtOnce(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		s := started(t, newUpstreamServer(t), craft)
		right := map[string]string{}
		for _, c := range contractCases(t, "matched") {
			if c.Expect.Status == 200 && strings.Contains(c.Name, "-client-") {
				right[c.Request.Path] = *c.Expect.Body
			}
		}
		var group sync.WaitGroup
		for worker := range 8 {
			group.Go(func() {
				for i := range 40 {
					path := fmt.Sprintf("%s?client=%d", []string{"/hello", "/db"}[(i+worker)%2], i%10+1)
					if _, body := s.get(t, path); body != right[path] {
						t.Errorf("%s: %.100s instead of %.100s", path, body, right[path])
					}
				}
			})
		}
		group.Wait()
	})
}

// TestDrippingClientsAreCutOff sends a byte now and then, so that silence is not what ends it.
func TestDrippingClientsAreCutOff(t *testing.T) {
	server := newServer(leanRoutes())
	if server.ReadHeaderTimeout != 10*time.Second || server.ReadTimeout != 30*time.Second || server.IdleTimeout >= 0 {
		t.Errorf("a slow head, a slow body or an idle connection is not treated as the contract says: %+v", server)
	}
	server.ReadHeaderTimeout, server.ReadTimeout = 100*time.Millisecond, 200*time.Millisecond
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	for _, begun := range []string{"GET /hello HTTP/1.1\r\nX: ", "GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n"} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		closed := make(chan struct{})
		go func() { _, _ = io.Copy(io.Discard, conn); close(closed) }() // ends when the server closed the connection
		_, _ = io.WriteString(conn, begun)
		dripping := time.NewTicker(20 * time.Millisecond)
		defer dripping.Stop()
		for late := time.After(20 * time.Second); ; {
			select {
			case <-closed:
			case <-dripping.C:
				_, _ = io.WriteString(conn, "a") // fails once it is closed
				continue
			case <-late:
				t.Errorf("%q: never cut off", begun)
			}
			break
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

type contractCase struct {
	Name    string
	Request struct {
		Method, Path string
		Body         string
		BodyRepeat   *struct {
			Prefix, Unit, Suffix string
			Count                int
		} `json:"body_repeat"`
	}
	Expect struct {
		Status  int
		Body    *string
		Headers map[string]string
	}
}

func contractCases(t *testing.T) []contractCase {
	t.Helper()
	data, err := os.ReadFile("../contract/upstream-cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var cases []contractCase
	for line := range bytes.Lines(data) {
		var c contractCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		cases = append(cases, c)
	}
	if len(cases) < 25 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

func (c contractCase) check(t *testing.T, url string) {
	text := c.Request.Body
	if repeat := c.Request.BodyRepeat; repeat != nil {
		text = repeat.Prefix + strings.Repeat(repeat.Unit, repeat.Count) + repeat.Suffix
	}
	request, err := http.NewRequest(c.Request.Method, url+c.Request.Path, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	status, header, body := exchange(t, request)
	if status != c.Expect.Status {
		t.Errorf("status %d, not %d", status, c.Expect.Status)
	}
	if c.Expect.Body != nil && body != *c.Expect.Body {
		t.Errorf("body %.200q, not %.200q", body, *c.Expect.Body)
	}
	for name, value := range c.Expect.Headers {
		if got := header.Get(name); got != value {
			t.Errorf("header %s: %q, not %q", name, got, value)
		}
	}
}

func exchange(t *testing.T, request *http.Request) (int, http.Header, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}

func get(t *testing.T, server *httptest.Server, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	status, _, body := exchange(t, request)
	return status, body
}

func started(t *testing.T, opts options) *httptest.Server {
	server := httptest.NewServer(routes(opts))
	t.Cleanup(server.Close)
	return server
}

func TestUpstreamKeepsTheContract(t *testing.T) {
	server := started(t, options{})
	for _, c := range contractCases(t) {
		t.Run(c.Name, func(t *testing.T) { c.check(t, server.URL) })
	}
}

func TestGarbageIsNoJSONButHealthStaysUp(t *testing.T) {
	server := started(t, options{garbage: true})
	for _, path := range []string{"/phones/1", "/address/10"} {
		if status, body := get(t, server, path); status != 200 || json.Valid([]byte(body)) {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	if status, body := get(t, server, "/health"); status != 200 || body != `{"status":"up"}` {
		t.Errorf("health: %d %q", status, body)
	}
	if status, _ := get(t, server, "/phones/11"); status != 404 {
		t.Errorf("unknown id: %d", status)
	}
}

func TestDelayHoldsBackAnswersButNotHealth(t *testing.T) {
	server := started(t, options{delayMs: 300_000})
	held := make(chan error, 1)
	client := &http.Client{Transport: &http.Transport{}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/phones/1", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		response, err := client.Do(request)
		if err == nil {
			response.Body.Close()
		}
		held <- err
	}()
	for range 20 {
		if status, _ := get(t, server, "/health"); status != 200 {
			t.Fatalf("health: %d", status)
		}
	}
	select {
	case err := <-held:
		t.Errorf("an answer came before its time: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	client.CloseIdleConnections()
	server.CloseClientConnections() // and nobody waits five minutes for a client that is gone
	<-held
}

func TestAnswersAreCounted(t *testing.T) {
	server := started(t, options{})
	for _, path := range []string{"/phones/1", "/address/2", "/phones/11", "/health"} {
		get(t, server, path)
	}
	if _, metrics := get(t, server, "/metrics"); !strings.Contains(metrics, "\nupstream_answers_total 2\n") {
		t.Errorf("no upstream_answers_total 2 in %.300s", metrics)
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

// TestDrippingClientsAreCutOff sends a byte now and then, so that silence is not what ends it.
func TestDrippingClientsAreCutOff(t *testing.T) {
	server := newServer(routes(options{}))
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
	for _, begun := range []string{"GET /phones/1 HTTP/1.1\r\nX: ", "GET /phones/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n"} {
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

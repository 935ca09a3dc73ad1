// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const hello = "POST /uppercase HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n" + `{"s":"hello"}`

// started runs the service in this process; stop ends it as SIGTERM would.
func started(t *testing.T, args ...string) (address string, stop context.CancelFunc, exited chan int) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	reader, writer := io.Pipe()
	exited = make(chan int, 1)
	go func() { exited <- run(ctx, append(args, "--port=0"), io.Discard, writer) }()
	line := make([]byte, 200)
	n, err := reader.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`^listening host=127\.0\.0\.1 port=(\d+)\n$`).FindSubmatch(line[:n])
	if found == nil {
		t.Fatalf("first line %q", line[:n])
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	return "127.0.0.1:" + string(found[1]), stop, exited
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil { // a hang is a failure, not a hang
		t.Fatal(err)
	}
	return conn
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, in *bufio.Reader, method string) (*http.Response, string) {
	t.Helper()
	response, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func TestEchoKeepsItsContract(t *testing.T) {
	address, _, _ := started(t)
	data, err := os.ReadFile("../contract/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var c struct {
			Name    string
			Request struct {
				Method, Path, Body string
				BodyRepeat         struct {
					Unit  string
					Count int
				} `json:"body_repeat"`
			}
			Expect struct {
				Status  int
				Body    string
				Headers map[string]string
			}
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.Name, func(t *testing.T) {
			text := c.Request.Body + strings.Repeat(c.Request.BodyRepeat.Unit, c.Request.BodyRepeat.Count)
			request, err := http.NewRequest(c.Request.Method, "http://"+address+c.Request.Path, strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != c.Expect.Status || string(body) != c.Expect.Body {
				t.Errorf("%d %q, %v", response.StatusCode, body, err)
			}
			for name, value := range c.Expect.Headers {
				if got := response.Header.Get(name); got != value {
					t.Errorf("header %s: %q, not %q", name, got, value)
				}
			}
		})
	}
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	address, _, _ := started(t, "--body=E")
	conn := dial(t, address)
	send(t, conn, strings.Repeat(hello+"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", 50))
	in := bufio.NewReader(conn)
	for range 50 {
		if _, body := receive(t, in, "POST"); body != "E" {
			t.Fatalf("body %q", body)
		}
		if _, body := receive(t, in, "GET"); body != `{"status":"up"}` {
			t.Fatalf("body %q", body)
		}
	}
}

func TestRequestsMayBeCutAnywhere(t *testing.T) {
	for _, wait := range []string{"sleep", "spin"} {
		t.Run(wait, func(t *testing.T) {
			address, _, _ := started(t, "--wait="+wait)
			conn := dial(t, address)
			in := bufio.NewReader(conn)
			for cut := 1; cut < len(hello); cut++ {
				send(t, conn, hello[:cut])
				send(t, conn, hello[cut:])
				if _, body := receive(t, in, "POST"); body != `{"v":"HELLO"}` {
					t.Fatalf("cut at %d: body %q", cut, body)
				}
			}
		})
	}
}

func TestAnAnswerDoesNotWaitForTheRestOfTheNextRequest(t *testing.T) {
	address, _, _ := started(t)
	conn := dial(t, address)
	in := bufio.NewReader(conn)
	send(t, conn, hello+hello[:20])
	receive(t, in, "POST")
	send(t, conn, hello[20:])
	receive(t, in, "POST")
}

func TestHeadHasNoBodyAndTheConnectionGoesOn(t *testing.T) {
	address, _, _ := started(t)
	conn := dial(t, address)
	in := bufio.NewReader(conn)
	send(t, conn, "HEAD /health HTTP/1.1\r\n\r\n"+hello)
	if response, _ := receive(t, in, "HEAD"); response.ContentLength != 15 {
		t.Errorf("length %d", response.ContentLength)
	}
	if _, body := receive(t, in, "POST"); body != `{"v":"HELLO"}` {
		t.Errorf("body %q", body)
	}
}

func TestWhatItCannotReadIsRefusedAndTheConnectionClosed(t *testing.T) {
	address, _, _ := started(t)
	for request, want := range map[string]int{
		"POST / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n" + strings.Repeat("x", 65537): 413,
		"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n":                                 400,
		"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n":                                  400,
		"POST / HTTP/1.1\r\nContent-Length\r\n\r\n":                                     400,
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                411,
		"GET / HTTP/2.0\r\n\r\n":                                                        400,
		"hello\r\n\r\n":                                                                 400,
		"\r\n\r\n":                                                                      400,
		"GET / HTTP/1.1\r\nA: " + strings.Repeat("x", maxHeadBytes) + "\r\n\r\n":        431,
	} {
		conn := dial(t, address)
		send(t, conn, request)
		in := bufio.NewReader(conn)
		response, body := receive(t, in, "POST")
		if response.StatusCode != want || !strings.HasPrefix(body, `{"error":"`) {
			t.Errorf("%.50q: %d %s", request, response.StatusCode, body)
		}
		if _, err := in.ReadByte(); err != io.EOF {
			t.Errorf("%.50q: not closed but %v", request, err)
		}
	}
}

func TestClientsThatAskForItAreClosed(t *testing.T) {
	address, _, _ := started(t)
	for _, request := range []string{"GET / HTTP/1.1\r\nconnection: Close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"} {
		conn := dial(t, address)
		send(t, conn, request)
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(answer), `{"v":"HELLO"}`) {
			t.Errorf("%q: %q, %v", request, answer, err)
		}
	}
}

func TestMetricsArePrometheusText(t *testing.T) {
	address, _, _ := started(t)
	conn := dial(t, address)
	send(t, conn, "GET /metrics HTTP/1.1\r\n\r\n")
	response, body := receive(t, bufio.NewReader(conn), "GET")
	if response.Header.Get("Content-Type") != "text/plain; version=0.0.4" || !regexp.MustCompile(`(?m)^go_goroutines \d+$`).MatchString(body) {
		t.Errorf("%v %q", response.Header, body)
	}
}

func TestStopFinishesTheRequestInFlightAndEndsIdleConnections(t *testing.T) {
	for _, wait := range []string{"sleep", "spin"} {
		t.Run(wait, func(t *testing.T) { stopInFlight(t, "--wait="+wait) })
	}
}

func stopInFlight(t *testing.T, args ...string) {
	address, stop, exited := started(t, args...)
	idle, busy := dial(t, address), dial(t, address)
	in := bufio.NewReader(busy)
	for _, conn := range []net.Conn{idle, busy} { // both are being served
		send(t, conn, hello)
	}
	receive(t, in, "POST")
	receive(t, bufio.NewReader(idle), "POST")
	send(t, busy, hello+hello[:70]) // the answer shows that the service has seen the second one's start
	receive(t, in, "POST")
	stop()
	if _, err := idle.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("idle connection: %v", err)
	}
	send(t, busy, hello[70:])
	if _, body := receive(t, in, "POST"); body != `{"v":"HELLO"}` {
		t.Errorf("body %q", body)
	}
	if status := <-exited; status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestBadFlagsAreNamedInOneLineWithStatus2(t *testing.T) {
	for line, name := range map[string]string{
		"": "--port", "--port 0 --wait long": `"long"`, "--port 65536": `"65536"`, "--port 0 --verbose": "-verbose", "--port 0 surplus": `"surplus"`,
	} {
		var stderr strings.Builder
		status := run(context.Background(), strings.Fields(line), io.Discard, &stderr)
		if text := stderr.String(); status != 2 || !strings.Contains(text, name) || strings.Count(text, "\n") != 1 {
			t.Errorf("%q: status %d, %q", line, status, text)
		}
	}
}

func TestTakenPortIsOneLineAndStatus1(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var stderr strings.Builder
	status := run(context.Background(), []string{"--port", fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)}, io.Discard, &stderr)
	if text := stderr.String(); status != 1 || !strings.Contains(text, "address already in use") || strings.Count(text, "\n") != 1 {
		t.Errorf("status %d, %q", status, text)
	}
}

func TestConnectionsSendSmallPacketsAtOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dial(t, listener.Addr().String())
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

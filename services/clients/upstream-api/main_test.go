// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestFlagsAreReadInBothForms(t *testing.T) {
	want := options{host: "::1", port: 8080, delayMs: 7, garbage: true}
	for _, line := range []string{
		"--host ::1 --port 8080 --delay-ms 7 --garbage",
		"--host=::1 --port=8080 --delay-ms=7 --garbage=true",
	} {
		if got, err := parseFlags(strings.Fields(line)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
	if got, err := parseFlags([]string{"--port=0", "--garbage=false"}); err != nil || got != (options{host: "127.0.0.1"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBadFlagsAreNamedInOneLineWithStatus2(t *testing.T) {
	for line, name := range map[string]string{
		"":                        "--port",
		"--port x":                `"x"`,
		"--port 65536":            `"65536"`,
		"--port 0 --delay-ms -1":  `--delay-ms "-1"`,
		"--port 0 --delay-ms 1s":  `--delay-ms "1s"`,
		"--port 0 --garbage=much": `"much"`,
		"--port 0 --server x":     `--server "x"`,
		"--port 0 --verbose":      "-verbose",
		"--port 0 surplus":        `"surplus"`,
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

func TestStopFinishesWhatIsInFlightAndExitsWith0(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	reader, writer := io.Pipe()
	exited := make(chan int, 1)
	go func() { exited <- run(ctx, []string{"--port=0", "--delay-ms=200"}, io.Discard, writer) }()
	line := make([]byte, 200)
	n, err := reader.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`^listening host=127\.0\.0\.1 port=(\d+)\n$`).FindSubmatch(line[:n])
	if found == nil {
		t.Fatalf("first line %q", line[:n])
	}
	conn, err := net.Dial("tcp", "127.0.0.1:"+string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const request = "GET /address/1 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	goAhead := make([]byte, 100)
	if n, err := conn.Read(goAhead); err != nil || !strings.HasPrefix(string(goAhead[:n]), "HTTP/1.1 100") {
		t.Fatalf("%q, %v", goAhead[:n], err) // now the handler is at work
	}
	stop()
	if _, err := io.WriteString(conn, "x"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasSuffix(string(answer), addressBody) {
		t.Errorf("answer %q, %v", answer, err)
	}
	if status := <-exited; status != 0 {
		t.Errorf("status %d", status)
	}
	if _, err := http.Get("http://127.0.0.1:" + string(found[1]) + "/health"); err == nil {
		t.Error("it still answers")
	}
}

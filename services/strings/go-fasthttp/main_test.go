// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestFlagsAreReadInBothForms(t *testing.T) {
	want := options{host: "::1", port: 8080, face: "matched", craft: "idiomatic", logging: "on", logSink: "file", logFile: "/tmp/x", lean: true}
	for _, line := range []string{
		"--host ::1 --port 8080 --face matched --craft idiomatic --logging on --log-sink file --log-file /tmp/x --lean",
		"--host=::1 --port=8080 --face=matched --craft=idiomatic --logging=on --log-sink=file --log-file=/tmp/x --lean",
	} {
		if got, err := parseFlags(strings.Fields(line)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
}

func TestDefaultsAreLoopbackAndMatchedWithoutLogging(t *testing.T) {
	got, err := parseFlags([]string{"--port=0"})
	want := options{host: "127.0.0.1", face: "matched", craft: "tuned", logging: "off", logSink: "null"}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBadFlagsAreNamedInOneLineWithStatus2(t *testing.T) {
	for line, name := range map[string]string{
		"":                           "--port",
		"--port x":                   `"x"`,
		"--port 65536":               `"65536"`,
		"--port 0 --face published":  `--face "published"; allowed: matched`,
		"--port 0 --craft best":      `--craft "best"; allowed: idiomatic, tuned`,
		"--port 0 --logging yes":     `--logging "yes"; allowed: off, on`,
		"--port 0 --metrics no":      `--metrics "no"; allowed: on, off`,
		"--port 0 --log-sink stderr": `--log-sink "stderr"; allowed: null, file, pipe`,
		"--port 0 --log-sink file":   "--log-file",
		"--port 0 --verbose":         "-verbose",
		"--port 0 surplus":           `"surplus"`,
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

// started runs the service in this process; stop ends it as SIGTERM would and exited has the status.
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

func TestStopFinishesWhatIsInFlightAndExitsWith0(t *testing.T) {
	address, stop, exited := started(t)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const request = "POST /uppercase HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 13\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	goAhead := make([]byte, 100)
	if n, err := conn.Read(goAhead); err != nil || !strings.HasPrefix(string(goAhead[:n]), "HTTP/1.1 100") {
		t.Fatalf("%q, %v", goAhead[:n], err) // now the server waits for the body
	}
	stop()
	for refused := false; !refused; time.Sleep(time.Millisecond) {
		late, err := net.Dial("tcp", address)
		if refused = err != nil; !refused {
			late.Close()
		}
	}
	if _, err := io.WriteString(conn, `{"s":"hello"}`); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasSuffix(string(answer), `{"v":"HELLO"}`) {
		t.Errorf("answer %q, %v", answer, err)
	}
	if status := <-exited; status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestEachRequestIsALineOfTheFileThatIsAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address, _, _ := started(t, "--logging=on", "--log-sink=file", "--log-file="+path)
	answer(t, address, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
	answer(t, address, "POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{\"s\":\"a\"}")
	answer(t, address, "POST /uppercase HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"s\"\r\n5\r\n:\"a\"}\r\n0\r\n\r\n")
	answer(t, address, "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
	data, err := os.ReadFile(path) // a line is written before its answer is sent
	const ts, took = `ts=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z `, `took_us=\d+\n`
	want := `^before\n` +
		ts + `method=POST path=/count status=200 bytes_in=9 bytes_out=7 ` + took +
		ts + `method=POST path=/uppercase status=200 bytes_in=9 bytes_out=9 ` + took +
		ts + `method=GET path=other status=404 bytes_in=0 bytes_out=21 ` + took + `$`
	if err != nil || !regexp.MustCompile(want).Match(data) {
		t.Errorf("%q, %v", data, err)
	}
}

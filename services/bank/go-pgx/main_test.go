// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestFlagsAreReadInBothForms(t *testing.T) {
	want := options{host: "::1", port: 8080, face: "published", craft: "tuned", logging: "on", logSink: "file", logFile: "/tmp/x", connections: "pool", poolSize: 7, poolWaitMs: 250, statementDB: "defaults", lean: true}
	for _, line := range []string{
		"--host ::1 --port 8080 --face published --craft tuned --logging on --log-sink file --log-file /tmp/x --connections pool --pool-size 7 --pool-wait-ms 250 --statement-db defaults --lean",
		"--host=::1 --port=8080 --face=published --craft=tuned --logging=on --log-sink=file --log-file=/tmp/x --connections=pool --pool-size=7 --pool-wait-ms=250 --statement-db=defaults --lean",
	} {
		if got, err := parseFlags(strings.Fields(line)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
}

func TestDefaultsAreLoopbackAndMatchedWithAPoolAndWithoutLogging(t *testing.T) {
	got, err := parseFlags([]string{"--port=0"})
	want := options{host: "127.0.0.1", face: "matched", craft: "idiomatic", logging: "off", logSink: "null", connections: "pool", poolSize: 20, poolWaitMs: 10_000, statementDB: "published"}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestThePublishedFaceConnectsForEveryStatementUnlessToldOtherwise(t *testing.T) {
	for line, want := range map[string]string{
		"--port=0 --face=published":                    "per-statement",
		"--port=0 --face=published --connections=pool": "pool",
		"--port=0 --connections=per-statement":         "per-statement",
	} {
		if got, err := parseFlags(strings.Fields(line)); err != nil || got.connections != want {
			t.Errorf("%s: %s, %v", line, got.connections, err)
		}
	}
}

func TestTheRepairedFaceHasThePoolOfTheRematch(t *testing.T) {
	for line, want := range map[string]int{"--port=0 --face=repaired": 95, "--port=0 --face=repaired --pool-size=7": 7} {
		if got, err := parseFlags(strings.Fields(line)); err != nil || got.connections != "pool" || got.poolSize != want {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
}

func TestBadFlagsAreNamedInOneLineWithStatus2(t *testing.T) {
	for line, name := range map[string]string{
		"":                            "--port",
		"--port x":                    `"x"`,
		"--port 65536":                `"65536"`,
		"--port=-1":                   `"-1"`,
		"--port 0 --face other":       `--face "other"; allowed: published, repaired, matched`,
		"--port 0 --craft best":       `--craft "best"; allowed: idiomatic, tuned`,
		"--port 0 --logging yes":      `--logging "yes"; allowed: off, on`,
		"--port 0 --log-sink stderr":  `--log-sink "stderr"; allowed: null, file, pipe`,
		"--port 0 --log-sink file":    "--log-file",
		"--port 0 --connections many": `--connections "many"; allowed: per-statement, pool`,
		"--port 0 --pool-size 0":      `--pool-size "0"`,
		"--port 0 --pool-size 10001":  `--pool-size "10001"`,
		"--port 0 --pool-wait-ms 1s":  `--pool-wait-ms "1s"`,
		"--port 0 --pool-wait-ms=-5":  `--pool-wait-ms "-5"`,
		"--port 0 --statement-db own": `--statement-db "own"; allowed: published, defaults`,
		"--port 0 --face repaired --connections per-statement": `--connections "per-statement" with --face repaired; allowed: pool`,
		"--port 0 --verbose": "-verbose",
		"--port 0 --host":    "-host",
		"--port 0 surplus":   `"surplus"`,
	} {
		var stderr strings.Builder
		status := run(context.Background(), strings.Fields(line), io.Discard, &stderr)
		if text := stderr.String(); status != 2 || !strings.Contains(text, name) || strings.Count(text, "\n") != 1 {
			t.Errorf("%q: status %d, %q", line, status, text)
		}
	}
}

func TestAMissingVariableIsNamedInOneLineWithStatus2(t *testing.T) {
	for _, name := range []string{"PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"} {
		t.Run(name, func(t *testing.T) {
			nowhere(t)
			os.Unsetenv(name) // t.Setenv brings it back
			var stderr strings.Builder
			status := run(context.Background(), []string{"--port=0"}, io.Discard, &stderr)
			if text := stderr.String(); status != 2 || !strings.Contains(text, "variable "+name+" is not set") || strings.Count(text, "\n") != 1 {
				t.Errorf("status %d, %q", status, text)
			}
		})
	}
}

func TestTakenPortIsOneLineAndStatus1(t *testing.T) {
	nowhere(t)
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

// started runs the service in this process; stop ends it as SIGTERM would and returns the status.
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
	nowhere(t)
	address, stop, exited := started(t)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const request = "POST /transaction HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 13\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	goAhead := make([]byte, 100)
	if n, err := conn.Read(goAhead); err != nil || !strings.HasPrefix(string(goAhead[:n]), "HTTP/1.1 100") {
		t.Fatalf("%q, %v", goAhead[:n], err) // now the handler is reading the body
	}
	stop()
	for refused := false; !refused; time.Sleep(time.Millisecond) {
		late, err := net.Dial("tcp", address)
		if refused = err != nil; !refused {
			late.Close()
		}
	}
	if _, err := io.WriteString(conn, `{"amount":"x"}`[:13]); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasSuffix(string(answer), `{"error":"invalid_json"}`) {
		t.Errorf("answer %q, %v", answer, err)
	}
	if status := <-exited; status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestLogFileIsAppendedTo(t *testing.T) {
	nowhere(t)
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address, stop, exited := started(t, "--logging=on", "--log-sink=file", "--log-file="+path)
	response, err := http.Get("http://" + address + "/client/0/balance")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	stop()
	<-exited
	data, err := os.ReadFile(path)
	if err != nil || !regexp.MustCompile(`^before\nts=\S+ method=GET path=/client/balance status=400 .*\n$`).Match(data) {
		t.Errorf("%q, %v", data, err)
	}
}

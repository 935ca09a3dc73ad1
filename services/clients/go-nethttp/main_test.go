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
	want := options{
		host: "::1", port: 8080, face: "published", craft: "tuned", logging: "on", logSink: "file", logFile: "/tmp/x", lean: true, calls: "parallel",
		minorPercent: 50, upstreamConnections: 7, upstreamTimeout: 8 * time.Millisecond,
		pool: poolSettings{size: 9, least: 2, wait: 11 * time.Millisecond},
	}
	for _, line := range []string{
		"--host ::1 --port 8080 --face published --craft tuned --logging on --log-sink file --log-file /tmp/x --lean --calls parallel --minor-percent 50" +
			" --upstream-connections 7 --upstream-timeout-ms 8 --pool-size 9 --pool-min 2 --pool-wait-ms 11",
		"--host=::1 --port=8080 --face=published --craft=tuned --logging=on --log-sink=file --log-file=/tmp/x --lean --calls=parallel --minor-percent=50" +
			" --upstream-connections=7 --upstream-timeout-ms=8 --pool-size=9 --pool-min=2 --pool-wait-ms=11",
	} {
		if got, err := parseFlags(strings.Fields(line)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
}

func TestDefaultsAreThoseOfTheContract(t *testing.T) {
	got, err := parseFlags([]string{"--port=0"})
	want := options{
		host: "127.0.0.1", face: "matched", craft: "idiomatic", logging: "off", logSink: "null", calls: "sequential", upstreamConnections: 30,
		upstreamTimeout: 5 * time.Second, pool: poolSettings{size: 30, least: 5, wait: 10 * time.Second},
	}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = parseFlags([]string{"--port=0", "--pool-size=3"}); err != nil || got.pool.least != 3 {
		t.Errorf("a pool of 3 keeps %d open, %v", got.pool.least, err)
	}
}

func TestBadFlagsAndVariablesAreNamedInOneLineWithStatus2(t *testing.T) {
	access := databaseAccess{host: "127.0.0.1", port: 5432, user: "u", database: "d"}
	with := func(name, value string) func(string) (string, bool) {
		return func(asked string) (string, bool) {
			if asked == name {
				return value, value != "absent"
			}
			return environment("127.0.0.1:1", access)(asked)
		}
	}
	for _, c := range []struct {
		line, name string
		env        func(string) (string, bool)
	}{
		{"", "--port", nil},
		{"--port x", `"x"`, nil},
		{"--port 65536", `"65536"`, nil},
		{"--port=-1", `"-1"`, nil},
		{"--port 0 --face other", `--face "other"; allowed: published, matched`, nil},
		{"--port 0 --craft best", `--craft "best"; allowed: idiomatic, tuned`, nil},
		{"--port 0 --logging yes", `--logging "yes"; allowed: off, on`, nil},
		{"--port 0 --log-sink stderr", `--log-sink "stderr"; allowed: null, file, pipe`, nil},
		{"--port 0 --log-sink file", "--log-file", nil},
		{"--port 0 --calls both", `--calls "both"; allowed: sequential, parallel`, nil},
		{"--port 0 --minor-percent 101", `--minor-percent "101"; needed: a number from 0 to 100`, nil},
		{"--port 0 --minor-percent 0.5", `"0.5"`, nil},
		{"--port 0 --upstream-connections 0", "--upstream-connections", nil},
		{"--port 0 --upstream-timeout-ms 0", "--upstream-timeout-ms", nil},
		{"--port 0 --pool-size 0", "--pool-size", nil},
		{"--port 0 --pool-size 4 --pool-min 5", "--pool-min 5; needed: not above --pool-size 4", nil},
		{"--port 0 --pool-wait-ms never", `"never"`, nil},
		{"--port 0 --verbose", "-verbose", nil},
		{"--port 0 --host", "-host", nil},
		{"--port 0 surplus", `"surplus"`, nil},
		{"--port 0", "UPSTREAM_URL, PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE", func(string) (string, bool) { return "", false }},
		{"--port 0", "not in the environment: PGPASSWORD", with("PGPASSWORD", "absent")},
		{"--port 0", "not in the environment: PGUSER", with("PGUSER", "")},
		{"--port 0", "UPSTREAM_URL", with("UPSTREAM_URL", "127.0.0.1:80")},
		{"--port 0", "UPSTREAM_URL", with("UPSTREAM_URL", "https://127.0.0.1:80")},
		{"--port 0", "UPSTREAM_URL", with("UPSTREAM_URL", "http://127.0.0.1:80/path")},
		{"--port 0", "UPSTREAM_URL", with("UPSTREAM_URL", "http://")},
		{"--port 0", "UPSTREAM_URL", with("UPSTREAM_URL", "http://u:p@127.0.0.1:80")},
		{"--port 0", "PGPORT", with("PGPORT", "0")},
		{"--port 0", "PGPORT", with("PGPORT", "70000")},
		{"--port 0", "PGHOST", with("PGHOST", "/run/postgresql")},
	} {
		if c.env == nil {
			c.env = environment("127.0.0.1:1", access)
		}
		var stderr strings.Builder
		status := run(context.Background(), strings.Fields(c.line), c.env, io.Discard, &stderr)
		if text := stderr.String(); status != 2 || !strings.Contains(text, c.name) || strings.Count(text, "\n") != 1 {
			t.Errorf("%q: status %d, %q", c.line, status, text)
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
	args := []string{"--port", fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)}
	status := run(context.Background(), args, environment("127.0.0.1:1", database.access), io.Discard, &stderr)
	if text := stderr.String(); status != 1 || !strings.Contains(text, "address already in use") || strings.Count(text, "\n") != 1 {
		t.Errorf("status %d, %q", status, text)
	}
}

func TestStopFinishesWhatIsInFlightAndExitsWith0(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream)
	asked, release := make(chan struct{}, 2), make(chan struct{})
	upstream.behave(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-release
		fmt.Fprint(w, upstream.pages[r.RequestURI])
	})
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /hello?client=1 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-asked
	s.stop()
	eventually(t, "new connections are refused", func() bool {
		late, err := net.Dial("tcp", s.address)
		if err == nil {
			late.Close()
		}
		return err != nil
	})
	close(release)
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasSuffix(string(answer), string(leanBody())) {
		t.Errorf("answer %q, %v", answer, err)
	}
	if status := <-s.exited; status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestLogFileIsAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := started(t, newUpstreamServer(t), "--logging=on", "--log-sink=file", "--log-file="+path)
	s.expect(t, "/hello", 200, "")
	s.stop()
	<-s.exited
	data, err := os.ReadFile(path)
	if err != nil || !regexp.MustCompile(`^before\nts=\S+ method=GET path=/hello status=200 .*\n$`).Match(data) {
		t.Errorf("%q, %v", data, err)
	}
}

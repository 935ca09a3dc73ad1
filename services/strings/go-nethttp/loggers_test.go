// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logfmt/logfmt"
)

// lines gathers what is written, and how many writes there were.
type lines struct {
	mutex  sync.Mutex
	text   bytes.Buffer
	writes int
}

func (l *lines) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.writes++
	return l.text.Write(line)
}

func matchedWith(logger string, sink io.Writer) http.Handler {
	return routes(options{face: "matched", craft: "idiomatic", logging: "on", logger: logger}, sink)
}

func send(handler http.Handler, method, path string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(method, path, strings.NewReader(`{"s":"hello"}`)))
	return answer
}

func fieldsOf(t *testing.T, line string) map[string]string {
	t.Helper()
	found := map[string]string{}
	if strings.HasPrefix(line, "{") {
		var members map[string]any
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.UseNumber()
		if err := decoder.Decode(&members); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for name, value := range members {
			switch value := value.(type) {
			case string:
				found[name] = value
			case json.Number:
				found[name] = value.String()
			}
		}
		return found
	}
	decoder := logfmt.NewDecoder(strings.NewReader(line))
	for decoder.ScanRecord() {
		for decoder.ScanKeyval() {
			found[string(decoder.Key())] = string(decoder.Value())
		}
	}
	if err := decoder.Err(); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return found
}

func TestEveryLoggerWritesTheSameFieldsInOneWrite(t *testing.T) {
	for _, logger := range loggers[1:] {
		t.Run(logger, func(t *testing.T) {
			sink := new(lines)
			send(matchedWith(logger, sink), http.MethodPost, "/uppercase")
			text := sink.text.String()
			if sink.writes != 1 || strings.Count(text, "\n") != 1 {
				t.Fatalf("%d writes: %q", sink.writes, text)
			}
			found := fieldsOf(t, text)
			if _, err := time.Parse(time.RFC3339Nano, found["time"]); err != nil {
				t.Errorf("time %q: %v", found["time"], err)
			}
			if _, err := strconv.Atoi(found["took_us"]); err != nil {
				t.Errorf("took_us %q", found["took_us"])
			}
			for name, want := range map[string]string{
				"level": "info", "msg": "request", "method": "POST", "path": "/uppercase",
				"status": "200", "bytes_in": "13", "bytes_out": "13",
			} {
				if !strings.EqualFold(found[name], want) {
					t.Errorf("%s is %q, want %q", name, found[name], want)
				}
			}
			if len(found) != 9 {
				t.Errorf("fields %v", found)
			}
		})
	}
}

func TestLinesOfManyRequestsStayWhole(t *testing.T) {
	const n = 500
	for _, logger := range loggers {
		sink := new(lines)
		handler := matchedWith(logger, sink)
		var all sync.WaitGroup
		for range n {
			all.Go(func() { send(handler, http.MethodPost, "/count") })
		}
		all.Wait()
		if got := strings.Count(sink.text.String(), "\n"); got != n || sink.writes != n {
			t.Errorf("%s: %d lines in %d writes", logger, got, sink.writes)
		}
	}
}

func TestHostileMethodCannotForgeALine(t *testing.T) {
	for _, logger := range loggers[1:] {
		sink := new(lines)
		handler := matchedWith(logger, sink)
		request := httptest.NewRequest(http.MethodGet, "/uppercase", nil)
		request.Method = "A\nlevel=x"
		handler.ServeHTTP(httptest.NewRecorder(), request)
		if text := sink.text.String(); strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %q", logger, text)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no reader") }

func TestBrokenSinkCostsTheLineAndNotTheRequest(t *testing.T) {
	for _, logger := range loggers {
		if answer := send(matchedWith(logger, broken{}), http.MethodPost, "/uppercase"); answer.Code != http.StatusOK {
			t.Errorf("%s: status %d", logger, answer.Code)
		}
	}
}

func TestNoLoggerIsMadeWhenLoggingIsOff(t *testing.T) {
	for _, logger := range loggers {
		if newRequestLogger(logger, nil) != nil {
			t.Error(logger)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

const (
	timeoutBody     = `{"error":"upstream_timeout"}`
	unavailableBody = `{"error":"upstream_unavailable"}`
	badAnswerBody   = `{"error":"upstream_bad_answer"}`
	databaseBody    = `{"error":"database_unavailable"}`
)

// allGivenBack waits until no connection is in use any more, as the service and both servers see it.
func (s *instance) allGivenBack(t *testing.T, upstream *upstreamServer) {
	t.Helper()
	eventually(t, "no connection is in use", func() bool {
		return s.metric(t, `db_connections{state="in_use"}`) == "0" && s.metric(t, `upstream_connections{state="in_use"}`) == "0"
	})
	eventually(t, "service and upstream agree on the connections there are", func() bool {
		return s.metric(t, `upstream_connections{state="idle"}`) == fmt.Sprint(upstream.open.Load())
	})
	eventually(t, "service and database agree on the connections there are", func() bool {
		return s.metric(t, `db_connections{state="idle"}`) == fmt.Sprint(database.connections(t))
	})
}

func (s *instance) atOnce(n int, ask func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { ask(i) })
	}
	group.Wait()
}

func TestSlowUpstreamIsA504AndNoConnectionIsLost(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		upstream := newUpstreamServer(t)
		s := started(t, upstream, craft, "--upstream-timeout-ms=2000", "--upstream-connections=4")
		release := make(chan struct{})
		upstream.behave(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		})
		s.atOnce(20, func(int) { s.expect(t, "/hello", 504, timeoutBody) }) // most of them without a connection
		upstream.behave(nil)
		close(release)
		s.expect(t, "/hello?client=1", 200, string(leanBody()))
		s.allGivenBack(t, upstream)
	})
}

func TestUpstreamThatStopsInTheMiddleOfABodyIsA504(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		upstream := newUpstreamServer(t)
		s := started(t, upstream, craft, "--upstream-timeout-ms=2000")
		upstream.behave(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "700")
			fmt.Fprint(w, "[")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		s.expect(t, "/hello", 504, timeoutBody)
		upstream.behave(nil)
		s.expect(t, "/hello?client=1", 200, string(leanBody()))
		s.allGivenBack(t, upstream)
	})
}

func TestConnectionsToTheUpstreamAreBoundedAndKept(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		upstream := newUpstreamServer(t)
		s := started(t, upstream, craft, "--upstream-connections=3")
		for range 3 {
			s.atOnce(12, func(int) { s.expect(t, "/hello", 200, "") })
		}
		if most, opened := upstream.most.Load(), s.metric(t, "upstream_connections_opened_total"); most > 3 || opened > "3" {
			t.Errorf("%d connections at one time, %s in all", most, opened)
		}
		s.allGivenBack(t, upstream)
	})
}

func TestPublishedFaceKeepsTwoIdleConnectionsOnly(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream, "--face=published")
	var together atomic.Int64
	all := make(chan struct{})
	upstream.behave(func(w http.ResponseWriter, r *http.Request) {
		if together.Add(1) == 6 {
			close(all)
		}
		<-all
		fmt.Fprint(w, upstream.pages[r.RequestURI])
	})
	s.atOnce(6, func(int) { s.expect(t, "/hello", 200, "") })
	eventually(t, "all but two are closed", func() bool { return s.metric(t, `upstream_connections{state="idle"}`) == "2" })
	if most := upstream.most.Load(); most < 6 {
		t.Errorf("only %d connections at one time", most)
	}
	s.allGivenBack(t, upstream)
}

func TestUpstreamThatIsDownIsA502UntilItIsBack(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		for _, calls := range []string{"sequential", "parallel"} {
			upstream := newUpstreamServer(t)
			s := started(t, upstream, craft, "--calls="+calls)
			s.atOnce(6, func(int) { s.expect(t, "/hello", 200, "") })
			upstream.down()
			for range 3 {
				s.atOnce(6, func(int) { s.expect(t, "/hello", 502, unavailableBody) })
			}
			s.expect(t, "/db", 200, "")
			upstream.up(t)
			s.atOnce(6, func(int) { s.expect(t, "/hello", 200, "") })
			s.allGivenBack(t, upstream)
			s.end()
		}
	})
}

func TestPublishedFaceAnswersNothingUnderA200WhenTheUpstreamFails(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream, "--face=published")
	empty := func() {
		t.Helper()
		if response, body := s.get(t, "/hello"); response.StatusCode != 200 || body != "" {
			t.Errorf("%d %q", response.StatusCode, body)
		}
	}
	full := func() {
		t.Helper()
		if response, body := s.get(t, "/hello"); response.StatusCode != 200 || !strings.HasPrefix(body, `{"client":{"id":0,`) {
			t.Errorf("%d %q", response.StatusCode, body)
		}
	}
	full()
	upstream.behave(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "[]", 500) })
	empty()
	upstream.behave(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "no JSON") })
	empty()
	upstream.behave(nil)
	full()
	upstream.down()
	empty()
	upstream.up(t)
	full()
	s.allGivenBack(t, upstream)
}

func TestUpstreamIsNotBelieved(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		upstream := newUpstreamServer(t)
		s := started(t, upstream, craft)
		const phone = `{"ddd":11,"number":2}`
		const address = `{"street":"a","number":1,"state":"b","country":"c"}`
		page := func(path, body string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, path) {
					fmt.Fprint(w, body)
					return
				}
				fmt.Fprint(w, upstream.pages[r.RequestURI])
			}
		}
		rawBytes := func(text string) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				conn, buffer, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				fmt.Fprint(buffer, text)
				buffer.Flush()
				conn.Close()
			}
		}
		cases := map[string]struct {
			handler http.HandlerFunc
			body    string
		}{
			"not HTTP":             {rawBytes("\x00\xff no HTTP at all\r\n\r\n"), unavailableBody},
			"nothing":              {rawBytes(""), unavailableBody},
			"broken off":           {rawBytes("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n[" + phone), unavailableBody},
			"broken chunks":        {rawBytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), unavailableBody},
			"an error":             {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "[]", 500) }, badAnswerBody},
			"a redirection":        {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/phones/1", http.StatusFound) }, badAnswerBody},
			"no content":           {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, badAnswerBody},
			"too much":             {page("/phones", "["+strings.Repeat(" ", maxUpstreamBytes)+"]"), badAnswerBody},
			"address of two texts": {page("/address", address+"{}"), badAnswerBody},
		}
		for _, body := range []string{
			"", "nonsense", "null", "{}", phone, "[", "[" + phone, "[" + phone + ",]", "[" + phone + "]x", "[1]", "[null]", "[[]]", `[{}]`,
			`[{"ddd":1}]`, `[{"number":1}]`, `[{"ddd":"1","number":2}]`, `[{"ddd":null,"number":2}]`, `[{"ddd":1.0,"number":2}]`,
			`[{"ddd":1e0,"number":2}]`, `[{"ddd":1,"number":2147483648}]`, `[{"ddd":1,"ddd":1}]`, "[" + phone + "]\x00", "\xef\xbb\xbf[]", "[{\"\xff\":1}]",
		} {
			cases["phones "+body] = struct {
				handler http.HandlerFunc
				body    string
			}{page("/phones", body), badAnswerBody}
		}
		for _, body := range []string{
			"", "[]", "null", "{}", address[:20], strings.Replace(address, `"a"`, "null", 1), strings.Replace(address, `"b"`, "1", 1),
			strings.Replace(address, "1", `"1"`, 1), strings.Replace(address, "1", "1.5", 1), strings.Replace(address, `"state"`, `"State"`, 1),
			strings.Replace(address, `"c"`, `"`+"\xff"+`"`, 1), strings.Replace(address, `"c"`, `"\ud800"`, 1),
		} {
			cases["address "+body] = struct {
				handler http.HandlerFunc
				body    string
			}{page("/address", body), badAnswerBody}
		}
		for name, c := range cases {
			t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
				upstream.behave(c.handler)
				s.expect(t, "/hello?client=1", 502, c.body)
				upstream.behave(nil)
				s.expect(t, "/hello?client=1", 200, string(leanBody()))
			})
		}
		s.allGivenBack(t, upstream)
	})
}

func TestWhatTheUpstreamAddsOrLeavesOutOfAListIsFine(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		upstream := newUpstreamServer(t)
		s := started(t, upstream, craft)
		upstream.behave(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/phones") {
				fmt.Fprint(w, ` [ { "more": [{"ddd":7}], "n\u0075mber" : -5, "ddd": 0 } ] `)
				return
			}
			fmt.Fprint(w, `{"country":"\u00e9\"<&>\u2028\n","state":"","more":null,"street":"\/\u001f\ud83d\ude00","number":2147483647}`)
		})
		_, body := s.get(t, "/hello?client=1")
		const want = `"phones":[{"ddd":0,"number":-5}],"address":{"street":"/\u001f😀","number":2147483647,"state":"","country":"é\"<&>` + "\u2028" + `\n"},"loan`
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
		upstream.behave(func(w http.ResponseWriter, r *http.Request) { // no phones at all
			fmt.Fprint(w, map[bool]string{true: "[]", false: upstream.pages[r.RequestURI]}[strings.HasPrefix(r.URL.Path, "/phones")])
		})
		if _, body := s.get(t, "/hello?client=1"); !strings.Contains(body, `"phones":[],"address":{`) {
			t.Errorf("no empty list in %s", body)
		}
	})
}

func TestServiceAndTheRealUpstreamFitTogether(t *testing.T) {
	program := filepath.Join(t.TempDir(), "upstream-api")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../upstream-api"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct {
		flags []string
		want  int
		body  string
	}{
		{nil, 200, string(leanBody())},
		{[]string{"--garbage"}, 502, badAnswerBody},
		{[]string{"--delay-ms=60000"}, 504, timeoutBody},
	} {
		ctx, stop := context.WithCancel(t.Context())
		process := exec.CommandContext(ctx, program, append(c.flags, "--port=0")...)
		process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		stderr := &lockedBuffer{}
		process.Stderr = stderr
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		var port string
		eventually(t, "the upstream listens", func() bool {
			text, _ := stderr.read()
			if found := listening.FindStringSubmatch(text); found != nil {
				port = found[1]
			}
			return port != ""
		})
		s := started(t, &upstreamServer{address: "127.0.0.1:" + port}, "--upstream-timeout-ms=20000")
		s.expect(t, "/hello?client=1", c.want, c.body)
		stop()
		_ = process.Wait() // it was killed
		s.expect(t, "/hello?client=1", 502, unavailableBody)
	}
}

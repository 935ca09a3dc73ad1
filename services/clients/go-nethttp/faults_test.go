// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
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
	upstream := newUpstreamServer(t)
	s := started(t, upstream, "--upstream-timeout-ms=50", "--upstream-connections=4")
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
}

func TestUpstreamThatStopsInTheMiddleOfABodyIsA504(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream, "--upstream-timeout-ms=50")
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
}

func TestConnectionsToTheUpstreamAreBoundedAndKept(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream, "--upstream-connections=3")
	for range 3 {
		s.atOnce(12, func(int) { s.expect(t, "/hello", 200, "") })
	}
	if most, opened := upstream.most.Load(), s.metric(t, "upstream_connections_opened_total"); most > 3 || opened > "3" {
		t.Errorf("%d connections at one time, %s in all", most, opened)
	}
	s.allGivenBack(t, upstream)
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
	for _, face := range []string{"matched", "published"} {
		upstream := newUpstreamServer(t)
		s := started(t, upstream, "--face="+face)
		s.atOnce(6, func(int) { s.expect(t, "/hello", 200, "") })
		upstream.down()
		for range 3 {
			s.atOnce(6, func(int) { s.expect(t, "/hello", 502, "") })
		}
		s.expect(t, "/db", 200, "")
		if face == "matched" {
			s.expect(t, "/hello", 502, unavailableBody)
		}
		upstream.up(t)
		s.atOnce(6, func(int) { s.expect(t, "/hello", 200, "") })
		s.allGivenBack(t, upstream)
		s.end()
	}
}

func TestUpstreamIsNotBelieved(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream)
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
}

func TestWhatTheUpstreamAddsOrLeavesOutOfAListIsFine(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream)
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
		s := started(t, &upstreamServer{address: "127.0.0.1:" + port}, "--upstream-timeout-ms=1000")
		s.expect(t, "/hello?client=1", c.want, c.body)
		stop()
		_ = process.Wait() // it was killed
		s.expect(t, "/hello?client=1", 502, unavailableBody)
	}
}

func TestDatabaseThatIsDownAtStartIsA503UntilItIsThere(t *testing.T) {
	upstream := newUpstreamServer(t)
	database.kill()
	up := false
	bring := func() {
		if err := database.start(); err != nil {
			t.Fatal(err)
		}
		up = true
	}
	defer func() {
		if !up {
			bring()
		}
	}()
	for _, face := range []string{"matched", "published"} {
		s := started(t, upstream, "--face="+face)
		s.expect(t, "/health", 200, `{"status":"up"}`)
		s.atOnce(6, func(int) { s.expect(t, "/db", 503, "") })
		s.expect(t, "/hello", 200, "")
		if face == "matched" {
			s.expect(t, "/db", 503, databaseBody)
		}
		s.end()
	}
	s := started(t, upstream)
	s.expect(t, "/db", 503, databaseBody)
	bring()
	eventually(t, "the database answers", func() bool { response, _ := s.get(t, "/db"); return response.StatusCode == 200 })
	s.atOnce(40, func(int) { s.expect(t, "/db", 200, "") })
	s.allGivenBack(t, upstream)
	text, _ := s.stderr.read()
	if !regexp.MustCompile(`database_unavailable: .*connect.*\(and 0 more before\)\n`).MatchString(text) {
		t.Errorf("stderr does not say why: %q", text)
	}
}

func TestDatabaseKilledUnderLoadIsA503AndThenAsBefore(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream, "--pool-size=8")
	var stop atomic.Bool
	var good, bad atomic.Int64
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		s.atOnce(12, func(int) {
			for !stop.Load() {
				switch response, body := s.get(t, "/db"); {
				case response.StatusCode == 200:
					good.Add(1)
				case response.StatusCode == 503 && body == databaseBody:
					bad.Add(1)
				default:
					t.Errorf("%d %.100s", response.StatusCode, body)
				}
			}
		})
	}()
	defer func() { stop.Store(true); <-finished }()
	eventually(t, "requests are answered", func() bool { return good.Load() > 100 })
	database.kill()
	failed := bad.Load()
	eventually(t, "requests fail", func() bool { return bad.Load() > failed+20 })
	if err := database.start(); err != nil {
		t.Fatal(err)
	}
	before := good.Load()
	eventually(t, "requests are answered again", func() bool { return good.Load() > before+200 })
	stop.Store(true)
	<-finished
	s.atOnce(40, func(int) { s.expect(t, "/db", 200, "") })
	s.allGivenBack(t, upstream)
	if n := database.connections(t); n > 8 {
		t.Errorf("%d connections", n)
	}
}

func TestDatabaseThatHangsIsA503AndGivesBackItsConnections(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream, "--pool-size=2", "--pool-min=0", "--pool-wait-ms=100")
	s.expect(t, "/db", 200, "")
	conn, err := database.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "begin; lock table movie in access exclusive mode"); err != nil {
		t.Fatal(err)
	}
	s.atOnce(10, func(int) { s.expect(t, "/db", 503, databaseBody) }) // two wait for the lock, eight for a connection
	if _, err := conn.Exec(t.Context(), "rollback"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the database answers", func() bool { response, _ := s.get(t, "/db"); return response.StatusCode == 200 })
	s.allGivenBack(t, upstream)
}

func TestTableThatIsMissingOrHoldsNullsIsNoReasonToFall(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream)
	change := func(statements string) {
		if err := database.exec(statements); err != nil {
			t.Fatal(err)
		}
	}
	s.expect(t, "/db?client=1", 200, "")
	change("alter table movie rename to elsewhere")
	s.expect(t, "/db?client=1", 503, databaseBody)
	change("alter table elsewhere rename to movie")
	_, before := s.get(t, "/db?client=1")
	change("insert into movie values ('nobody''s', null, null, null), ('\"no\" year', null, null, 'J J Abrams'), ('cheap', -5, -0.5, 'J J Abrams')")
	defer change("delete from movie where title in ('nobody''s', '\"no\" year', 'cheap')")
	want := strings.TrimSuffix(before, "]}") + `,{"title":"\"no\" year","year":null,"cost":null},{"title":"cheap","year":-5,"cost":-0.50}]}`
	s.expect(t, "/db?client=1", 200, want)
	change("insert into movie values ('cheap', 1, 'NaN', 'someone')")
	s.expect(t, "/db?client=1", 503, databaseBody)
	s.allGivenBack(t, upstream)
}

func TestClientsThatHangUpTakeNoConnectionWithThem(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream)
	for range 30 {
		for _, path := range []string{"/hello", "/db"} {
			conn, err := net.Dial("tcp", s.address)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
			conn.Close()
		}
	}
	s.expect(t, "/hello", 200, "")
	s.expect(t, "/db", 200, "")
	s.allGivenBack(t, upstream)
}

func TestStopGivesBackEverything(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream)
	s.atOnce(10, func(i int) { s.expect(t, []string{"/hello", "/db"}[i%2], 200, "") })
	s.stop()
	if status := <-s.exited; status != 0 {
		t.Errorf("status %d", status)
	}
	eventually(t, "the database has no connection left", func() bool { return database.connections(t) == 0 })
	eventually(t, "the upstream has no connection left", func() bool { return upstream.open.Load() == 0 })
	if text, err := os.ReadFile(filepath.Join(database.folder, "log")); err != nil || strings.Contains(string(text), "unexpected EOF on client connection with an open") {
		t.Errorf("the database was left without a word: %v", err)
	}
}

func TestDatabaseOutOfConnectionsIsA503AndTheOnesThereAreGoOn(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream, "--pool-min=1")
	s.expect(t, "/db", 200, "")
	eventually(t, "the pool has opened what it keeps", func() bool { return database.connections(t) >= 1 })
	var others []*pgx.Conn
	free := func() {
		for _, conn := range others {
			_ = conn.Close(context.Background()) // its work is done
		}
		others = nil
	}
	defer free()
	for full := false; !full; {
		conn, err := database.connect(t.Context())
		if full = err != nil; !full {
			others = append(others, conn)
		}
	}
	s.atOnce(20, func(int) {
		if response, body := s.get(t, "/db"); response.StatusCode != 200 && body != databaseBody {
			t.Errorf("%d %s", response.StatusCode, body)
		}
	})
	s.expect(t, "/db", 200, "") // one after the other they have the connection there is
	free()
	eventually(t, "there is room again", func() bool { return database.exec("select 1") == nil })
	s.atOnce(20, func(int) { s.expect(t, "/db", 200, "") })
	s.allGivenBack(t, upstream)
}

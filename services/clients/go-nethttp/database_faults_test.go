// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

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
		if face == "matched" {
			s.atOnce(6, func(int) { s.expect(t, "/db", 503, databaseBody) })
		} else if response, body := s.get(t, "/db"); response.StatusCode != 200 || !strings.HasSuffix(body, `,"movies":null}`+"\n") {
			t.Errorf("%d %s", response.StatusCode, body)
		}
		s.expect(t, "/hello", 200, "")
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
	inEachCraft(t, func(t *testing.T, craft string) {
		upstream := newUpstreamServer(t)
		s := started(t, upstream, craft, "--pool-size=8")
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
	})
}

func TestDatabaseThatHangsIsA503AndGivesBackItsConnections(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		upstream := newUpstreamServer(t)
		s := started(t, upstream, craft, "--pool-size=2", "--pool-min=0", "--pool-wait-ms=2000")
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
	})
}

func TestTableThatIsMissingOrHoldsNullsIsNoReasonToFall(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		upstream := newUpstreamServer(t)
		s := started(t, upstream, craft)
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
	})
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

func TestSlowClientsKeepNobodyFromBeingServedAndLeaveNoConnectionBehind(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream)
	var slow []net.Conn
	for client := range 100 {
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		begun := []string{"GET /hel", "GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"}[client%2]
		if _, err := conn.Write([]byte(begun)); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, conn)
	}
	s.atOnce(12, func(i int) { s.expect(t, []string{"/hello", "/db"}[i%2], 200, "") })
	for _, conn := range slow {
		conn.Close()
	}
	_, port, _ := net.SplitHostPort(s.address)
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "connections that their clients closed are closed here, too", func() bool { return closedByClients(t, number) == 0 })
	s.allGivenBack(t, upstream)
}

// closedByClients returns how many connections to a port are still held though their other end was
// closed, as the kernel lists them.
func closedByClients(t *testing.T, port int) int {
	t.Helper()
	const closeWait = "08"
	count := 0
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a kernel without that protocol
		}
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); strings.HasSuffix(words[1], fmt.Sprintf(":%04X", port)) && words[3] == closeWait {
				count++
			}
		}
	}
	return count
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

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const unavailableBody = `{"error":"database_unavailable"}`

// everyWay is each craft with each way to connect.
var everyWay = []string{
	"--craft=idiomatic --connections=pool", "--craft=idiomatic --connections=per-statement",
	"--craft=tuned --connections=pool", "--craft=tuned --connections=per-statement",
}

// with returns the flags of a way and some more.
func with(way string, more ...string) []string { return append(strings.Fields(way), more...) }

// kept returns how many connections of a full pool stay open after the load: none where there is no pool.
func kept(way string, poolSize int) int {
	if strings.Contains(way, "per-statement") {
		return 0
	}
	return poolSize
}

func transferBody(from, to string, amount int) string {
	return fmt.Sprintf(`{"from_client_id":%s,"to_client_id":%s,"amount":%d}`, from, to, amount)
}

// wantUnavailable asks all three routes, each of which must say that the database is away and nothing more.
func wantUnavailable(t *testing.T, server *httptest.Server) {
	t.Helper()
	for _, c := range [][3]string{{"POST", "/client/new/1", ""}, {"POST", "/transaction", transferBody("1", "2", 1)}, {"GET", "/client/1/balance", ""}} {
		if status, body := ask(t, server, c[0], c[1], c[2]); status != 503 || body != unavailableBody {
			t.Errorf("%s: %d %s", c[1], status, body)
		}
	}
}

// quiet keeps what the service writes to stderr out of the way and returns it.
func quiet(t *testing.T) *lockedBuffer {
	t.Helper()
	var buffer lockedBuffer
	log.SetOutput(&buffer)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	return &buffer
}

func TestTheServiceStartsWithoutTheDatabaseAndServesOnceItIsThere(t *testing.T) {
	for _, way := range everyWay {
		t.Run(way, func(t *testing.T) {
			quiet(t)
			c := postgresql(t)
			c.emptied(t)
			c.stop(syscall.SIGINT)
			server := newService(t, with(way)...)
			if status, body := ask(t, server, "GET", "/health", ""); status != 200 {
				t.Errorf("health: %d %s", status, body)
			}
			wantUnavailable(t, server)
			c.mustStart(t)
			account(t, server, 5)
			c.checkInvariants(t)
		})
	}
}

func TestADatabaseThatCrashesUnderLoadCostsNoMoneyAndIsUsedAgain(t *testing.T) {
	for _, way := range everyWay {
		t.Run(way, func(t *testing.T) {
			quiet(t)
			c := postgresql(t)
			c.emptied(t)
			server := newService(t, with(way, "--pool-size=4")...)
			a, b := account(t, server, 1_000), account(t, server, 1_000)

			var ok, unavailable atomic.Int64
			var users sync.WaitGroup
			stop := make(chan struct{})
			for range 6 {
				users.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						for _, request := range [][3]string{{"POST", "/transaction", transferBody(a, b, 1)}, {"POST", "/client/new/3", ""}} {
							switch status, body := ask(t, server, request[0], request[1], request[2]); {
							case status == 200:
								ok.Add(1)
							case status == 503 && body == unavailableBody:
								unavailable.Add(1)
							default:
								t.Errorf("%d %s", status, body)
							}
						}
					}
				})
			}
			more := func(counter *atomic.Int64) { // waits until the load has brought some more of these
				for begin := counter.Load(); counter.Load() < begin+20; {
					time.Sleep(time.Millisecond)
				}
			}
			more(&ok)
			c.stop(syscall.SIGQUIT)
			more(&unavailable)
			c.mustStart(t)
			more(&ok)
			close(stop)
			users.Wait()
			for range 20 { // whatever connections broke have been thrown away
				ask(t, server, "GET", "/client/"+a+"/balance", "")
			}
			account(t, server, 1)
			c.checkInvariants(t)
			c.soonAtMost(t, 4)
		})
	}
}

func TestOutOfConnectionsIsA503UntilOneIsFree(t *testing.T) {
	for _, way := range everyWay {
		t.Run(way, func(t *testing.T) {
			quiet(t)
			c := postgresql(t)
			c.restartedWith(t, "max_connections=7", "superuser_reserved_connections=3")
			c.emptied(t)
			server := newService(t, with(way)...)
			var others []io.Closer
			for range 3 { // as many as there are beside the administrator's
				others = append(others, c.asClient(t))
			}
			wantUnavailable(t, server)
			for _, other := range others {
				other.Close()
			}
			c.soon(t, 0)
			account(t, server, 5)
			c.checkInvariants(t)
		})
	}
}

func TestWhoWaitsTooLongForThePoolGetsA503(t *testing.T) {
	errors := quiet(t)
	c := postgresql(t)
	c.emptied(t)
	server := newService(t, "--pool-size=1", "--pool-wait-ms=300")
	a := account(t, server, 5)

	lock := c.asClient(t)
	if _, err := lock.ExecContext(t.Context(), "BEGIN; LOCK TABLE client"); err != nil {
		t.Fatal(err)
	}
	var users sync.WaitGroup
	for range 3 {
		users.Go(func() {
			if status, body := ask(t, server, "GET", "/client/"+a+"/balance", ""); status != 503 || body != unavailableBody {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	users.Wait()
	if !strings.Contains(errors.text(), "no connection") {
		t.Errorf("nobody waited in vain: %s", errors.text())
	}
	if _, err := lock.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if status, body := ask(t, server, "GET", "/client/"+a+"/balance", ""); status != 200 || body != `{"balance":5}` {
		t.Errorf("after the wait: %d %s", status, body)
	}
	c.soon(t, 2) // the lock's and the pool's
}

func TestADatabaseThatAcceptsAndSaysNothingIsA503(t *testing.T) {
	for _, way := range everyWay {
		t.Run(way, func(t *testing.T) {
			quiet(t)
			silent, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
			(&cluster{port: silent.Addr().(*net.TCPAddr).Port}).environment(t)
			wantUnavailable(t, newService(t, with(way, "--pool-wait-ms=200")...)) // or it never returns
		})
	}
}

func TestConcurrentTransfersKeepTheSum(t *testing.T) {
	for _, way := range everyWay {
		t.Run(way, func(t *testing.T) {
			c := postgresql(t)
			c.emptied(t)
			server := newService(t, with(way, "--pool-size=4")...)
			var clients []string
			for range 4 {
				clients = append(clients, account(t, server, 100))
			}
			var users sync.WaitGroup
			for user := range 8 {
				users.Go(func() {
					for i := range 20 {
						from, to := clients[(user+i)%4], clients[(user+i+1+user%3)%4]
						if status, body := ask(t, server, "POST", "/transaction", transferBody(from, to, 1+i)); status != 200 {
							t.Errorf("%d %s", status, body)
						}
					}
				})
			}
			users.Wait()
			c.checkInvariants(t)
			c.soonAtMost(t, kept(way, 4))
		})
	}
}

func TestNoErrorLeaksAConnectionNorTellsWhatTheDatabaseSaid(t *testing.T) {
	for _, way := range everyWay {
		t.Run(way, func(t *testing.T) {
			errors := quiet(t)
			c := postgresql(t)
			c.emptied(t)
			server := newService(t, with(way, "--pool-size=1")...)
			a := account(t, server, 5)
			for range 5 {
				if status, body := ask(t, server, "POST", "/transaction", transferBody(a, "99", 1)); status != 404 {
					t.Errorf("%d %s", status, body)
				}
			}
			owner := c.asClient(t)
			if _, err := owner.ExecContext(t.Context(), "ALTER TABLE transaction RENAME TO mislaid"); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				wantUnavailable(t, server)
			}
			if !strings.Contains(errors.text(), `relation "transaction" does not exist`) {
				t.Errorf("on stderr is %q", errors.text())
			}
			if _, err := owner.ExecContext(t.Context(), "ALTER TABLE mislaid RENAME TO transaction"); err != nil {
				t.Fatal(err)
			}
			account(t, server, 1)
			c.checkInvariants(t)      // a client without its opening transaction would have stayed
			c.soon(t, kept(way, 1)+1) // the owner's
		})
	}
}

func TestConnectionsAreCounted(t *testing.T) {
	c := postgresql(t)
	c.emptied(t)
	pooled, each := newService(t), newService(t, "--connections=per-statement")
	for range 3 {
		account(t, pooled, 1)
		account(t, each, 1)
	}
	for _, c := range []struct {
		server             *httptest.Server
		opened, idle, used string
	}{{pooled, "1", "1", "0"}, {each, "3", "0", "0"}} {
		for name, want := range map[string]string{`db_connections{state="in_use"}`: c.used, `db_connections{state="idle"}`: c.idle, "db_connections_opened_total": c.opened} {
			if got := metric(t, c.server, name); got != want {
				t.Errorf("%s is %s, not %s", name, got, want)
			}
		}
	}
}

func TestClosingDoesNotWaitForWorkThatIsStillOn(t *testing.T) {
	c := postgresql(t)
	c.emptied(t)
	opts, err := parseFlags([]string{"--port=0"})
	if err != nil {
		t.Fatal(err)
	}
	db, err := openDatabase(opts)
	if err != nil {
		t.Fatal(err)
	}
	closed, ended := make(chan struct{}), make(chan error)
	lent := make(chan struct{})
	go func() {
		ended <- db.use(t.Context(), func(context.Context, *pgx.Conn) error {
			close(lent)
			<-closed // or both wait for each other
			return nil
		})
	}()
	<-lent
	db.close()
	close(closed)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

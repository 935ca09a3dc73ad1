// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// refused is a transfer whose amount the database refuses.
var refused = transferBody("1", "2", 1<<31)

// newPublished is a service whose panics are not written to stderr; of a flag given twice the last counts.
func newPublished(t *testing.T, sink io.Writer, args ...string) *httptest.Server {
	t.Helper()
	quiet(t)
	server := newLoggingService(t, sink, append([]string{"--face=published"}, args...)...)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	return server
}

// failPublished asks for what the database refuses; the published program panics and net/http closes the connection
// without an answer.
func failPublished(t *testing.T, server *httptest.Server, path, body string) {
	t.Helper()
	if response, err := server.Client().Post(server.URL+path, "application/json", strings.NewReader(body)); err == nil {
		t.Errorf("%s: answered with %d", path, response.StatusCode)
		response.Body.Close()
	}
}

func TestPublishedAPanicLeaksASqlDBAndItsGoroutineButNoConnection(t *testing.T) {
	c := postgresql(t)
	c.emptied(t)
	server := newPublished(t, nil)
	account(t, server, 5)
	failPublished(t, server, "/transaction", refused)
	before := openers()
	for range 10 {
		failPublished(t, server, "/transaction", refused)
	}
	c.soon(t, 0)
	if got := metric(t, server, `db_connections{state="in_use"}`); got != "0" {
		t.Errorf("the service counts %s open connections", got)
	}
	if more := openers() - before; more != 10 {
		t.Errorf("%d goroutines of database/sql are left by ten panics", more)
	}
}

// openers returns how many goroutines wait to open connections for a sql.DB: one for each that was not closed.
func openers() int {
	stacks := make([]byte, 4<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "database/sql.(*DB).connectionOpener(")
}

func TestPublishedWithDefaultSettingsEachPanicLeaksAConnectionUntilThereAreNoneLeft(t *testing.T) {
	c := postgresql(t)
	c.restartedWith(t, "max_connections=12", "superuser_reserved_connections=3")
	c.emptied(t)
	server := newPublished(t, nil, "--statement-db=defaults")
	account(t, server, 5)
	c.soon(t, 0) // what goes well leaves nothing behind
	for leaked := range 5 {
		failPublished(t, server, "/transaction", refused)
		c.soon(t, leaked+1)
	}
	if got := metric(t, server, `db_connections{state="in_use"}`); got != "5" {
		t.Errorf("the service counts %s open connections", got)
	}
	for range 30 { // takes the rest of the eight that are not the administrator's
		failPublished(t, server, "/transaction", refused)
	}
	failPublished(t, server, "/client/new/1", "")
	c.soon(t, 8)
}

func TestPublishedAPoolSurvivesPanics(t *testing.T) {
	c := postgresql(t)
	c.emptied(t)
	server := newPublished(t, nil, "--connections=pool", "--pool-size=2")
	for range 6 {
		failPublished(t, server, "/transaction", refused)
	}
	account(t, server, 5)
	c.soonAtMost(t, 2)
}

func TestPublishedLinesSayWhatWasDoneAndWhatWasNotYet(t *testing.T) {
	const made = "Created client with id 1\nCreated transaction with id 1\nCreated transaction with id 2\nCalculated balance with client id 1\n"
	for _, face := range []string{"published", "repaired"} {
		t.Run(face, func(t *testing.T) {
			c := postgresql(t)
			c.emptied(t)
			var sink lockedBuffer
			server := newPublished(t, &sink, "--face="+face)
			account(t, server, 5)
			ask(t, server, "POST", "/transaction", transferBody("1", "1", 1))
			ask(t, server, "GET", "/client/1/balance", "")
			fail := func(path, body string) {
				if face == "published" {
					failPublished(t, server, path, body)
				} else if status, _ := ask(t, server, "POST", path, body); status != 500 {
					t.Errorf("%s: %d", path, status)
				}
			}
			fail("/transaction", refused)
			fail("/client/new/2147483648", "")
			const failed = "Created transaction with id 0\nCreated client with id 2\nCreated transaction with id 0\n"
			if got := sink.text(); got != made+failed {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestPublishedTheBalanceOfClientZeroIsWhatAllOpeningBalancesTook(t *testing.T) {
	for _, face := range []string{"published", "repaired"} {
		c := postgresql(t)
		c.emptied(t)
		server := newService(t, "--face="+face)
		account(t, server, 5)
		account(t, server, 30)
		for _, id := range []string{"0", "abc"} {
			if status, body := ask(t, server, "GET", "/client/"+id+"/balance", ""); status != 200 || body != "{\"balance\":-35}\n" {
				t.Errorf("%s %s: %d %q", face, id, status, body)
			}
		}
	}
}

func TestRepairedAFailureIsA500ThatSaysWhatFailed(t *testing.T) {
	c := postgresql(t)
	c.emptied(t)
	server := newService(t, "--face=repaired", "--pool-size=2")
	for _, one := range []struct{ method, path, body, what, why string }{
		{"POST", "/transaction", "{", "Error deserializing request", "unexpected EOF"},
		{"POST", "/transaction", refused, "Error in creating transaction", "2147483648"},
		{"POST", "/client/new/2147483648", "", "Error in creating client", "2147483648"},
		{"GET", "/client/2147483648/balance", "", "Error in getting balance", "2147483648"},
	} {
		status, body := ask(t, server, one.method, one.path, one.body)
		begin, end := fmt.Sprintf(`{"status":"Error", "message":"%s: `, one.what), "\"}\n"
		if status != 500 || !strings.HasPrefix(body, begin) || !strings.HasSuffix(body, end) {
			t.Errorf("%s: %d %q", one.path, status, body)
		}
		inner := strings.TrimSuffix(strings.TrimPrefix(body, begin), end)
		if strings.Contains(inner, `"`) || !strings.Contains(inner, one.why) {
			t.Errorf("%s: %q", one.path, inner)
		}
	}
	response, err := server.Client().Get(server.URL + "/client/2147483648/balance")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "text/plain; charset=utf-8" {
		t.Errorf("content type %q", kind)
	}
	account(t, server, 5)
	c.soonAtMost(t, 2)
}

func TestRepairedThePoolKeepsTwoIdleConnections(t *testing.T) {
	c := postgresql(t)
	c.emptied(t)
	server := newService(t, "--face=repaired", "--pool-size=8")
	lock := c.asClient(t)
	if _, err := lock.ExecContext(t.Context(), "BEGIN; LOCK TABLE transaction"); err != nil {
		t.Fatal(err)
	}
	var users sync.WaitGroup
	for range 6 {
		users.Go(func() {
			if status, body := ask(t, server, "GET", "/client/1/balance", ""); status != 200 {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	for begin := time.Now(); c.backends(t) < 7 && time.Since(begin) < 30*time.Second; { // the lock's and six that wait
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := lock.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	users.Wait()
	c.soon(t, 3)
	if got := metric(t, server, `db_connections{state="idle"}`); got != "2" {
		t.Errorf("%s idle connections", got)
	}
}

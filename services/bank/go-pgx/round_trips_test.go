// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"strconv"
	"sync"
	"testing"
)

// relay stands between a service and its database and counts round trips: an answer that begins
// after something was sent.
type relay struct {
	mutex   sync.Mutex
	waiting bool
	trips   int
}

func (y *relay) sent() {
	y.mutex.Lock()
	defer y.mutex.Unlock()
	y.waiting = true
}

func (y *relay) answered() {
	y.mutex.Lock()
	defer y.mutex.Unlock()
	if y.waiting {
		y.waiting, y.trips = false, y.trips+1
	}
}

func (y *relay) count() int {
	y.mutex.Lock()
	defer y.mutex.Unlock()
	return y.trips
}

// pass copies what comes until the end, and says so before it hands anything on.
func pass(to, from net.Conn, seen func()) {
	defer to.Close()
	part := make([]byte, 16<<10)
	for {
		n, err := from.Read(part)
		if n > 0 {
			seen()
			if _, err := to.Write(part[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// relayed puts a relay before the database of the environment.
func relayed(t *testing.T, database int) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	counted := &relay{}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(database)))
			if err != nil {
				client.Close()
				return
			}
			go pass(server, client, counted.sent)
			go pass(client, server, counted.answered)
		}
	}()
	t.Setenv("PGPORT", strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	return counted
}

func TestEachRequestIsOneRoundTripToTheDatabase(t *testing.T) {
	inEachCraft(t, eachRequestIsOneRoundTrip)
}

func eachRequestIsOneRoundTrip(t *testing.T, craft string) {
	c := postgresql(t)
	c.emptied(t)
	counted := relayed(t, c.port)
	server := newService(t, craft, "--connections=pool", "--pool-size=1")
	a, b := account(t, server, 100), account(t, server, 100)
	for _, one := range []struct{ method, path, body string }{
		{"POST", "/client/new/5", ""},
		{"POST", "/transaction", transferBody(a, b, 1)},
		{"GET", "/client/" + a + "/balance", ""},
	} {
		ask(t, server, one.method, one.path, one.body) // connects and prepares, if that was not done
		before := counted.count()
		for range 7 {
			if status, body := ask(t, server, one.method, one.path, one.body); status != 200 {
				t.Fatalf("%s: %d %s", one.path, status, body)
			}
		}
		if trips := counted.count() - before; trips != 7 {
			t.Errorf("%s: %d round trips for seven requests", one.path, trips)
		}
	}
}

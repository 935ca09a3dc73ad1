// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxBodyBytes = 65_536
	maxHeadBytes = 16_384 // also the size of a read buffer
	drainTime    = 5 * time.Second
)

// echo answers each HTTP/1.x request with the same bytes: one goroutine and one read buffer a
// connection, and answers to pipelined requests leave in one write.
type echo struct {
	answer []byte // head and body of the 200
	health []byte

	draining atomic.Bool
	mutex    sync.Mutex
	open     map[net.Conn]struct{}
	group    sync.WaitGroup
}

func newEcho(body string) *echo {
	return &echo{
		answer: response("200 OK", "application/json", body),
		health: response("200 OK", "application/json", `{"status":"up"}`),
		open:   map[net.Conn]struct{}{},
	}
}

func response(status, kind, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, kind, len(body), body)
}

// serve accepts connections until the listener is closed.
func (e *echo) serve(listener net.Listener) error {
	for pause := time.Duration(0); ; {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			pause = 0
			e.start(conn)
		case errors.Is(err, net.ErrClosed):
			return nil
		default: // out of file descriptors, or a client that was gone at once: the service stays
			fmt.Fprintf(os.Stderr, "accept: %v\n", err)
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			time.Sleep(pause)
		}
	}
}

func (e *echo) start(conn net.Conn) {
	e.mutex.Lock()
	e.open[conn] = struct{}{}
	e.mutex.Unlock()
	e.group.Go(func() {
		talk := conversation{conn: conn, in: bufio.NewReaderSize(conn, maxHeadBytes), draining: &e.draining}
		talk.run(e.answering)
		e.mutex.Lock()
		delete(e.open, conn)
		e.mutex.Unlock()
		_ = conn.Close()
	})
}

// drain ends idle connections, lets the others finish the request they are in, and returns when
// all are gone or drainTime is over. Nothing may be accepted any more.
func (e *echo) drain() {
	e.draining.Store(true)
	e.mutex.Lock()
	for conn := range e.open {
		_ = conn.SetReadDeadline(time.Now()) // wakes who waits for a request
	}
	e.mutex.Unlock()
	done := make(chan struct{})
	go func() { e.group.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(drainTime):
	}
}

// answering returns the whole answer to a request of this head.
func (e *echo) answering(asked head) []byte {
	answer := e.answer
	switch {
	case !asked.isGet():
	case string(asked.target) == "/health":
		answer = e.health
	case string(asked.target) == "/metrics":
		answer = metrics()
	}
	if string(asked.method) == "HEAD" {
		return answer[:bytes.Index(answer, []byte("\r\n\r\n"))+4]
	}
	return answer
}

func metrics() []byte {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return response("200 OK", "text/plain; version=0.0.4", fmt.Sprintf(
		"# TYPE go_goroutines gauge\ngo_goroutines %d\n"+
			"# TYPE go_memstats_heap_alloc_bytes gauge\ngo_memstats_heap_alloc_bytes %d\n"+
			"# TYPE go_gc_cycles_total counter\ngo_gc_cycles_total %d\n",
		runtime.NumGoroutine(), memory.HeapAlloc, memory.NumGC))
}

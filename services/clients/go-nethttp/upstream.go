// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

const maxUpstreamBytes = 65_536

// What can be wrong with the upstream. The text of each is its code in the answer.
var (
	errUpstreamTimeout     = errors.New("upstream_timeout")
	errUpstreamUnavailable = errors.New("upstream_unavailable")
	errUpstreamBadAnswer   = errors.New("upstream_bad_answer")
)

// upstream asks the other service, over a bounded number of kept connections.
type upstream struct {
	client    *http.Client
	transport *http.Transport
	dialled   *dialCounter
	timeout   time.Duration
	base      string // without / at the end
}

func newUpstream(base string, connections int, timeout time.Duration) *upstream {
	dialled := &dialCounter{}
	transport := &http.Transport{
		DialContext:         dialled.dial,
		MaxConnsPerHost:     connections,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // loopback: packing costs more than it saves, and nobody else asks for it
	}
	return &upstream{
		client:    &http.Client{Transport: transport, CheckRedirect: stayHere},
		transport: transport, dialled: dialled, timeout: timeout, base: base,
	}
}

// stayHere makes a redirection an answer like any other: one that was not asked for.
func stayHere(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (u *upstream) phones(ctx context.Context, x *exchange, id int) ([]Phone, error) {
	if err := u.get(ctx, &x.answer.body, "/phones/", id); err != nil {
		return nil, err
	}
	phones, err := x.answer.phones(x.phones[:0])
	if err != nil {
		return nil, fmt.Errorf("%w: phones: %w", errUpstreamBadAnswer, err)
	}
	x.phones = phones // the buffer grew once and is kept
	return phones, nil
}

func (u *upstream) address(ctx context.Context, x *exchange, id int) (*Address, error) {
	if err := u.get(ctx, &x.answer.body, "/address/", id); err != nil {
		return nil, err
	}
	if err := x.answer.address(&x.address); err != nil {
		return nil, fmt.Errorf("%w: address: %w", errUpstreamBadAnswer, err)
	}
	return &x.address, nil
}

// get reads one whole answer into body, within the time limit for a call.
func (u *upstream) get(ctx context.Context, body *bytes.Buffer, path string, id int) error {
	ctx, cancel := context.WithTimeout(ctx, u.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.base+path+strconv.Itoa(id), nil)
	if err != nil { // cannot be: the base was checked when the program started
		return fmt.Errorf("%w: %w", errUpstreamUnavailable, err)
	}
	u.dialled.inUse.Add(1)
	defer u.dialled.inUse.Add(-1)
	response, err := u.client.Do(request)
	if err != nil {
		return noAnswer(ctx, err)
	}
	defer response.Body.Close()
	body.Reset()
	if _, err := body.ReadFrom(io.LimitReader(response.Body, maxUpstreamBytes+1)); err != nil {
		return noAnswer(ctx, err)
	}
	switch {
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%w: %s: %s", errUpstreamBadAnswer, path, response.Status)
	case body.Len() > maxUpstreamBytes:
		return fmt.Errorf("%w: %s: more than %d bytes", errUpstreamBadAnswer, path, maxUpstreamBytes)
	}
	return nil
}

func noAnswer(ctx context.Context, cause error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", errUpstreamTimeout, cause)
	}
	return fmt.Errorf("%w: %w", errUpstreamUnavailable, cause)
}

// close ends the kept connections.
func (u *upstream) close() { u.transport.CloseIdleConnections() }

// dialCounter knows how many connections are open, which net/http does not tell.
type dialCounter struct {
	open, opened, inUse atomic.Int64
	dialer              net.Dialer
}

func (d *dialCounter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.open.Add(1)
	d.opened.Add(1)
	return &countedConn{Conn: conn, counter: d}, nil
}

// states returns how many connections are in use and how many wait. A call that still waits for its
// connection has none, so there are never more in use than open.
func (d *dialCounter) states() (inUse, idle int64) {
	open := d.open.Load()
	inUse = min(d.inUse.Load(), open)
	return inUse, open - inUse
}

type countedConn struct {
	net.Conn
	counter *dialCounter
	closed  atomic.Bool
}

func (c *countedConn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.counter.open.Add(-1)
	}
	return c.Conn.Close()
}

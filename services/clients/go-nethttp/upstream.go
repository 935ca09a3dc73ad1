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

	"github.com/go-json-experiment/json"
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

func (u *upstream) phones(ctx context.Context, id int) ([]Phone, error) {
	var phones []Phone
	if err := u.getStrictly(ctx, "/phones/", id, &phones); err != nil {
		return nil, err
	}
	if phones == nil {
		return nil, fmt.Errorf("%w: phones: null", errUpstreamBadAnswer)
	}
	for i, phone := range phones {
		if phone.DDD == nil || phone.Number == nil {
			return nil, fmt.Errorf("%w: phone %d: ddd or number is missing", errUpstreamBadAnswer, i)
		}
	}
	return phones, nil
}

func (u *upstream) address(ctx context.Context, id int) (*Address, error) {
	var address Address
	if err := u.getStrictly(ctx, "/address/", id, &address); err != nil {
		return nil, err
	}
	if address.Street == nil || address.Number == nil || address.State == nil || address.Country == nil {
		return nil, fmt.Errorf("%w: address: street, number, state or country is missing", errUpstreamBadAnswer)
	}
	return &address, nil
}

// getStrictly binds one whole answer to into. The decoder refuses invalid UTF-8, lone surrogates,
// keys that come twice and anything after the JSON text.
func (u *upstream) getStrictly(ctx context.Context, path string, id int, into any) error {
	body, err := u.get(ctx, path, id, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: %s: %w", errUpstreamBadAnswer, path, err)
	}
	return nil
}

// get returns the body of one whole answer, within the time limit for a call. It is in reused, unless that is nil.
func (u *upstream) get(ctx context.Context, path string, id int, reused *bytes.Buffer) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, u.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.base+path+strconv.Itoa(id), nil)
	if err != nil { // cannot be: the base was checked when the program started
		return nil, fmt.Errorf("%w: %w", errUpstreamUnavailable, err)
	}
	u.dialled.inUse.Add(1)
	defer u.dialled.inUse.Add(-1)
	response, err := u.client.Do(request)
	if err != nil {
		return nil, noAnswer(ctx, err)
	}
	defer response.Body.Close()
	if reused == nil { // one buffer of the length that the answer declares, and not several that grow
		length := max(0, min(response.ContentLength, maxUpstreamBytes))
		reused = bytes.NewBuffer(make([]byte, 0, length+bytes.MinRead))
	}
	reused.Reset()
	if _, err := reused.ReadFrom(io.LimitReader(response.Body, maxUpstreamBytes+1)); err != nil {
		return nil, noAnswer(ctx, err)
	}
	body := reused.Bytes()
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w: %s: %s", errUpstreamBadAnswer, path, response.Status)
	case len(body) > maxUpstreamBytes:
		return nil, fmt.Errorf("%w: %s: more than %d bytes", errUpstreamBadAnswer, path, maxUpstreamBytes)
	}
	return body, nil
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

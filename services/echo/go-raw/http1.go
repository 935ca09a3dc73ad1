// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// head is what is read out of the head of a request; its slices die with the next read.
type head struct {
	method, target []byte
	bodyBytes      int
	last           bool // the client wants the connection closed after the answer
}

func (h head) isGet() bool {
	return string(h.method) == "GET" || string(h.method) == "HEAD"
}

const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 1 << 20
)

// refusal is an answer after which the connection is closed.
type refusal struct{ status, code string }

func (r *refusal) Error() string { return r.code }

var (
	errBadRequest     = &refusal{"400 Bad Request", "bad_request"}
	errLengthRequired = &refusal{"411 Length Required", "length_required"}
	errBodyTooLarge   = &refusal{"413 Content Too Large", "body_too_large"}
	errHeadTooLarge   = &refusal{"431 Request Header Fields Too Large", "head_too_large"}
)

// parseHead reads the lines of a head, each with its line break, without the empty one.
func parseHead(lines []byte) (head, error) {
	first, rest, _ := bytes.Cut(lines, []byte("\r\n"))
	method, first, found := bytes.Cut(first, []byte(" "))
	target, version, found2 := bytes.Cut(first, []byte(" "))
	if !found || !found2 || len(version) != len("HTTP/1.1") || string(version[:7]) != "HTTP/1." {
		return head{}, errBadRequest
	}
	asked := head{method: method, target: target, last: version[7] == '0'}
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		switch line[0] | 0x20 { // few names are worth a closer look
		case 'c', 't':
		default:
			continue
		}
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found {
			return head{}, errBadRequest
		}
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			length, err := strconv.ParseUint(string(value), 10, 63)
			if err != nil {
				return head{}, errBadRequest
			}
			if length > maxBodyBytes {
				return head{}, errBodyTooLarge
			}
			asked.bodyBytes = int(length)
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return head{}, errLengthRequired
		case bytes.EqualFold(name, []byte("Connection")):
			asked.last = asked.last || bytes.EqualFold(value, []byte("close"))
		}
	}
	return asked, nil
}

// conversation is one connection: requests in, answers out, in order.
type conversation struct {
	conn     net.Conn
	in       *bufio.Reader
	out      []byte // answers to requests that came together; they leave in one write
	draining *atomic.Bool
}

// run answers requests until the client leaves, errs, or has to go.
func (c *conversation) run(answering func(head) []byte) {
	defer c.flush()
	for {
		lines, err := c.readHead()
		if err == nil && lines == nil {
			return // the client left
		}
		var asked head
		if err == nil {
			asked, err = parseHead(lines)
		}
		if err != nil {
			c.refuse(err)
			return
		}
		answer := answering(asked)
		if !c.skip(len(lines) + 2 + asked.bodyBytes) {
			return
		}
		c.out = append(c.out, answer...)
		if asked.last || c.draining.Load() {
			return
		}
	}
}

// readHead returns the lines of the next head, which stay in the buffer; nil when the client left.
func (c *conversation) readHead() ([]byte, error) {
	for {
		seen, _ := c.in.Peek(c.in.Buffered())
		if end := bytes.Index(seen, []byte("\r\n\r\n")); end >= 0 {
			return seen[:end+2], nil
		}
		if len(seen) == maxHeadBytes {
			return nil, errHeadTooLarge
		}
		if !c.wait(func() error { _, err := c.in.Peek(len(seen) + 1); return err }, len(seen) > 0) {
			return nil, nil
		}
	}
}

// skip reads n bytes and forgets them; false when the client left before.
func (c *conversation) skip(n int) bool {
	if n <= c.in.Buffered() {
		_, _ = c.in.Discard(n) // cannot fail: the bytes are there
		return true
	}
	return c.wait(func() error { skipped, err := c.in.Discard(n); n -= skipped; return err }, true)
}

// wait reads from the connection. What is due leaves first: the client may wait for it.
// A drain interrupts it; in the middle of a request it then goes on.
func (c *conversation) wait(read func() error, inRequest bool) bool {
	if !c.flush() {
		return false
	}
	err := read()
	if errors.Is(err, os.ErrDeadlineExceeded) && (inRequest || c.in.Buffered() > 0) {
		_ = c.conn.SetReadDeadline(time.Now().Add(drainTime))
		err = read()
	}
	return err == nil
}

func (c *conversation) flush() bool {
	if len(c.out) == 0 {
		return true
	}
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	return err == nil
}

func (c *conversation) refuse(err error) {
	var why *refusal
	if !errors.As(err, &why) {
		why = errBadRequest
	}
	body := `{"error":"` + why.code + `"}`
	c.out = fmt.Appendf(c.out, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		why.status, len(body), body)
	if !c.flush() {
		return
	}
	// Closing while the client still sends would reset the connection before it has read why.
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = c.conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.in, lingerBytes)
	}
}

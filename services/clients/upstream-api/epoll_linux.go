// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"
	"unsafe"
)

// epollLoop answers the requests of a load from one thread around epoll. A connection with anything else on it is
// net/http's from then on. On a core that a load generator needs too, what Go's poller and scheduler do to wake a
// goroutine takes longer than the answer, and delays the generator.
type epollLoop struct {
	site     *site
	answers  map[string][]byte // by path: head and body
	poller   int
	listener int
	rest     *handedOver
}

const readBytes = 16_384

// startEpoll has a loop accept what comes to the listener, and returns where it leaves the other connections.
func startEpoll(from net.Listener, s *site) (net.Listener, error) {
	file, err := from.(*net.TCPListener).File() // a copy: Go's own poller must not be woken by each request
	if err != nil {
		return nil, err
	}
	rest := &handedOver{Listener: from, conns: make(chan net.Conn), gone: make(chan struct{})}
	loop := &epollLoop{site: s, answers: map[string][]byte{}, listener: int(file.Fd()), rest: rest}
	for path, page := range s.pages {
		loop.answers[path] = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s",
			page.length[0], page.body)
	}
	if loop.poller, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if err := errors.Join(syscall.SetNonblock(loop.listener, true), loop.watch(loop.listener)); err != nil {
		return nil, err
	}
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) // the loop keeps one for itself
	go func() {
		defer runtime.KeepAlive(file) // a collected file is closed
		loop.run()
	}()
	return rest, nil
}

func (l *epollLoop) watch(fd int) error {
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	return syscall.EpollCtl(l.poller, syscall.EPOLL_CTL_ADD, fd, &event)
}

func (l *epollLoop) run() {
	events, buffer := make([]syscall.EpollEvent, 64), make([]byte, readBytes)
	for {
		// raw: a wait that the scheduler knows of has its monitor look at it every twenty microseconds
		n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(l.poller),
			uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), ^uintptr(0), 0, 0)
		if errno != 0 { // a signal: the runtime wants the goroutine to stop for a moment
			runtime.Gosched()
			continue
		}
		for _, event := range events[:n] {
			if fd := int(event.Fd); fd == l.listener {
				l.accept()
			} else {
				l.answer(fd, buffer)
			}
		}
	}
}

func (l *epollLoop) accept() {
	for {
		fd, _, err := syscall.Accept4(l.listener, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if err == syscall.EAGAIN {
			return
		}
		if err != nil { // out of file descriptors, or a client that was gone at once
			time.Sleep(5 * time.Millisecond)
			return
		}
		noDelay := syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
		if errors.Join(noDelay, l.watch(fd)) != nil {
			_ = syscall.Close(fd)
		}
	}
}

// answer reads what is there: a whole request for phones or an address, or something for net/http.
func (l *epollLoop) answer(fd int, buffer []byte) {
	n, err := syscall.Read(fd, buffer)
	if err == syscall.EAGAIN || err == syscall.EINTR {
		return
	}
	if n <= 0 {
		_ = syscall.Close(fd)
		return
	}
	answer := l.answers[string(plainPath(buffer[:n]))]
	if answer == nil || l.site.faults.delay > 0 {
		l.handOver(fd, bytes.Clone(buffer[:n]))
		return
	}
	l.site.served.Inc()
	if n, err := syscall.Write(fd, answer); err != nil || n < len(answer) {
		_ = syscall.Close(fd) // nobody leaves a kilobyte unread and waits for the rest
	}
}

// Fields with which a request is more than a path, in lower case.
var notPlain = [][]byte{
	[]byte("connection"), []byte("content-length"), []byte("transfer-encoding"), []byte("expect"), []byte("upgrade"),
}

// plainPath returns the path of one whole GET without a body that keeps its connection; nil: it is something else.
func plainPath(request []byte) []byte {
	line, rest, _ := bytes.Cut(request, []byte("\r\n"))
	path, isGet := bytes.CutPrefix(line, []byte("GET "))
	path, isHTTP := bytes.CutSuffix(path, []byte(" HTTP/1.1"))
	nHosts := 0
	for isGet && isHTTP && len(rest) > 2 {
		var field []byte
		field, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, _, isField := bytes.Cut(field, []byte(":"))
		isNamed := func(known []byte) bool { return bytes.EqualFold(name, known) }
		if !isField || slices.ContainsFunc(notPlain, isNamed) {
			return nil
		}
		if isNamed([]byte("host")) {
			nHosts++
		}
	}
	if nHosts != 1 || string(rest) != "\r\n" {
		return nil
	}
	return path
}

// handOver gives a connection to net/http, with what was read from it.
func (l *epollLoop) handOver(fd int, read []byte) {
	_ = syscall.EpollCtl(l.poller, syscall.EPOLL_CTL_DEL, fd, nil)
	file := os.NewFile(uintptr(fd), "")
	conn, err := net.FileConn(file) // of a copy of the descriptor
	_ = file.Close()
	if err == nil {
		go l.rest.add(&resumed{Conn: conn, read: read})
	}
}

// handedOver is a listener on whose connections something was read already.
type handedOver struct {
	net.Listener
	conns chan net.Conn
	gone  chan struct{}
}

func (h *handedOver) add(conn net.Conn) {
	select {
	case h.conns <- conn:
	case <-h.gone:
		_ = conn.Close()
	}
}

func (h *handedOver) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.gone:
		return nil, net.ErrClosed
	}
}

func (h *handedOver) Close() error {
	select {
	case <-h.gone:
		return nil
	default:
		close(h.gone)
		return h.Listener.Close()
	}
}

// resumed is a connection of which some bytes were read already.
type resumed struct {
	net.Conn
	read []byte
}

func (r *resumed) Read(into []byte) (int, error) {
	if len(r.read) == 0 {
		return r.Conn.Read(into)
	}
	n := copy(into, r.read)
	r.read = r.read[n:]
	return n, nil
}

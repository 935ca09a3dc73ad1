// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// spinListener hands out connections whose reads are woken by a goroutine that looks for requests without a pause.
// Go's own poller is asked only when nothing can run, and then the process may sleep.
type spinListener struct {
	net.Listener
	poller int
	wakes  *wakes
}

// wakes are the channels of connections by their file descriptor, which the kernel gives out from the lowest on.
type wakes [1 << 16]atomic.Pointer[chan struct{}]

func spinning(listener net.Listener) (net.Listener, error) {
	poller, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	spin := &spinListener{Listener: listener, poller: poller, wakes: new(wakes)}
	go spin.look()
	return spin, nil
}

// look wakes who waits for a connection that something arrived on. It goes on while connections drain.
func (l *spinListener) look() {
	events := make([]syscall.EpollEvent, 64)
	for {
		n, _ := syscall.EpollWait(l.poller, events, 0) // an interruption leaves n below 1
		for _, event := range events[:max(n, 0)] {
			if wake := l.wakes[event.Fd].Load(); wake != nil {
				notify(*wake)
			}
		}
		runtime.Gosched()
	}
}

func notify(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default: // it has been woken already
	}
}

func (l *spinListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp := conn.(*net.TCPConn)
	control, err := tcp.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	spin := &spinConn{TCPConn: tcp, wake: make(chan struct{}, 1)}
	if e := control.Control(func(fd uintptr) {
		spin.fd = int(fd)
		if spin.fd >= len(l.wakes) {
			err = syscall.EMFILE
			return
		}
		l.wakes[spin.fd].Store(&spin.wake)
		event := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP, Fd: int32(fd)}
		event.Events |= 1 << 31 // EPOLLET, which syscall has as a negative number
		err = syscall.EpollCtl(l.poller, syscall.EPOLL_CTL_ADD, spin.fd, &event)
	}); e != nil || err != nil {
		return nil, errors.Join(e, err, conn.Close())
	}
	return spin, nil
}

// spinConn reads when it is woken; it is closed by who reads it.
type spinConn struct {
	*net.TCPConn
	fd      int
	wake    chan struct{}
	expired atomic.Bool
}

func (c *spinConn) Read(into []byte) (int, error) {
	for {
		n, err := syscall.Read(c.fd, into)
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			return 0, io.EOF
		case err == syscall.EINTR:
		case err != syscall.EAGAIN:
			return 0, err
		case c.expired.Load():
			return 0, os.ErrDeadlineExceeded
		default:
			<-c.wake
		}
	}
}

// SetReadDeadline wakes the read when the time has come.
func (c *spinConn) SetReadDeadline(at time.Time) error {
	c.expired.Store(false)
	time.AfterFunc(time.Until(at), func() { c.expired.Store(true); notify(c.wake) })
	return nil
}

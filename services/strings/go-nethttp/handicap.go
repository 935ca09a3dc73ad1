// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// A handicap makes this service worse by a share that is known: of all CPU time that the process uses, so much is
// burnt. CPU time per request is then 1/(1-share) times what it was, and where the CPU is the limit throughput is
// (1-share) times what it was, whatever machine, load or craft. The process's own clock says what is owed, so nothing
// has to be calibrated beforehand.
const (
	mostHandicap = 0.5
	// The clock of the process is read once in so many requests: reading it is part of what is burnt.
	handicapEvery = 16
	// The most that is burnt at once, so that no payment is a stall; the rest stays owed.
	handicapAtOnce = time.Millisecond
)

var errNoCPUClock = errors.New("--handicap needs the CPU clocks of Linux")

type handicap struct {
	share float64
	next  http.Handler

	mu      sync.Mutex
	served  int
	process func() time.Duration // CPU time of the process
	thread  func() time.Duration // CPU time of the calling thread
	burnt   time.Duration
}

// parseHandicap reads a share from 0 to mostHandicap.
func parseHandicap(text string) (float64, error) {
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !(share >= 0 && share <= mostHandicap) {
		return 0, fmt.Errorf("--handicap %q; needed: a share from 0 to %g", text, mostHandicap)
	}
	return share, nil
}

// newHandicap returns next with its handicap; the share is of the CPU time since the process began.
func newHandicap(share float64, next http.Handler) *handicap {
	return &handicap{share: share, next: next, process: processCPU, thread: threadCPU}
}

func (h *handicap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.next.ServeHTTP(w, r)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.served++; h.served%handicapEvery == 0 {
		h.pay()
	}
}

// pay burns what is owed. While one request pays, others that end wait: on the CPUs of the service it is one payment.
func (h *handicap) pay() {
	runtime.LockOSThread() // the clock is that of a thread
	defer runtime.UnlockOSThread()
	begin := h.thread()
	owed := h.owed(h.process())
	for took := time.Duration(0); ; took = h.thread() - begin {
		if took >= min(owed, handicapAtOnce) {
			h.burnt += took
			return
		}
	}
}

// owed is what is to be burnt so that the burnt part is the share of all, itself included.
func (h *handicap) owed(used time.Duration) time.Duration {
	return time.Duration((h.share*float64(used) - float64(h.burnt)) / (1 - h.share))
}

// report says what was burnt of what was used.
func (h *handicap) report(stderr io.Writer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	used := h.process()
	fmt.Fprintf(stderr, "handicap declared=%g burnt_share=%.4f burnt_s=%.3f used_s=%.3f\n",
		h.share, h.burnt.Seconds()/used.Seconds(), h.burnt.Seconds(), used.Seconds())
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	httptransport "github.com/go-kit/kit/transport/http"
)

// exchange is what one request of the matched face needs, reused for later ones.
// It is the request and the response of the endpoints: a pointer goes through go-kit's
// interface{} without an allocation.
type exchange struct {
	request requestReader
	work    []byte
	out     []byte // the body of the answer
	line    []byte
	begin   time.Time

	observer *pathObserver
	method   string
	declared int64 // the Content-Length, -1 when the body is chunked
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

type exchangeKey struct{}

// beginExchange is the ServerBefore of the matched face.
func beginExchange(observer *pathObserver) httptransport.RequestFunc {
	return func(ctx context.Context, r *http.Request) context.Context {
		x := exchanges.Get().(*exchange)
		x.begin = time.Now()
		x.out, x.request.bytesRead = x.out[:0], 0
		x.observer, x.method, x.declared = observer, r.Method, r.ContentLength
		return context.WithValue(ctx, exchangeKey{}, x)
	}
}

func exchangeOf(ctx context.Context) *exchange {
	return ctx.Value(exchangeKey{}).(*exchange)
}

// answer counts and logs the request, whose answer is in out, and then sends it.
func (x *exchange) answer(w http.ResponseWriter, status int) {
	seen := observation{
		method: x.method, status: status, begin: x.begin, took: time.Since(x.begin),
		bytesIn: x.declared, bytesOut: int64(len(x.out)),
	}
	if seen.bytesIn < 0 { // chunked: the length was not declared
		seen.bytesIn = x.request.bytesRead
	}
	x.line = x.observer.observe(seen, x.line)
	reply(w, status, x.out)
}

// endExchange is the ServerFinalizer: it gives the exchange back.
func endExchange(ctx context.Context, _ int, _ *http.Request) {
	exchanges.Put(exchangeOf(ctx))
}

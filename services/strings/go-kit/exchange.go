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
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

type exchangeKey struct{}

// beginExchange is the ServerBefore of the matched face.
func beginExchange(ctx context.Context, _ *http.Request) context.Context {
	x := exchanges.Get().(*exchange)
	x.begin = time.Now()
	x.out, x.request.bytesRead = x.out[:0], 0
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeOf(ctx context.Context) *exchange {
	return ctx.Value(exchangeKey{}).(*exchange)
}

// endExchange is the ServerFinalizer: it counts and logs the request and gives its exchange back.
func endExchange(observer *pathObserver) httptransport.ServerFinalizerFunc {
	return func(ctx context.Context, status int, r *http.Request) {
		x := exchangeOf(ctx)
		seen := observation{
			method: r.Method, status: status, begin: x.begin, took: time.Since(x.begin),
			bytesIn: r.ContentLength, bytesOut: int64(len(x.out)),
		}
		if seen.bytesIn < 0 { // chunked: the length was not declared
			seen.bytesIn = x.request.bytesRead
		}
		x.line = observer.observe(seen, x.line)
		exchanges.Put(x)
	}
}

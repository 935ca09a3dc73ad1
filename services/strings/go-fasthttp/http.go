// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// mostReadBytes is what is read of a body that is refused, so that who writes before reading still sees the answer.
const mostReadBytes = 1 << 20

const jsonType = "application/json"

var (
	healthUp = []byte(`{"status":"up"}`)
	leanBody = []byte(`{"v":"HELLO"}`)

	notFound         = []byte(`{"error":"not_found"}`)
	methodNotAllowed = []byte(`{"error":"method_not_allowed"}`)
	badRequest       = []byte(`{"error":"bad_request"}`)
	bodyTooLarge     = []byte(`{"error":"body_too_large"}`)
)

// requestLogger is a logger of a library, which the observer would call; this service writes its lines by hand.
type requestLogger func(path string, seen observation)

// pathOf returns the path as it was sent: fasthttp's own Path is decoded and cleaned, the contract compares neither.
func pathOf(ctx *fasthttp.RequestCtx) []byte {
	path, _, _ := bytes.Cut(ctx.RequestURI(), []byte("?"))
	return path
}

// matchedRoutes is all that the matched face answers, in the tuned or the idiomatic craft; without an observer no
// request is timed, counted or logged.
func matchedRoutes(o *observer, metrics http.Handler, craft string) fasthttp.RequestHandler {
	serve := func(path string, crafts map[string]responder) *operation {
		op := &operation{respond: crafts[craft]}
		if o != nil {
			op.observer = o.of(path, http.StatusOK, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge)
		}
		return op
	}
	uppercasing := serve("/uppercase", map[string]responder{"tuned": tuned(uppercase, false), "idiomatic": idiomatic(bindUppercase, false)})
	counting := serve("/count", map[string]responder{"tuned": tuned(count, false), "idiomatic": idiomatic(bindCount, false)})
	working := serve("/work", map[string]responder{"tuned": tuned(work, true), "idiomatic": idiomatic(bindWork, true)})
	unknown := new(operation)
	if o != nil {
		unknown.observer = o.of("other", http.StatusNotFound)
	}
	scrape := getOnly(fasthttpadaptor.NewFastHTTPHandler(metrics))
	up := getOnly(health)
	return func(ctx *fasthttp.RequestCtx) {
		switch string(pathOf(ctx)) {
		case "/uppercase":
			uppercasing.answer(ctx)
		case "/count":
			counting.answer(ctx)
		case "/work":
			working.answer(ctx)
		case "/health":
			up(ctx)
		case "/metrics":
			scrape(ctx)
		default:
			unknown.answer(ctx)
		}
	}
}

// leanRoutes is the baseline of `harness bench services`: this server and nothing of this service.
func leanRoutes(metrics http.Handler) fasthttp.RequestHandler {
	scrape := fasthttpadaptor.NewFastHTTPHandler(metrics)
	return func(ctx *fasthttp.RequestCtx) {
		path := string(pathOf(ctx))
		switch {
		case ctx.IsPost() && path == "/uppercase":
			ctx.SetContentType(jsonType)
			ctx.Response.SetBodyRaw(leanBody)
		case ctx.IsGet() && path == "/health":
			health(ctx)
		case ctx.IsGet() && path == "/metrics":
			scrape(ctx)
		default:
			reply(ctx, http.StatusNotFound, notFound)
		}
	}
}

func health(ctx *fasthttp.RequestCtx) {
	reply(ctx, http.StatusOK, healthUp)
}

func getOnly(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if !ctx.IsGet() && !ctx.IsHead() {
			ctx.Response.Header.Set("Allow", "GET")
			reply(ctx, http.StatusMethodNotAllowed, methodNotAllowed)
			return
		}
		next(ctx)
	}
}

// unreadable answers what never became a request; the connection is closed after it.
func unreadable(ctx *fasthttp.RequestCtx, err error) {
	if err == fasthttp.ErrBodyTooLarge {
		reply(ctx, http.StatusRequestEntityTooLarge, bodyTooLarge)
		return
	}
	reply(ctx, http.StatusBadRequest, badRequest)
}

// exchange is what one request needs, reused for later ones.
type exchange struct {
	request requestReader
	work    []byte
	out     []byte
	line    []byte
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// responder reads a request's body, which fasthttp has in memory, and leaves the body of the 200 answer in x.out.
type responder func(x *exchange, body []byte) error

// tuned reads by the exchange's buffers, and has answer append to x.out.
func tuned(answer func(x *exchange), takesFactor bool) responder {
	return func(x *exchange, body []byte) error {
		x.request.body.Reset()
		x.request.body.Write(body)
		if err := x.request.parse(takesFactor); err != nil {
			return err
		}
		answer(x)
		return nil
	}
}

// idiomatic binds requests and answers to structs.
func idiomatic(answer func(in input) any, takesFactor bool) responder {
	return func(x *exchange, body []byte) error {
		in, err := bindInput(body, takesFactor)
		if err != nil {
			return err
		}
		x.out = marshalled(answer(in))
		return nil
	}
}

// operation serves one path of the workload, or all the unknown ones when it has no responder.
type operation struct {
	respond  responder
	observer *pathObserver // nil: nothing is observed
}

func (op *operation) answer(ctx *fasthttp.RequestCtx) {
	var begin time.Time
	if op.observer != nil {
		begin = time.Now()
	}
	x := exchanges.Get().(*exchange)
	x.out = x.out[:0]

	status, body := http.StatusOK, []byte(nil)
	switch {
	case op.respond == nil:
		status, body = http.StatusNotFound, notFound
	case !ctx.IsPost():
		ctx.Response.Header.Set("Allow", "POST")
		status, body = http.StatusMethodNotAllowed, methodNotAllowed
	default:
		status, body = op.made(x, ctx.PostBody())
	}

	if op.observer != nil {
		method := "POST"
		if !ctx.IsPost() {
			method = string(ctx.Method())
		}
		seen := observation{
			method: method, status: status, begin: begin, took: time.Since(begin),
			bytesIn: int64(ctx.Request.Header.ContentLength()), bytesOut: int64(len(body)),
		}
		if seen.bytesIn < 0 { // chunked: the length was not declared
			seen.bytesIn = int64(len(ctx.PostBody()))
		}
		x.line = op.observer.observe(seen, x.line)
	}
	reply(ctx, status, body)
	exchanges.Put(x)
}

// made returns a status and a body that is valid until x is used again.
func (op *operation) made(x *exchange, body []byte) (int, []byte) {
	err := error(errBodyTooLarge)
	if len(body) <= maxBodyBytes {
		err = op.respond(x, body)
	}
	if err == nil {
		return http.StatusOK, x.out
	}
	x.out = append(x.out[:0], `{"error":"`...)
	x.out = append(x.out, err.Error()...)
	x.out = append(x.out, `"}`...)
	if err == errBodyTooLarge {
		return http.StatusRequestEntityTooLarge, x.out
	}
	return http.StatusBadRequest, x.out
}

// reply copies the body into the buffer of the answer, which fasthttp sends after the handler.
func reply(ctx *fasthttp.RequestCtx, status int, body []byte) {
	ctx.SetContentType(jsonType)
	ctx.SetStatusCode(status)
	ctx.SetBody(body)
}

func uppercase(x *exchange) {
	x.work = Upper(x.work[:0], x.request.text)
	x.out = append(x.out, `{"v":`...)
	x.out = appendQuoted(x.out, x.work)
	x.out = append(x.out, '}')
}

func count(x *exchange) {
	x.out = append(x.out, `{"v":`...)
	x.out = strconv.AppendInt(x.out, int64(Count(x.request.text)), 10)
	x.out = append(x.out, '}')
}

func work(x *exchange) {
	var done Worked
	done, x.work = Work(x.work, x.request.text, x.request.factor)
	x.out = append(x.out, `{"upper":`...)
	x.out = appendQuoted(x.out, done.Upper)
	x.out = append(x.out, `,"lower":`...)
	x.out = appendQuoted(x.out, done.Lower)
	x.out = append(x.out, `,"reversed":`...)
	x.out = appendQuoted(x.out, done.Reversed)
	x.out = append(x.out, `,"crc32":"`...)
	for shift := 28; shift >= 0; shift -= 4 {
		x.out = append(x.out, "0123456789abcdef"[done.Checksum>>shift&0xf])
	}
	x.out = append(x.out, `","factor":`...)
	x.out = strconv.AppendInt(x.out, int64(x.request.factor), 10)
	x.out = append(x.out, `,"score":`...)
	x.out = strconv.AppendUint(x.out, uint64(done.Score), 10)
	x.out = append(x.out, '}')
}

// appendQuoted appends a JSON string with the escapes that JSON demands and no others.
func appendQuoted(dst, text []byte) []byte {
	dst, err := jsontext.AppendQuote(dst, text)
	if err != nil { // cannot be: text came out of a JSON string, so it is UTF-8
		panic(err)
	}
	return dst
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-kit/kit/endpoint"
)

// answering makes an endpoint of the tuned craft: it takes an exchange whose request was read, has the body
// of the answer appended to its out, and returns it.
func answering(answer func(x *exchange)) endpoint.Endpoint {
	return func(_ context.Context, request any) (any, error) {
		x := request.(*exchange)
		answer(x)
		return x, nil
	}
}

// binding makes an endpoint of the idiomatic craft, from one struct to another.
func binding(answer func(in input) any) endpoint.Endpoint {
	return func(_ context.Context, request any) (any, error) {
		return answer(request.(input)), nil
	}
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
	x.out = appendHex(x.out, done.Checksum)
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

// appendHex appends eight lower-case digits.
func appendHex(dst []byte, number uint32) []byte {
	const digits = "0123456789abcdef"
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, digits[number>>shift&0xf])
	}
	return dst
}

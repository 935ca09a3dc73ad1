// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// The tuned craft: answers of the upstream by a token reader, answers of this service appended as bytes, and both in
// buffers that later requests use again. Whom it asks, in which order, and what it refuses are as in the idiomatic one.

// exchange is what one request needs, reused for later ones.
type exchange struct {
	phones  phonesReader
	address addressReader
	out     []byte
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

func (s *service) tunedHello(who turn, x *exchange) ([]byte, error) {
	age, asked := who.age(), who.client.ID
	adult := age >= adultAge
	if !adult {
		asked = guardianID
	}
	err := s.ask(
		func() error { return x.phones.ask(s.ctx, s.upstream, who.client.ID) },
		func() error { return x.address.ask(s.ctx, s.upstream, asked) },
	)
	if err != nil {
		return nil, err
	}
	x.out = appendHello(x.out[:0], who.client, age, x.phones.found, &x.address)
	return x.out, nil
}

func (s *service) tunedFilms(who turn, x *exchange) ([]byte, error) {
	byDirector, err := films(s.ctx, s.pool, s.poolWait, groupRows)
	if err != nil {
		return nil, err
	}
	x.out = appendFilms(x.out[:0], who.client, byDirector[who.client.FavouriteDirector])
	return x.out, nil
}

// row is a Film without pointers.
type row struct {
	title   string
	year    pgtype.Int2
	cost    Cents
	hasCost bool
}

func groupRows(rows pgx.Rows) (map[string][]row, error) {
	byDirector := make(map[string][]row)
	var film row
	var cost pgtype.Numeric
	var director pgtype.Text // null becomes "", which is nobody's favourite
	for rows.Next() {
		err := rows.Scan(&film.title, &film.year, &cost, &director)
		if film.hasCost = cost.Valid; err == nil && cost.Valid {
			film.cost, err = wholeCents(cost)
		}
		if err != nil {
			return nil, fmt.Errorf("film %q: %w", film.title, err)
		}
		byDirector[director.String] = append(byDirector[director.String], film)
	}
	return byDirector, rows.Err()
}

// wholeCents is centsOf without big numbers, where they fit.
func wholeCents(number pgtype.Numeric) (Cents, error) {
	const largest, largestExponent = 1_000_000_000, 6 // 64 bits hold the one times ten to the other, and cents of it
	if number.Int == nil || !number.Int.IsInt64() || number.Exp < -2 || number.Exp > largestExponent {
		return centsOf(number)
	}
	cents := number.Int.Int64()
	if cents < -largest || cents > largest {
		return centsOf(number)
	}
	for range number.Exp + 2 {
		cents *= 10
	}
	return Cents(cents), nil
}

func appendHello(dst []byte, client *Client, age int, phones []phone, address *addressReader) []byte {
	dst = appendClient(dst, client, age)
	dst = append(dst, `,"phones":[`...)
	for i, one := range phones {
		dst = appendComma(dst, i)
		dst = append(dst, `{"ddd":`...)
		dst = strconv.AppendInt(dst, int64(one.ddd), 10)
		dst = append(dst, `,"number":`...)
		dst = strconv.AppendInt(dst, int64(one.number), 10)
		dst = append(dst, '}')
	}
	dst = append(dst, `],"address":{"street":`...)
	dst = appendQuoted(dst, address.street)
	dst = append(dst, `,"number":`...)
	dst = strconv.AppendInt(dst, int64(address.number), 10)
	dst = append(dst, `,"state":`...)
	dst = appendQuoted(dst, address.state)
	dst = append(dst, `,"country":`...)
	dst = appendQuoted(dst, address.country)
	dst = append(dst, `},"loan_options":[`...)
	for i := 0; age >= adultAge && i < longestLoan; i++ {
		option := client.loanOption(i + 1)
		dst = appendComma(dst, i)
		dst = append(dst, `{"years":`...)
		dst = strconv.AppendInt(dst, int64(option.Years), 10)
		dst = append(dst, `,"installment":`...)
		dst = option.Installment.appendTo(dst)
		dst = append(dst, `,"maximum":`...)
		dst = option.Maximum.appendTo(dst)
		dst = append(dst, `,"loan":`...)
		dst = option.Loan.appendTo(dst)
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

func appendFilms(dst []byte, client *Client, films []row) []byte {
	dst = appendClient(dst, client, client.Age)
	dst = append(dst, `,"films":[`...)
	for i, film := range films {
		dst = appendComma(dst, i)
		dst = append(dst, `{"title":`...)
		dst = appendQuoted(dst, film.title)
		dst = append(dst, `,"year":`...)
		if film.year.Valid {
			dst = strconv.AppendInt(dst, int64(film.year.Int16), 10)
		} else {
			dst = append(dst, "null"...)
		}
		dst = append(dst, `,"cost":`...)
		if film.hasCost {
			dst = film.cost.appendTo(dst)
		} else {
			dst = append(dst, "null"...)
		}
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

// appendClient appends what both answers begin with.
func appendClient(dst []byte, client *Client, age int) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, int64(client.ID), 10)
	dst = append(dst, `,"name":`...)
	dst = appendQuoted(dst, client.Name)
	dst = append(dst, `,"age":`...)
	dst = strconv.AppendInt(dst, int64(age), 10)
	dst = append(dst, `,"salary":`...)
	dst = client.Salary.appendTo(dst)
	dst = append(dst, `,"favourite_director":`...)
	return appendQuoted(dst, client.FavouriteDirector)
}

// appendComma appends what stands before all but the first of a list.
func appendComma(dst []byte, i int) []byte {
	if i == 0 {
		return dst
	}
	return append(dst, ',')
}

// appendQuoted appends a JSON string with the escapes that JSON demands and no others.
func appendQuoted[text []byte | string](dst []byte, src text) []byte {
	dst, err := jsontext.AppendQuote(dst, src)
	if err != nil { // cannot be: texts are constants, or were read by what refuses what is not UTF-8
		panic(err)
	}
	return dst
}

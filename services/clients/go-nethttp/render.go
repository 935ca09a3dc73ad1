// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// appendHello appends the answer to /hello; address is nil for a minor.
func appendHello(dst []byte, who turn, phones []Phone, address *Address, loans []LoanOption) []byte {
	dst = appendClient(dst, who.client, who.age())
	dst = append(dst, `,"phones":[`...)
	for i, phone := range phones {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendInt(append(dst, `{"ddd":`...), int64(phone.DDD))
		dst = appendInt(append(dst, `,"number":`...), int64(phone.Number))
		dst = append(dst, '}')
	}
	dst = append(dst, `],"address":`...)
	dst = appendAddress(dst, address)
	dst = append(dst, `,"loan_options":[`...)
	for i, loan := range loans {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendInt(append(dst, `{"years":`...), int64(loan.Years))
		dst = appendCents(append(dst, `,"installment":`...), loan.InstallmentCents)
		dst = appendCents(append(dst, `,"maximum":`...), loan.MaximumCents)
		dst = appendCents(append(dst, `,"loan":`...), loan.LoanCents)
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// appendFilms appends the answer to /db.
func appendFilms(dst []byte, client *Client, films []Film) []byte {
	dst = appendClient(dst, client, client.Age)
	dst = append(dst, `,"films":[`...)
	for i, film := range films {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(append(dst, `{"title":`...), film.Title)
		dst = append(dst, `,"year":`...)
		if film.Year == nil {
			dst = append(dst, "null"...)
		} else {
			dst = appendInt(dst, int64(*film.Year))
		}
		dst = append(dst, `,"cost":`...)
		if film.CostCents == nil {
			dst = append(dst, "null"...)
		} else {
			dst = appendCents(dst, *film.CostCents)
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// appendClient appends what both answers begin with, and leaves the object open.
func appendClient(dst []byte, client *Client, age int) []byte {
	dst = appendInt(append(dst, `{"id":`...), int64(client.ID))
	dst = appendQuoted(append(dst, `,"name":`...), client.Name)
	dst = appendInt(append(dst, `,"age":`...), int64(age))
	dst = appendCents(append(dst, `,"salary":`...), client.SalaryCents)
	return appendQuoted(append(dst, `,"favourite_director":`...), client.FavouriteDirector)
}

func appendAddress(dst []byte, address *Address) []byte {
	if address == nil {
		return append(dst, "null"...)
	}
	dst = appendQuoted(append(dst, `{"street":`...), address.Street)
	dst = appendInt(append(dst, `,"number":`...), int64(address.Number))
	dst = appendQuoted(append(dst, `,"state":`...), address.State)
	dst = appendQuoted(append(dst, `,"country":`...), address.Country)
	return append(dst, '}')
}

func appendInt(dst []byte, number int64) []byte {
	return strconv.AppendInt(dst, number, 10)
}

// appendCents appends an amount with exactly two decimals.
func appendCents(dst []byte, cents int64) []byte {
	if cents < 0 {
		dst, cents = append(dst, '-'), -cents
	}
	dst = strconv.AppendInt(dst, cents/100, 10)
	return append(dst, '.', byte('0'+cents/10%10), byte('0'+cents%10))
}

// appendQuoted appends a JSON string with the escapes that JSON demands and no others.
func appendQuoted(dst []byte, text string) []byte {
	dst, err := jsontext.AppendQuote(dst, text)
	if err != nil { // cannot be: text is a constant or came out of a parser that refuses what is not UTF-8
		panic(err)
	}
	return dst
}

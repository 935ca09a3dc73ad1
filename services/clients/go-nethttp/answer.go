// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Cents is an amount, which JSON has with exactly two decimals.
type Cents int64

// MarshalJSONTo writes the amount as a number.
func (c Cents) MarshalJSONTo(encoder *jsontext.Encoder) error {
	return encoder.WriteValue(c.appendTo(make([]byte, 0, 24)))
}

func (c Cents) appendTo(text []byte) []byte {
	cents := int64(c)
	if cents < 0 {
		text, cents = append(text, '-'), -cents
	}
	text = strconv.AppendInt(text, cents/100, 10)
	return append(text, '.', byte('0'+cents/10%10), byte('0'+cents%10))
}

// clientAnswer is what both answers begin with.
type clientAnswer struct {
	ID                int    `json:"id"`
	Name              string `json:"name"`
	Age               int    `json:"age"`
	Salary            Cents  `json:"salary"`
	FavouriteDirector string `json:"favourite_director"`
}

// helloAnswer is the answer to /hello.
type helloAnswer struct {
	clientAnswer
	Phones      []Phone      `json:"phones"`
	Address     *Address     `json:"address"`
	LoanOptions []LoanOption `json:"loan_options"`
}

// filmsAnswer is the answer to /db.
type filmsAnswer struct {
	clientAnswer
	Films []Film `json:"films"`
}

func answerOf(client *Client, age int) clientAnswer {
	return clientAnswer{client.ID, client.Name, age, client.Salary, client.FavouriteDirector}
}

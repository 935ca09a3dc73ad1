// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// The idiomatic craft: structs bound by encoding/json/v2 (the module that Go's own is made from) and strings
// by the standard library, without buffers of its own.

type input struct {
	text   string
	factor int
}

type textToBind struct {
	S *string `json:"s"`
}

type taskToBind struct {
	S      *string `json:"s"`
	Factor *int    `json:"factor"`
}

type uppercaseAnswer struct {
	V string `json:"v"`
}

type countAnswer struct {
	V int `json:"v"`
}

type workAnswer struct {
	Upper    string `json:"upper"`
	Lower    string `json:"lower"`
	Reversed string `json:"reversed"`
	CRC32    string `json:"crc32"`
	Factor   int    `json:"factor"`
	Score    uint32 `json:"score"`
}

// bindInput reads {"s":...,"factor":...} into structs. What they do not take as it is, the strict reader
// judges: it knows which of the contract's errors comes first.
func bindInput(data []byte, takesFactor bool) (input, error) {
	factor := defaultFactor
	task := taskToBind{Factor: &factor} // an explicit null makes it nil
	var err error
	if takesFactor {
		err = json.Unmarshal(data, &task, json.RejectUnknownMembers(true))
	} else {
		var text textToBind
		err = json.Unmarshal(data, &text, json.RejectUnknownMembers(true))
		task.S = text.S
	}
	fits := err == nil && task.S != nil && *task.S != "" && task.Factor != nil && *task.Factor >= 0 && *task.Factor <= maxFactor
	if fits {
		return input{*task.S, *task.Factor}, nil
	}
	var strict requestReader
	strict.body.Write(data)
	if err := strict.parse(takesFactor); err != nil {
		return input{}, err
	}
	return input{string(strict.text), strict.factor}, nil
}

// marshalled returns the JSON of one of the answers above.
func marshalled(answer any) []byte {
	data, err := json.Marshal(answer)
	if err != nil { // cannot be: the texts came out of JSON strings, so they are UTF-8
		panic(err)
	}
	return data
}

func bindUppercase(in input) any {
	return uppercaseAnswer{strings.ToUpper(in.text)}
}

func bindCount(in input) any {
	return countAnswer{utf8.RuneCountInString(in.text)}
}

func bindWork(in input) any {
	done, _ := Work(nil, []byte(in.text), in.factor)
	return workAnswer{
		Upper: string(done.Upper), Lower: string(done.Lower), Reversed: string(done.Reversed),
		CRC32: fmt.Sprintf("%08x", done.Checksum), Factor: in.factor, Score: done.Score,
	}
}

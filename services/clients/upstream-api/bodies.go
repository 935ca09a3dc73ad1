// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

const (
	clientCount = 10
	phoneCount  = 19
	addressBody = `{"street":"123 Main St","number":42,"state":"CA","country":"USA"}`
)

// garbageBody is no JSON in any encoding.
var garbageBody = []byte("\x00\xff\xfe<[{\"ddd\":,,\x7f not what you asked for")

// phonesBody is the answer to GET /phones/{id}, by the formula of the contract.
func phonesBody(id int) []byte {
	phones := make([]string, phoneCount)
	for i := range phones {
		ddd := 11 + (id*7+i*5)%89
		number := 900_000_000 + (id*7_368_787+i*1_299_709)%100_000_000
		phones[i] = fmt.Sprintf(`{"ddd":%d,"number":%d}`, ddd, number)
	}
	return []byte("[" + strings.Join(phones, ",") + "]")
}

// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/go-json-experiment/json"

// leanBody is the answer to /hello for client 1, made once from the formula of the contract instead
// of asking the upstream.
func leanBody() []byte {
	const id = 1
	phones := make([]Phone, 19)
	for i := range phones {
		phones[i].DDD = new(int32(11 + (id*7+i*5)%89))
		phones[i].Number = new(int32(900_000_000 + (id*7_368_787+i*1_299_709)%100_000_000))
	}
	address := Address{Street: new("123 Main St"), Number: new(int32(42)), State: new("CA"), Country: new("USA")}
	client := &clients[id-1]
	body, err := json.Marshal(helloAnswer{answerOf(client, client.Age), phones, &address, client.LoanOptions()})
	if err != nil { // cannot be: its texts are constants
		panic(err)
	}
	return body
}

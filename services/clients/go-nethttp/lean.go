// SPDX-License-Identifier: Apache-2.0

package main

// leanBody is the answer to /hello for client 1, made once from the formula of the contract instead
// of asking the upstream.
func leanBody() []byte {
	const id = 1
	phones := make([]Phone, 19)
	for i := range phones {
		phones[i].DDD = int32(11 + (id*7+i*5)%89)
		phones[i].Number = int32(900_000_000 + (id*7_368_787+i*1_299_709)%100_000_000)
	}
	who := turn{client: &clients[id-1]}
	loans := who.client.LoanOptions()
	address := Address{Street: "123 Main St", Number: 42, State: "CA", Country: "USA"}
	return appendHello(nil, who, phones, &address, loans[:])
}

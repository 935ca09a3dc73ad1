// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"
)

// What is refused and what is answered is tested in both crafts; here is what only the tuned one promises.

func TestReadingAndAnsweringNeedNoMemoryOnceBuffersHaveGrown(t *testing.T) {
	phones, address := `[{"ddd":18,"number":907368787},{"more":[{}],"ddd":-1,"number":0}]`,
		`{"street":"123 Main St","number":42,"state":"CA","country":"USA"}`
	var x exchange
	answer := func() {
		x.phones.given(phones)
		x.address.given(address)
		if err := x.phones.read(); err != nil {
			t.Fatal(err)
		}
		if err := x.address.read(); err != nil {
			t.Fatal(err)
		}
		x.out = appendHello(x.out[:0], &clients[0], 18, x.phones.found, &x.address)
	}
	if n := testing.AllocsPerRun(50, answer); n > 0 {
		t.Errorf("%v allocations a request", n)
	}
	const want = `"phones":[{"ddd":18,"number":907368787},{"ddd":-1,"number":0}],"address":{"street":"123 Main St","number":42,`
	if !bytes.Contains(x.out, []byte(want)) {
		t.Errorf("%s is not in %s", want, x.out)
	}
}

// given puts the text where an answer of the upstream is read into.
func (t *tokens) given(text string) {
	t.body.Reset()
	t.body.WriteString(text)
	t.decoder.Reset(&t.body)
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

type contractCase struct {
	Name, Face, Language string
	Capture              map[string]string
	Request              struct {
		Method, Path string
		Headers      map[string]string
		Body         string
		BodyBase64   []byte `json:"body_base64"` // encoding/json decodes it
		BodyRepeat   *struct {
			Prefix, Unit, Suffix string
			Count                int
		} `json:"body_repeat"`
	}
	Expect struct {
		Status  int
		Body    *string
		JSON    json.RawMessage
		OneOf   []json.RawMessage `json:"one_of"`
		Headers map[string]string
	}
}

func contractCases(t *testing.T, face string) []contractCase {
	t.Helper()
	data, err := os.ReadFile("../contract/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var cases []contractCase
	for line := range bytes.Lines(data) {
		var c contractCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if c.Face == face && (c.Language == "" || c.Language == "go") {
			cases = append(cases, c)
		}
	}
	if len(cases) < 10 {
		t.Fatalf("only %d cases of face %s", len(cases), face)
	}
	return cases
}

// captured holds what earlier answers told, by name.
type captured map[string]string

var (
	placeholder = regexp.MustCompile(`\$\{\w+\}`)
	wholeValue  = regexp.MustCompile(`"(\$\{\w+\})"`) // in JSON: the value itself, not its text
)

func (c captured) fill(t *testing.T, text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		value, known := c[name[2:len(name)-1]]
		if !known {
			t.Errorf("nothing was captured as %s", name)
		}
		return value
	})
}

// keep takes from an answer what the case captures; a pointer here is one key of the object.
func (c captured) keep(t *testing.T, capture map[string]string, body []byte) {
	for name, pointer := range capture {
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		var whole map[string]any
		if err := decoder.Decode(&whole); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		value, found := whole[strings.TrimPrefix(pointer, "/")]
		if !found {
			t.Fatalf("no %s in %s", pointer, body)
		}
		c[name] = fmt.Sprint(value)
	}
}

func (c contractCase) body(t *testing.T, known captured) []byte {
	if repeat := c.Request.BodyRepeat; repeat != nil {
		return []byte(repeat.Prefix + strings.Repeat(repeat.Unit, repeat.Count) + repeat.Suffix)
	}
	if c.Request.BodyBase64 != nil {
		return c.Request.BodyBase64
	}
	return []byte(known.fill(t, c.Request.Body))
}

func (c contractCase) check(t *testing.T, server *httptest.Server, known captured) {
	request, err := http.NewRequest(c.Request.Method, server.URL+known.fill(t, c.Request.Path), bytes.NewReader(c.body(t, known)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range c.Request.Headers {
		request.Header.Set(name, value)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != c.Expect.Status {
		t.Errorf("status %d, not %d: %.200q", response.StatusCode, c.Expect.Status, body)
	}
	known.keep(t, c.Capture, body) // it holds already in the expectation of this answer
	if c.Expect.Body != nil && string(body) != known.fill(t, *c.Expect.Body) {
		t.Errorf("body %.200q, not %.200q", body, *c.Expect.Body)
	}
	for name, value := range c.Expect.Headers {
		if got := response.Header.Get(name); got != value {
			t.Errorf("header %s: %q, not %q", name, got, value)
		}
	}
	if c.Face == "matched" && response.ContentLength != int64(len(body)) && c.Request.Path != "/metrics" {
		t.Errorf("a body of %d bytes with Content-Length %d", len(body), response.ContentLength)
	}
	wanted := c.Expect.OneOf
	if c.Expect.JSON != nil {
		wanted = append(wanted, c.Expect.JSON)
	}
	right := len(wanted) == 0
	for _, one := range wanted {
		var got, want any
		if err := json.Unmarshal([]byte(known.fill(t, wholeValue.ReplaceAllString(string(one), "$1"))), &want); err != nil {
			t.Fatal(err)
		}
		right = right || json.Unmarshal(body, &got) == nil && reflect.DeepEqual(got, want)
	}
	if !right {
		t.Errorf("body %.200q is none of %s", body, wanted)
	}
}

func TestEachFaceKeepsTheContractWithEachWayToConnect(t *testing.T) {
	old := []string{"--connections=pool", "--connections=per-statement"}
	for face, ways := range map[string][]string{"matched": everyWay, "published": old, "repaired": {"--connections=pool"}} {
		for _, way := range ways {
			t.Run(face+" "+way, func(t *testing.T) {
				c := postgresql(t)
				c.emptied(t)
				server := newService(t, with(way, "--face="+face)...)
				known := captured{}
				for _, one := range contractCases(t, face) {
					t.Run(one.Name, func(t *testing.T) { one.check(t, server, known) })
				}
				c.checkInvariants(t)
			})
		}
	}
}

func TestEachFlowOfTheContractRunsThrough(t *testing.T) {
	inEachCraft(t, eachFlowRunsThrough)
}

func eachFlowRunsThrough(t *testing.T, craft string) {
	c := postgresql(t)
	c.emptied(t)
	seed, err := os.ReadFile("../contract/seed-three-clients.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.asClient(t).ExecContext(t.Context(), string(seed)); err != nil {
		t.Fatal(err)
	}
	server := newService(t, craft)
	data, err := os.ReadFile("../contract/requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	steps, known := map[string]int{}, map[string]captured{}
	var flows []contractCase
	for line := range bytes.Lines(data) {
		var step struct {
			contractCase
			Mix, Method, Path, Body string
			Step                    int
			Headers                 map[string]string
		}
		if err := json.Unmarshal(line, &step); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if steps[step.Mix]++; step.Step != 0 && step.Step != steps[step.Mix] {
			t.Errorf("%s: step %d comes as number %d", step.Mix, step.Step, steps[step.Mix])
		}
		one := step.contractCase
		one.Name = step.Mix + " " + step.Name
		one.Request.Method, one.Request.Path, one.Request.Body, one.Request.Headers = step.Method, step.Path, step.Body, step.Headers
		if one.Language = step.Mix; step.Mix == "balance" {
			flows = append([]contractCase{one}, flows...) // before money of client 1 moves
		} else {
			flows = append(flows, one)
		}
		known[step.Mix] = captured{}
	}
	for _, one := range flows {
		t.Run(one.Name, func(t *testing.T) { one.check(t, server, known[one.Language]) })
	}
	c.checkInvariants(t)
}

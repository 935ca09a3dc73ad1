// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

type contractCase struct {
	Name, Face, Language string
	Services             []string
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
		JSON    any
		Headers map[string]string
	}
}

func contractCases(t *testing.T) []contractCase {
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
		ours := len(c.Services) == 0 && (c.Language == "" || c.Language == "go") || slices.Contains(c.Services, "go-fasthttp")
		if c.Face == "matched" && ours {
			cases = append(cases, c)
		}
	}
	if len(cases) < 100 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

func (c contractCase) body() []byte {
	if repeat := c.Request.BodyRepeat; repeat != nil {
		return []byte(repeat.Prefix + strings.Repeat(repeat.Unit, repeat.Count) + repeat.Suffix)
	}
	if c.Request.BodyBase64 != nil {
		return c.Request.BodyBase64
	}
	return []byte(c.Request.Body)
}

func (c contractCase) check(t *testing.T, address string) {
	request, err := http.NewRequest(c.Request.Method, "http://"+address+c.Request.Path, bytes.NewReader(c.body()))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range c.Request.Headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != c.Expect.Status {
		t.Errorf("status %d, not %d", response.StatusCode, c.Expect.Status)
	}
	if c.Expect.Body != nil && string(body) != *c.Expect.Body {
		t.Errorf("body %.200q, not %.200q", body, *c.Expect.Body)
	}
	for name, value := range c.Expect.Headers {
		if got := response.Header.Get(name); got != value {
			t.Errorf("header %s: %q, not %q", name, got, value)
		}
	}
	if response.ContentLength != int64(len(body)) && c.Request.Path != "/metrics" {
		t.Errorf("a body of %d bytes with Content-Length %d", len(body), response.ContentLength)
	}
	if response.Header.Get("Date") == "" {
		t.Error("no Date")
	}
	if c.Expect.JSON != nil {
		var got any
		if err := json.Unmarshal(body, &got); err != nil || !reflect.DeepEqual(got, c.Expect.JSON) {
			t.Errorf("body %.200q is not %v", body, c.Expect.JSON)
		}
	}
}

func TestEveryCraftKeepsTheContractObservedOrNot(t *testing.T) {
	for _, flags := range []string{"--craft=tuned", "--craft=idiomatic", "--craft=idiomatic --metrics=off"} {
		address, _, _ := started(t, strings.Fields(flags)...)
		for _, c := range contractCases(t) {
			t.Run(flags+"/"+c.Name, func(t *testing.T) { c.check(t, address) })
		}
	}
}

// answer sends bytes on a connection of its own and returns the status and the body of the first answer.
func answer(t *testing.T, address, text string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestPathsAreComparedAsTheyWereSent(t *testing.T) {
	address, _, _ := started(t)
	for _, path := range []string{"//uppercase", "/./uppercase", "/upper%63ase", "/uppercase%2F", "/count/../uppercase", "/uppercase/"} {
		status, body := answer(t, address, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{\"s\":\"a\"}")
		if status != 404 || body != string(notFound) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestABodyOverWhatIsReadIsRefusedAndSoIsNoRequest(t *testing.T) {
	address, _, _ := started(t)
	status, body := answer(t, address, "POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n")
	if status != 413 || body != string(bodyTooLarge) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := answer(t, address, "no request\r\n\r\n"); status != 400 || body != string(badRequest) {
		t.Errorf("%d %s", status, body)
	}
}

func TestAnswersAreWholeWhenManyAskAtOnce(t *testing.T) {
	address, _, _ := started(t, "--craft=idiomatic")
	errs := make(chan string, 8)
	for worker := range 8 {
		go func() {
			for i := range 50 {
				text := strings.Repeat(string(rune('a'+worker)), 1+i*7)
				response, err := http.Post("http://"+address+"/uppercase", "", strings.NewReader(`{"s":"`+text+`"}`))
				if err != nil {
					errs <- err.Error()
					return
				}
				body, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err != nil || string(body) != `{"v":"`+strings.ToUpper(text)+`"}` {
					errs <- string(body)
					return
				}
			}
			errs <- ""
		}()
	}
	for range 8 {
		if wrong := <-errs; wrong != "" {
			t.Errorf("%.80s", wrong)
		}
	}
}

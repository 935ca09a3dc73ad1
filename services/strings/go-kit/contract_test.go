// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
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
		ours := len(c.Services) == 0 && (c.Language == "" || c.Language == "go") || slices.Contains(c.Services, "go-kit")
		if c.Face == face && ours {
			cases = append(cases, c)
		}
	}
	if len(cases) < 10 {
		t.Fatalf("only %d cases of face %s", len(cases), face)
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

func (c contractCase) check(t *testing.T, server *httptest.Server) {
	request, err := http.NewRequest(c.Request.Method, server.URL+c.Request.Path, bytes.NewReader(c.body()))
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
	if c.Face == "matched" && response.ContentLength != int64(len(body)) && c.Request.Path != "/metrics" {
		t.Errorf("a body of %d bytes with Content-Length %d", len(body), response.ContentLength)
	}
	if c.Expect.JSON != nil {
		var got any
		if err := json.Unmarshal(body, &got); err != nil || !reflect.DeepEqual(got, c.Expect.JSON) {
			t.Errorf("body %.200q is not %v", body, c.Expect.JSON)
		}
	}
}

func matchedServer(t *testing.T, sink io.Writer) *httptest.Server {
	return craftedServer(t, sink, "tuned")
}

func craftedServer(t *testing.T, sink io.Writer, craft string) *httptest.Server {
	registry := newRegistry()
	server := httptest.NewServer(matchedRoutes(newObserver(registry, sink), metricsHandler(registry), craft))
	t.Cleanup(server.Close)
	return server
}

func publishedServer(t *testing.T, sink io.Writer) *httptest.Server {
	registry := newRegistry()
	server := httptest.NewServer(publishedRoutes(publishedLogger(sink, true), registry, metricsHandler(registry)))
	t.Cleanup(server.Close)
	return server
}

func TestMatchedFaceKeepsTheContract(t *testing.T) {
	for _, craft := range []string{"tuned", "idiomatic"} {
		server := craftedServer(t, io.Discard, craft)
		for _, c := range contractCases(t, "matched") {
			t.Run(craft+"/"+c.Name, func(t *testing.T) { c.check(t, server) })
		}
	}
}

func TestPublishedFaceKeepsTheContract(t *testing.T) {
	server := publishedServer(t, io.Discard)
	for _, c := range contractCases(t, "published") {
		t.Run(c.Name, func(t *testing.T) { c.check(t, server) })
	}
}

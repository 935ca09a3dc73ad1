// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

type expectation struct {
	Status  int
	Body    *string
	JSON    any
	OneOf   []any `json:"one_of"`
	Headers map[string]string
}

type contractCase struct {
	Name, Face, Language string
	Request              struct {
		Method, Path string
		Headers      map[string]string
		Body         string
		BodyRepeat   *struct {
			Prefix, Unit, Suffix string
			Count                int
		} `json:"body_repeat"`
	}
	Expect expectation
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

func (c contractCase) check(t *testing.T, s *instance) {
	text := c.Request.Body
	if repeat := c.Request.BodyRepeat; repeat != nil {
		text = repeat.Prefix + strings.Repeat(repeat.Unit, repeat.Count) + repeat.Suffix
	}
	request, err := http.NewRequest(c.Request.Method, s.url+c.Request.Path, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range c.Request.Headers {
		request.Header.Set(name, value)
	}
	response, body := exchangeWith(t, request)
	c.Expect.check(t, response, body)
	if c.Face == "matched" && response.ContentLength != int64(len(body)) && c.Request.Path != "/metrics" {
		t.Errorf("a body of %d bytes with Content-Length %d", len(body), response.ContentLength)
	}
}

func (e expectation) check(t *testing.T, response *http.Response, body string) {
	t.Helper()
	if response.StatusCode != e.Status {
		t.Errorf("status %d, not %d: %.200s", response.StatusCode, e.Status, body)
	}
	if e.Body != nil && body != *e.Body {
		t.Errorf("body %.1200q, not %.1200q", body, *e.Body)
	}
	for name, value := range e.Headers {
		if got := response.Header.Get(name); got != value {
			t.Errorf("header %s: %q, not %q", name, got, value)
		}
	}
	if e.OneOf == nil {
		return
	}
	var got any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Errorf("%v in %.200q", err, body)
	}
	if !slices.ContainsFunc(e.OneOf, func(right any) bool { return reflect.DeepEqual(got, right) }) {
		t.Errorf("body %.1200s is none of the %d right ones", body, len(e.OneOf))
	}
}

func exchangeWith(t *testing.T, request *http.Request) (*http.Response, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func TestMatchedFaceKeepsTheContract(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		s := started(t, newUpstreamServer(t), craft)
		for _, c := range contractCases(t, "matched") {
			t.Run(c.Name, func(t *testing.T) { c.check(t, s) })
		}
	})
}

func TestCallsAtOnceKeepTheContract(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		s := started(t, newUpstreamServer(t), craft, "--calls=parallel")
		for _, c := range contractCases(t, "matched") {
			t.Run(c.Name, func(t *testing.T) { c.check(t, s) })
		}
	})
}

func TestPublishedFaceIsSpelledAsPublished(t *testing.T) {
	s := started(t, newUpstreamServer(t), "--face=published")
	_, hello := s.get(t, "/hello")
	const begins, ends = `{"client":{"id":0,"name":"A","age":18,"guardianID":0,"monthSalary":3000,"address":{"street":"123 Main St",`,
		`"FavoriteDirector":"J J Abrams"},"loanOptions":[{"years":1,"loan":1004.4,"monthlyInstallment":90},` +
			`{"years":2,"loan":2008.8,"monthlyInstallment":90},{"years":3,"loan":3013.2,"monthlyInstallment":90}]}`
	if !strings.HasPrefix(hello, begins) || !strings.HasSuffix(hello, ends) {
		t.Errorf("/hello: %s", hello)
	}
	var films string
	for range 4 { // the fifth client's director has an ampersand
		_, films = s.get(t, "/db")
	}
	const five = `{"client":{"id":0,"name":"E","age":22,"guardianID":0,"monthSalary":5000,"address":null,"phones":null,` +
		`"FavoriteDirector":"Anthony Russo & Joe Russo"},"movies":[{"Title":"Avengers: Endgame","Year":2019,"Cost":356,"Director":"Anthony Russo & Joe Russo"},` +
		`{"Title":"Avengers: Infinity War","Year":2018,"Cost":325,"Director":"Anthony Russo & Joe Russo"}]}` + "\n"
	if films != five {
		t.Errorf("/db: %s", films)
	}
	for !strings.Contains(hello, `"name":"E"`) {
		_, hello = s.get(t, "/hello")
	}
	if !strings.Contains(hello, `"FavoriteDirector":"Anthony Russo \u0026 Joe Russo"`) {
		t.Errorf("/hello: %s", hello)
	}
}

func TestPublishedFaceAsksForClientZeroOnly(t *testing.T) {
	upstream := newUpstreamServer(t)
	s := started(t, upstream, "--face=published", "--minor-percent=50")
	calls := make(chan string, 8)
	upstream.behave(func(w http.ResponseWriter, r *http.Request) {
		calls <- r.RequestURI
		fmt.Fprint(w, upstream.pages[r.RequestURI])
	})
	s.get(t, "/hello")
	if _, minor := s.get(t, "/hello"); !strings.Contains(minor, `"age":17,`) || !strings.HasSuffix(minor, `,"loanOptions":[]}`) {
		t.Errorf("a minor: %s", minor)
	}
	for _, want := range []string{"/phones/0", "/address/0", "/phones/0", "/address/0"} {
		if asked := <-calls; asked != want {
			t.Errorf("asked %s, not %s", asked, want)
		}
	}
}

func TestCallsAtOnceAreUnderWayTogether(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		upstream := newUpstreamServer(t)
		s := started(t, upstream, craft, "--calls=parallel")
		both := make(chan struct{}, 2)
		all := make(chan struct{})
		go func() { <-both; <-both; close(all) }()
		upstream.behave(func(w http.ResponseWriter, r *http.Request) {
			both <- struct{}{}
			<-all // nobody is answered before both calls are there
			fmt.Fprint(w, upstream.pages[r.RequestURI])
		})
		s.expect(t, "/hello?client=1", 200, string(leanBody()))
		s.allGivenBack(t, upstream)
	})
}

func TestPublishedFaceKeepsTheContract(t *testing.T) {
	s := started(t, newUpstreamServer(t), "--face=published")
	for _, c := range contractCases(t, "published") {
		t.Run(c.Name, func(t *testing.T) { c.check(t, s) })
	}
}

type mixRequest struct {
	Mix, Method, Path string
	Expect            expectation
}

func mixes(t *testing.T) map[string]mixRequest {
	t.Helper()
	data, err := os.ReadFile("../contract/requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	byMix := map[string]mixRequest{}
	for line := range bytes.Lines(data) {
		var request mixRequest
		if err := json.Unmarshal(line, &request); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		byMix[request.Mix] = request
	}
	return byMix
}

func TestEachMixIsAnsweredWithItsRightBodiesInTurn(t *testing.T) {
	upstream := newUpstreamServer(t)
	byMix := mixes(t)
	for _, c := range []struct {
		mix   string
		flags []string
		seen  int // different bodies in a hundred turns
	}{
		{"hello", nil, 10},
		{"hello-minors", []string{"--minor-percent=33"}, 20},
		{"db", nil, 10},
		{"hello", []string{"--craft=tuned"}, 10},
		{"hello-minors", []string{"--craft=tuned", "--minor-percent=33"}, 20},
		{"db", []string{"--craft=tuned"}, 10},
		{"hello-published", []string{"--face=published"}, 10},
		{"db-published", []string{"--face=published"}, 10},
	} {
		t.Run(c.mix, func(t *testing.T) {
			request := byMix[c.mix]
			s := started(t, upstream, c.flags...)
			bodies := map[string]bool{}
			for range 100 {
				response, body := s.get(t, request.Path)
				request.Expect.check(t, response, body)
				bodies[body] = true
			}
			if len(bodies) != c.seen {
				t.Errorf("%d different bodies, not %d", len(bodies), c.seen)
			}
		})
	}
}

func TestTurnsGoRoundTheTenClientsAndAskedOnesTakeNone(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		s := started(t, newUpstreamServer(t), craft)
		for i := range 23 {
			path := []string{"/hello", "/db"}[i%2]
			s.get(t, path+"?client=7")
			s.get(t, path+"?client=0")
			if _, body := s.get(t, path); !strings.HasPrefix(body, fmt.Sprintf(`{"id":%d,`, i%10+1)) {
				t.Errorf("turn %d: %.20s", i, body)
			}
		}
	})
}

func TestAMinorAsksForTheGuardiansAddressInsteadOfItsOwn(t *testing.T) {
	inEachCraft(t, func(t *testing.T, craft string) {
		upstream := newUpstreamServer(t)
		s := started(t, upstream, craft, "--minor-percent=33") // turns 3, 6, 9, ...
		calls := make(chan string, 8)
		upstream.behave(func(w http.ResponseWriter, r *http.Request) {
			calls <- r.RequestURI
			fmt.Fprint(w, upstream.pages[r.RequestURI])
		})
		var answers []string
		for range 4 {
			_, body := s.get(t, "/hello")
			answers = append(answers, body)
		}
		var asked []string
		for range len(calls) {
			asked = append(asked, <-calls)
		}
		want := []string{"/phones/1", "/address/1", "/phones/2", "/address/2", "/phones/3", "/address/3", "/phones/4", "/address/1"}
		if !slices.Equal(asked, want) {
			t.Errorf("asked %v, not %v", asked, want)
		}
		if minor := answers[3]; !strings.Contains(minor, `"age":17,`) || !strings.HasSuffix(minor, `,"loan_options":[]}`) {
			t.Errorf("a minor: %s", minor)
		}
	})
}

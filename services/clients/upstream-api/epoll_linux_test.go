// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// running starts the program with a server around epoll, and returns its address.
func running(t *testing.T, flags ...string) string {
	reader, writer := io.Pipe()
	go run(t.Context(), append([]string{"--port=0", "--server=epoll"}, flags...), io.Discard, writer)
	line, err := bufio.NewReader(reader).ReadString('\n')
	port := regexp.MustCompile(`port=(\d+)`).FindStringSubmatch(line)
	if err != nil || port == nil {
		t.Fatalf("%q, %v", line, err)
	}
	return "127.0.0.1:" + port[1]
}

func TestEpollKeepsTheContract(t *testing.T) {
	address := running(t)
	for _, c := range contractCases(t) {
		t.Run(c.Name, func(t *testing.T) { c.check(t, "http://"+address) })
	}
	request, _ := http.NewRequest(http.MethodGet, "http://"+address+"/metrics", nil)
	if _, _, metrics := exchange(t, request); !regexp.MustCompile(`\nupstream_answers_total [1-9]\d+\n`).MatchString(metrics) {
		t.Errorf("no upstream_answers_total in %.300s", metrics)
	}
}

func TestOneConnectionMayAskBoth(t *testing.T) {
	address := running(t)
	for _, written := range [][]string{
		{"GET /address/1 HTTP/1.1\r\nHost: x\r\n\r\n", "GET /health HTTP/1.1\r\nhost: x\r\n\r\n", "GET /address/2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"},
		{"GET /address/1 HTTP/1.1\r\nHost: x\r\n\r\nGET /address/2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"}, // at once
		{"GET /address/1 HT", "TP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"},                                       // in parts
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, part := range written {
			if _, err := io.WriteString(conn, part); err != nil {
				t.Fatal(err)
			}
		}
		asked := strings.Join(written, "")
		answer, err := io.ReadAll(conn)
		if n := strings.Count(string(answer), addressBody); err != nil || n != strings.Count(asked, "/address/") {
			t.Errorf("%q: %d answers in %q, %v", asked, n, answer, err)
		}
	}
}

func TestDelayHoldsBackAnswersOfEpollToo(t *testing.T) {
	conn, err := net.Dial("tcp", running(t, "--delay-ms=300000"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /address/1 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { _, err := conn.Read(make([]byte, 1)); answered <- err }()
	request, _ := http.NewRequest(http.MethodGet, "http://"+conn.RemoteAddr().String()+"/health", nil)
	for range 20 {
		exchange(t, request)
	}
	select {
	case err := <-answered:
		t.Errorf("an answer came before its time: %v", err)
	default:
	}
}

func TestWhatIsNotPlainHasNoPath(t *testing.T) {
	for request, path := range map[string]string{
		"GET /phones/1 HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n":       "/phones/1",
		"GET /phones/1 HTTP/1.1\r\n\r\n":                                 "",
		"GET /phones/1 HTTP/1.0\r\nHost: x\r\n\r\n":                      "",
		"HEAD /phones/1 HTTP/1.1\r\nHost: x\r\n\r\n":                     "",
		"GET /phones/1 HTTP/1.1\r\nHost: x\r\nEXPECT: 100-continue\r\n":  "",
		"GET /phones/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n": "",
		"GET /phones/1 HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n":           "",
		"GET /phones/1 HTTP/1.1\r\nHost: x\r\nno field\r\n\r\n":          "",
		"GET /phones/1 HTTP/1.1\r\nHost: x\r\n":                          "",
		"GET /phones/1 HTTP/1.1":                                         "",
	} {
		if got := string(plainPath([]byte(request))); got != path {
			t.Errorf("%q: %q, not %q", request, got, path)
		}
	}
}

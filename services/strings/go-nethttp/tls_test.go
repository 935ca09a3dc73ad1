// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestWithTLSTheSameAnswerComesByTheSuiteThatIsCompared(t *testing.T) {
	address, _, _ := started(t, "--craft=idiomatic", "--tls=on")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	response, err := client.Post("https://"+address+"/uppercase", "application/json", strings.NewReader(`{"s":"hello"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != `{"v":"HELLO"}` || response.Proto != "HTTP/1.1" {
		t.Errorf("%q by %s, %v", body, response.Proto, err)
	}
	if state := response.TLS; state.Version != tls.VersionTLS13 || state.CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		t.Errorf("%s with %s", tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite))
	}
}

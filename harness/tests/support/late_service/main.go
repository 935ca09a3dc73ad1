// SPDX-License-Identifier: Apache-2.0
// A service that listens only after a while: what a prober must measure is known.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"time"
)

func main() {
	host := flag.String("host", "127.0.0.1", "")
	port := flag.String("port", "8080", "")
	delay := flag.Duration("delay", 0, "how long after its start it listens")
	flag.Parse()
	time.Sleep(*delay)
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status":"up"}`) })
	panic(http.ListenAndServe(*host+":"+*port, nil))
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// full leaves the database no room to grow: the table of transactions becomes its largest file by
// far, and no process of the server may write beyond that size. The server then finds, as on a full
// disk, that a file cannot be extended; its journal's files are smaller and go on as ever.
func (c *cluster) full(t *testing.T, from, to string) {
	t.Helper()
	client := c.asClient(t)
	defer client.Close()
	filled := fmt.Sprintf("INSERT INTO transaction (from_client_id, to_client_id, amount) SELECT %s, %s, 1 FROM generate_series(1, 40000)", from, to)
	if _, err := client.ExecContext(t.Context(), filled); err != nil {
		t.Fatal(err)
	}
	var size int
	if err := client.QueryRowContext(t.Context(), "SELECT pg_relation_size('transaction')").Scan(&size); err != nil {
		t.Fatal(err)
	}
	if size <= 1<<20 {
		t.Fatalf("a table of %d bytes is no larger than a file of the journal", size)
	}
	c.largestFile(t, strconv.Itoa(size))
}

// largestFile limits the size of the files that the server writes to.
func (c *cluster) largestFile(t *testing.T, size string) {
	t.Helper()
	limit := func(pid int) error {
		command := exec.Command("prlimit", "--pid", strconv.Itoa(pid), "--fsize="+size+":")
		command.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner} // not every root may do it to others
		return command.Run()
	}
	if err := limit(c.process.Process.Pid); err != nil { // first of all: later ones inherit it
		t.Fatalf("prlimit (of util-linux): %v", err)
	}
	rows, err := c.admin.Query("SELECT pid FROM pg_stat_activity")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var pid int
		if err := rows.Scan(&pid); err != nil {
			t.Fatal(err)
		}
		_ = limit(pid) // it may have ended
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestAFullDiskIsA503UntilThereIsRoomAndCostsNoMoney(t *testing.T) {
	for _, way := range everyWay {
		t.Run(way, func(t *testing.T) {
			errors := quiet(t)
			c := postgresql(t)
			c.emptied(t)
			server := newService(t, with(way, "--pool-size=4")...)
			a, b := account(t, server, 1_000), account(t, server, 1_000)
			c.full(t, a, b)
			t.Cleanup(func() { c.largestFile(t, "unlimited") })
			refused := 0
			for range 1_000 { // the last page of the table still has some room
				switch status, body := ask(t, server, "POST", "/transaction", transferBody(a, b, 1)); {
				case status == 503 && body == unavailableBody:
					refused++
				case status != 200:
					t.Fatalf("%d %s", status, body)
				}
				if refused == 5 {
					break
				}
			}
			if refused < 5 || !strings.Contains(errors.text(), "could not extend file") {
				t.Fatalf("the disk was not full: %d refused, on stderr %q", refused, errors.text())
			}
			if status, body := ask(t, server, "POST", "/client/new/7", ""); status != 503 || body != unavailableBody {
				t.Errorf("a client without a place for its opening transaction: %d %s", status, body)
			}
			if status, body := ask(t, server, "GET", "/client/"+b+"/balance", ""); status != 200 {
				t.Errorf("reading needs no room: %d %s", status, body)
			}
			c.largestFile(t, "unlimited")
			account(t, server, 1)
			c.checkInvariants(t) // the refused client would be one without an opening transaction
			c.soonAtMost(t, kept(way, 4))
		})
	}
}

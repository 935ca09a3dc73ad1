// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lib/pq"
)

// The tests run against a real PostgreSQL of their own: a cluster in a temporary folder, on a free
// port of the loopback, stopped and removed at the end.

const (
	withoutPostgreSQL = "REMATCH_WITHOUT_POSTGRESQL"
	rolePassword      = `p'w /%\"ü` // what a password may be made of
)

// cluster is one PostgreSQL server and its data.
type cluster struct {
	programs string
	folder   string
	owner    *syscall.Credential // nil: whoever runs the tests
	port     int
	process  *exec.Cmd
	admin    *sql.DB // one connection, while the server runs
}

var theCluster = sync.OnceValues(newCluster)

func TestMain(m *testing.M) {
	status := m.Run()
	if startedCluster != nil {
		startedCluster.stop(syscall.SIGQUIT)
		_ = os.RemoveAll(startedCluster.folder)
	}
	os.Exit(status)
}

var startedCluster *cluster

// postgresql returns the running cluster. Without PostgreSQL a test fails, unless whoever runs it
// said that it is known to be missing.
func postgresql(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv(withoutPostgreSQL) == "1" {
		// Said by whoever runs it, never by the machine: without the variable a missing server is a failure.
		t.Skipf("%s=1: not tested against a database", withoutPostgreSQL)
	}
	c, err := theCluster()
	if err != nil {
		t.Fatalf("%v; needed: PostgreSQL's initdb and postgres on PATH or below /usr/lib/postgresql (Debian: apt-get install postgresql), or %s=1 to go without these tests", err, withoutPostgreSQL)
	}
	if c.process == nil {
		c.mustStart(t)
	}
	return c
}

func newCluster() (*cluster, error) {
	programs, err := postgresqlPrograms()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "rematch-bank-")
	if err != nil {
		return nil, err
	}
	c := &cluster{programs: programs, folder: folder}
	startedCluster = c
	if os.Geteuid() == 0 { // PostgreSQL refuses to be root
		if c.owner, err = unprivileged(); err != nil {
			return nil, err
		}
		if err := os.Chown(folder, int(c.owner.Uid), int(c.owner.Gid)); err != nil {
			return nil, err
		}
	}
	passwordFile := filepath.Join(folder, "password")
	if err := os.WriteFile(passwordFile, []byte("admin\n"), 0o644); err != nil {
		return nil, err
	}
	initdb := c.command("initdb", "--pgdata", filepath.Join(folder, "data"), "--username=admin", "--pwfile="+passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions",
		"--wal-segsize=1") // see full
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c.port = listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	return c, c.prepare()
}

// prepare makes the role of the service, its database and the tables.
func (c *cluster) prepare() error {
	if err := c.start(); err != nil {
		return err
	}
	schema, err := os.ReadFile("../contract/schema.sql")
	if err != nil {
		return err
	}
	for _, step := range []struct{ user, database, statements string }{
		{"admin", "postgres", "CREATE ROLE bank LOGIN PASSWORD " + pq.QuoteLiteral(rolePassword)},
		{"admin", "postgres", "CREATE DATABASE bank OWNER bank"},
		{"bank", "bank", string(schema)},
	} {
		db := sql.OpenDB(c.connector(step.user, step.database))
		_, err := db.Exec(step.statements)
		db.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", step.statements, err)
		}
	}
	return nil
}

func postgresqlPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.Reverse(found) // the newest first
	if onPath, err := exec.LookPath("initdb"); err == nil {
		if onPath, err = filepath.EvalSymlinks(onPath); err == nil {
			found = append([]string{onPath}, found...)
		}
	}
	for _, initdb := range found {
		programs := filepath.Dir(initdb)
		if _, err := os.Stat(filepath.Join(programs, "postgres")); err == nil {
			return programs, nil
		}
	}
	return "", fmt.Errorf("no PostgreSQL found")
}

func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		if account, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(account.Uid)
			gid, _ := strconv.Atoi(account.Gid)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("neither user postgres nor nobody exists, and PostgreSQL refuses to be root")
}

func (c *cluster) command(program string, args ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(c.programs, program), args...)
	command.Dir = c.folder
	command.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	return command
}

// start runs the server with settings like "max_connections=8" and waits until it serves.
func (c *cluster) start(settings ...string) error {
	args := []string{"-D", filepath.Join(c.folder, "data"), "-p", strconv.Itoa(c.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "autovacuum=off", "-c", "shared_buffers=16MB"}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	journal, err := os.OpenFile(filepath.Join(c.folder, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer journal.Close()
	c.process = c.command("postgres", args...)
	c.process.Stdout, c.process.Stderr = journal, journal
	if err := c.process.Start(); err != nil {
		return err
	}
	c.admin = sql.OpenDB(c.connector("admin", "postgres"))
	c.admin.SetMaxOpenConns(1)
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(10 * time.Millisecond) {
		if err = c.admin.Ping(); err == nil {
			return nil
		}
	}
	said, _ := os.ReadFile(filepath.Join(c.folder, "log"))
	return fmt.Errorf("PostgreSQL does not come up: %w: %s", err, said)
}

func (c *cluster) mustStart(t *testing.T, settings ...string) {
	t.Helper()
	if err := c.start(settings...); err != nil {
		t.Fatal(err)
	}
}

// stop ends the server: SIGINT as an administrator would, SIGQUIT as a crash.
func (c *cluster) stop(signal syscall.Signal) {
	if c.process != nil {
		_ = c.admin.Close()
		_ = c.process.Process.Signal(signal)
		_ = c.process.Wait()
		c.process = nil
	}
}

// restartedWith runs the server with other settings until the end of the test.
func (c *cluster) restartedWith(t *testing.T, settings ...string) {
	t.Helper()
	c.stop(syscall.SIGINT)
	c.mustStart(t, settings...)
	t.Cleanup(func() { c.stop(syscall.SIGINT) })
}

func (c *cluster) connector(user, database string) *pq.Connector {
	password := map[string]string{"admin": "admin", "bank": rolePassword}[user]
	place := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: fmt.Sprint("127.0.0.1:", c.port), Path: "/" + database, RawQuery: "sslmode=disable"}
	connector, err := pq.NewConnector(place.String())
	if err != nil {
		panic(err)
	}
	return connector
}

// emptied leaves the service's database with empty tables, and the environment pointing at it.
func (c *cluster) emptied(t *testing.T) {
	t.Helper()
	c.environment(t)
	client := c.asClient(t)
	if _, err := client.ExecContext(t.Context(), "TRUNCATE client, transaction RESTART IDENTITY"); err != nil {
		t.Fatal(err)
	}
	client.Close()
	c.soon(t, 0)
}

// asClient opens a connection of its own to the service's database, in the service's role.
func (c *cluster) asClient(t *testing.T) *sql.Conn {
	t.Helper()
	db := sql.OpenDB(c.connector("bank", "bank"))
	db.SetMaxIdleConns(0) // a connection that is given back is closed
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		db.Close()
	})
	return conn
}

// backends returns how many connections the service's role has, as the database counts them.
func (c *cluster) backends(t *testing.T) int {
	t.Helper()
	var n int
	if err := c.admin.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE usename = 'bank'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// soon waits until there are n connections: a backend ends a moment after its connection.
func (c *cluster) soon(t *testing.T, n int) {
	t.Helper()
	c.wait(t, fmt.Sprint(n), func(got int) bool { return got == n })
}

// soonAtMost waits until there are no more than n connections.
func (c *cluster) soonAtMost(t *testing.T, n int) {
	t.Helper()
	c.wait(t, fmt.Sprint("at most ", n), func(got int) bool { return got <= n })
}

func (c *cluster) wait(t *testing.T, wanted string, enough func(int) bool) {
	t.Helper()
	got := -1
	for range 300 {
		if got = c.backends(t); enough(got) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d connections to the database, not %s", got, wanted)
}

// checkInvariants runs the statements that tell whether money was lost.
func (c *cluster) checkInvariants(t *testing.T) {
	t.Helper()
	statements, err := os.ReadFile("../contract/invariants.sql")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c.connector("bank", "bank"))
	defer db.Close()
	rows, err := db.Query(string(statements))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	checked := 0
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			var name string
			var found, expected int64
			if err := rows.Scan(&name, &found, &expected); err != nil {
				t.Fatal(err)
			}
			if checked++; found != expected {
				t.Errorf("%s: %d, not %d", name, found, expected)
			}
		}
	}
	if err := rows.Err(); err != nil || checked < 4 {
		t.Errorf("%d invariants checked, %v", checked, err)
	}
}

// environment points the service at the database.
func (c *cluster) environment(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"PGHOST": "127.0.0.1", "PGPORT": strconv.Itoa(c.port), "PGUSER": "bank", "PGPASSWORD": rolePassword, "PGDATABASE": "bank",
	} {
		t.Setenv(name, value)
	}
}

// newService serves in this process what the flags say, with the database of the environment.
func newService(t *testing.T, args ...string) *httptest.Server {
	t.Helper()
	return newLoggingService(t, nil, args...)
}

func newLoggingService(t *testing.T, sink io.Writer, args ...string) *httptest.Server {
	t.Helper()
	opts, err := parseFlags(append(args, "--port=0"))
	if err != nil {
		t.Fatal(err)
	}
	place, err := databaseFromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	db, err := openDatabase(place, opts)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(routes(opts, db, sink))
	t.Cleanup(func() {
		server.Close()
		db.close()
	})
	return server
}

// nowhere is a database that is not there.
func nowhere(t *testing.T) {
	t.Helper()
	(&cluster{port: 1}).environment(t)
}

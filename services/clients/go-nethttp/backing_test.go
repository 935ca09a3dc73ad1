// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// database is the one PostgreSQL of these tests: a throw-away cluster on a free port.
var database *cluster

func TestMain(m *testing.M) {
	status := 1
	folder, err := os.MkdirTemp("", "clients-go-nethttp-")
	if err == nil {
		if database, err = newCluster(folder); err == nil {
			status = m.Run()
			database.kill()
		}
		_ = os.RemoveAll(folder)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "these tests need a real PostgreSQL: %v\n", err)
	}
	os.Exit(status)
}

type cluster struct {
	access  databaseAccess
	folder  string
	program string // postgres
	owner   *syscall.SysProcAttr
	process *exec.Cmd
	exited  chan struct{}
}

// newCluster makes and starts a cluster with the table of the contract in it.
func newCluster(folder string) (*cluster, error) {
	initdb, err := findInitdb()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	c := &cluster{folder: folder, program: filepath.Join(filepath.Dir(initdb), "postgres")}
	c.access = databaseAccess{host: "127.0.0.1", port: port, user: "tester", password: "not-a-secret", database: "postgres"}
	if c.owner, err = unprivileged(folder); err != nil {
		return nil, err
	}
	passwords := filepath.Join(folder, "password")
	if err := os.WriteFile(passwords, []byte(c.access.password), 0o644); err != nil {
		return nil, err
	}
	create := exec.Command(initdb, "--pgdata", c.data(), "--username", c.access.user, "--pwfile", passwords,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync")
	create.Dir, create.SysProcAttr = folder, c.owner
	if out, err := create.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	for _, file := range []string{"schema.sql", "seed-movies.sql"} {
		text, err := os.ReadFile(filepath.Join("..", "contract", file))
		if err == nil {
			err = c.exec(string(text))
		}
		if err != nil {
			c.kill()
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return c, nil
}

func findInitdb() (string, error) {
	installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // fails only for a bad pattern
	if len(installed) > 0 {
		slices.Sort(installed)
		return installed[len(installed)-1], nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", fmt.Errorf("no initdb below /usr/lib/postgresql and %w; install PostgreSQL, for instance the package postgresql", err)
	}
	return filepath.EvalSymlinks(path)
}

// unprivileged gives folder to a user whom PostgreSQL accepts: it refuses to run as root.
// The server is told to stop when the tests die.
func unprivileged(folder string) (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return attributes, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		return nil, err
	}
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attributes, os.Chown(folder, uid, gid)
}

func freePort() (uint16, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return uint16(listener.Addr().(*net.TCPAddr).Port), nil
}

func (c *cluster) data() string { return filepath.Join(c.folder, "data") }

// start returns when the server accepts connections.
func (c *cluster) start() error {
	log, err := os.OpenFile(filepath.Join(c.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	c.process = exec.Command(c.program, "-D", c.data(), "-p", fmt.Sprint(c.access.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=40", "-c", "shared_buffers=16MB")
	c.process.Dir, c.process.SysProcAttr = c.folder, c.owner
	c.process.Stdout, c.process.Stderr = log, log
	if err := c.process.Start(); err != nil {
		return err
	}
	c.exited = make(chan struct{})
	go func(process *exec.Cmd, exited chan struct{}) { _ = process.Wait(); close(exited) }(c.process, c.exited)
	for {
		if err = c.exec("select 1"); err == nil {
			return nil
		}
		select {
		case <-c.exited:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("postgres ended: %w: %s", err, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// kill ends the server and its connections at once, as a crash would.
func (c *cluster) kill() {
	_ = c.process.Process.Signal(syscall.SIGQUIT) // fails only when it is gone already
	<-c.exited
}

func (c *cluster) connect(ctx context.Context) (*pgx.Conn, error) {
	a := c.access
	return pgx.Connect(ctx, fmt.Sprintf("host=%s port=%d user=%s password=%s dbname=%s sslmode=disable application_name=tests",
		a.host, a.port, a.user, a.password, a.database))
}

// exec runs statements on a connection of their own.
func (c *cluster) exec(statements string) error {
	conn, err := c.connect(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	_, err = conn.PgConn().Exec(context.Background(), statements).ReadAll()
	return err
}

// connections returns how many connections the service has as the server sees it.
func (c *cluster) connections(t *testing.T) int {
	t.Helper()
	conn, err := c.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var n int
	const query = "select count(*) from pg_stat_activity where backend_type = 'client backend' and application_name <> 'tests'"
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// upstreamServer answers as the contract says, until a test puts another handler in its place.
type upstreamServer struct {
	address string
	pages   map[string]string
	faulty  atomic.Pointer[http.HandlerFunc]
	asked   atomic.Int64
	open    atomic.Int64
	most    atomic.Int64 // connections at one time
	server  *httptest.Server
}

func newUpstreamServer(t *testing.T) *upstreamServer {
	t.Helper()
	u := &upstreamServer{pages: map[string]string{}, address: "127.0.0.1:0"}
	data, err := os.ReadFile("../contract/upstream-cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var c contractCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if c.Expect.Status == 200 && c.Expect.Body != nil && c.Request.BodyRepeat == nil {
			u.pages[c.Request.Path] = *c.Expect.Body
		}
	}
	u.up(t)
	t.Cleanup(func() { u.server.Close() })
	return u
}

func (u *upstreamServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.asked.Add(1)
	if faulty := u.faulty.Load(); faulty != nil {
		(*faulty)(w, r)
		return
	}
	page, found := u.pages[r.RequestURI]
	if !found {
		http.Error(w, "no such page", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, page)
}

// up listens, on the same port as before.
func (u *upstreamServer) up(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", u.address)
	if err != nil {
		t.Fatal(err)
	}
	u.address = listener.Addr().String()
	u.server = httptest.NewUnstartedServer(u)
	u.server.Listener.Close()
	u.server.Listener = listener
	u.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			u.most.Store(max(u.most.Load(), u.open.Add(1)))
		case http.StateClosed, http.StateHijacked:
			u.open.Add(-1)
		}
	}
	u.server.Start()
}

// down stops listening and breaks all connections.
func (u *upstreamServer) down() {
	u.server.CloseClientConnections()
	u.server.Close()
}

// behave puts handler in the place of the right answers; nil puts those back.
func (u *upstreamServer) behave(handler http.HandlerFunc) {
	if handler == nil {
		u.faulty.Store(nil)
		return
	}
	u.faulty.Store(&handler)
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
)

// databaseFromEnvironment returns where the database is, as a URL.
func databaseFromEnvironment() (string, error) {
	found := map[string]string{}
	for _, name := range []string{"PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"} {
		value, set := os.LookupEnv(name)
		if !set || value == "" && name != "PGPASSWORD" {
			return "", fmt.Errorf("environment variable %s is not set; needed: PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE", name)
		}
		found[name] = value
	}
	place := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(found["PGUSER"], found["PGPASSWORD"]),
		Host:     net.JoinHostPort(found["PGHOST"], found["PGPORT"]),
		Path:     "/" + found["PGDATABASE"],
		RawQuery: "sslmode=disable",
	}
	return place.String(), nil
}

// database makes connections, lends them and counts them.
type database struct {
	connector driver.Connector
	pool      *sql.DB // nil: a connection for every unit of work
	bare      bool    // a published statement's own sql.DB keeps the defaults of database/sql
	wait      time.Duration
	opened    atomic.Int64 // connections that the database accepted
	open      atomic.Int64 // sockets to the database, leaked ones included
}

// openDatabase connects to nothing yet.
func openDatabase(place string, opts options) (*database, error) {
	d := &database{wait: time.Duration(opts.poolWaitMs) * time.Millisecond, bare: opts.statementDB == "defaults"}
	dialer := &countingDialer{database: d}
	if opts.face == "matched" {
		place += "&binary_parameters=yes" // without it lib/pq takes two round trips for a statement with parameters
		dialer.patience = d.wait
	}
	connector, err := pq.NewConnector(place)
	if err != nil {
		return nil, err
	}
	connector.Dialer(dialer)
	d.connector = countingConnector{Connector: connector, database: d, prepares: opts.face == "matched" && opts.connections == "pool"}
	if opts.connections == "pool" {
		d.pool = sql.OpenDB(d.connector)
		d.pool.SetMaxOpenConns(opts.poolSize)
		d.pool.SetMaxIdleConns(opts.mostIdle())
	}
	return d, nil
}

// forPublished returns what a statement of the published or the repaired face runs on, and whether it is kept after it.
func (d *database) forPublished() (db *sql.DB, kept bool) {
	if d.pool != nil {
		return d.pool, true
	}
	return d.ofOneStatement(sql.OpenDB(d.connector)), false
}

func (d *database) close() {
	if d.pool != nil {
		_ = d.pool.Close()
	}
}

// use lends a connection to work, and takes it back or closes it, whatever comes out.
func (d *database) use(ctx context.Context, work func(*sql.Conn) error) error {
	waiting, cancel := context.WithTimeout(ctx, d.wait)
	defer cancel()
	source := d.pool
	if source == nil {
		source = sql.OpenDB(d.connector)
		defer source.Close()
	}
	conn, err := source.Conn(waiting)
	if err != nil {
		return fmt.Errorf("no connection: %w", err)
	}
	defer conn.Close()
	return work(conn)
}

// connections returns how many are open now.
func (d *database) connections() (inUse, idle int64) {
	if d.pool == nil {
		return d.open.Load(), 0
	}
	stats := d.pool.Stats()
	return int64(stats.InUse), int64(stats.Idle)
}

// countingConnector counts the connections that were made.
type countingConnector struct {
	driver.Connector
	database *database
	prepares bool // statements, on connections that live long enough
}

func (c countingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c.database.opened.Add(1)
	if c.prepares {
		return &preparingConn{pqConn: conn.(pqConn), prepared: map[string]driver.Stmt{}}, nil
	}
	return conn, nil
}

// countingDialer counts the sockets that are open, and gives each the patience to wait for an answer.
type countingDialer struct {
	database *database
	patience time.Duration // 0: for ever
}

func (d *countingDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

func (d *countingDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

func (d *countingDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: d.patience}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.database.open.Add(1)
	return &countedConn{Conn: conn, dialer: d}, nil
}

type countedConn struct {
	net.Conn
	dialer *countingDialer
	closed sync.Once
}

// Read waits no longer than the dialer's patience: a database that stopped answering is a lost connection.
// This costs less than a context for each statement, for which lib/pq starts a goroutine.
func (c *countedConn) Read(into []byte) (int, error) {
	if c.dialer.patience > 0 {
		if err := c.SetReadDeadline(time.Now().Add(c.dialer.patience)); err != nil {
			return 0, err
		}
	}
	return c.Conn.Read(into)
}

func (c *countedConn) Close() error {
	c.closed.Do(func() { c.dialer.database.open.Add(-1) })
	return c.Conn.Close()
}

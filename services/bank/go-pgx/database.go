// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// checkEnvironment makes sure that nothing is guessed of what pgx reads from the environment itself.
func checkEnvironment() error {
	for _, name := range []string{"PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"} {
		if value, set := os.LookupEnv(name); !set || value == "" && name != "PGPASSWORD" {
			return fmt.Errorf("environment variable %s is not set; needed: PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE", name)
		}
	}
	return nil
}

// database makes connections, lends them and counts them.
type database struct {
	config    *pgx.ConnConfig
	pool      *pgxpool.Pool // nil: a connection for every unit of work
	published *sql.DB       // the pool of the published and repaired faces, which pgx serves through database/sql
	bare      bool          // a published statement's own sql.DB keeps the defaults of database/sql
	wait      time.Duration
	opened    atomic.Int64 // connections that the database accepted
	open      atomic.Int64 // sockets to the database, leaked ones included
}

// openDatabase connects to nothing yet.
func openDatabase(opts options) (*database, error) {
	config, err := pgxpool.ParseConfig("sslmode=disable") // the rest is in the environment
	if err != nil {
		return nil, err
	}
	d := &database{
		config: config.ConnConfig, wait: time.Duration(opts.poolWaitMs) * time.Millisecond, bare: opts.statementDB == "defaults",
	}
	d.config.DialFunc = d.dial
	d.config.AfterConnect = func(context.Context, *pgconn.PgConn) error {
		d.opened.Add(1)
		return nil
	}
	if opts.face == "matched" {
		d.config.ConnectTimeout = d.wait
	}
	switch {
	case opts.connections == "per-statement":
		d.config.DefaultQueryExecMode = pgx.QueryExecModeExec // to prepare what runs once is a second round trip
	case opts.face != "matched":
		d.published = stdlib.OpenDB(*d.config)
		d.published.SetMaxOpenConns(opts.poolSize)
		d.published.SetMaxIdleConns(opts.mostIdle())
	default:
		config.MaxConns = int32(opts.poolSize)
		if d.pool, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// forPublished returns what a statement of the published or the repaired face runs on, and whether it is kept after it.
func (d *database) forPublished() (db *sql.DB, kept bool) {
	if d.published != nil {
		return d.published, true
	}
	return d.ofOneStatement(stdlib.OpenDB(*d.config)), false
}

// close gives the pool a moment: it waits for what was lent, and work that outlived the drain is given up.
func (d *database) close() {
	if d.pool != nil {
		closed := make(chan struct{})
		go func() {
			d.pool.Close()
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(100 * time.Millisecond):
		}
	}
	if d.published != nil {
		_ = d.published.Close()
	}
}

// use lends a connection to work, and takes it back or closes it, whatever comes out.
// The work's context ends when the database had its time; a caller who left does not interrupt it.
func (d *database) use(ctx context.Context, work func(context.Context, *pgx.Conn) error) error {
	waiting, cancelWaiting := context.WithTimeout(ctx, d.wait)
	defer cancelWaiting()
	conn, giveBack, err := d.connect(waiting)
	if err != nil {
		return fmt.Errorf("no connection: %w", err)
	}
	defer giveBack()
	working, cancelWorking := context.WithTimeout(context.Background(), d.wait)
	defer cancelWorking()
	return work(working, conn)
}

func (d *database) connect(ctx context.Context) (*pgx.Conn, func(), error) {
	if d.pool != nil {
		conn, err := d.pool.Acquire(ctx)
		if err != nil {
			return nil, nil, err
		}
		return conn.Conn(), conn.Release, nil
	}
	conn, err := pgx.ConnectConfig(ctx, d.config)
	if err != nil {
		return nil, nil, err
	}
	return conn, func() {
		closing, cancel := context.WithTimeout(context.Background(), d.wait)
		defer cancel()
		_ = conn.Close(closing)
	}, nil
}

// connections returns how many are open now.
func (d *database) connections() (inUse, idle int64) {
	switch {
	case d.pool != nil:
		stat := d.pool.Stat()
		return int64(stat.AcquiredConns()), int64(stat.IdleConns())
	case d.published != nil:
		stats := d.published.Stats()
		return int64(stats.InUse), int64(stats.Idle)
	}
	return d.open.Load(), 0
}

// dial counts the sockets that are open.
func (d *database) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.open.Add(1)
	return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { d.open.Add(-1) })}, nil
}

type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

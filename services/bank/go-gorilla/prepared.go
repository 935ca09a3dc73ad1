// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql/driver"
)

// preparingConn prepares each statement once and keeps it as long as the connection lives, as pgx
// and the JDBC driver do by themselves. The first use of a statement takes a round trip more.
// One goroutine at a time uses a connection: database/sql sees to it.
type preparingConn struct {
	pqConn
	prepared map[string]driver.Stmt
}

// pqConn is what lib/pq's connections can do and database/sql asks of them.
type pqConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

func (c *preparingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	statement, found := c.prepared[query]
	if !found {
		var err error
		if statement, err = c.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
		c.prepared[query] = statement
	}
	return statement.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// SPDX-License-Identifier: Apache-2.0

package main

import "database/sql"

// What the Go program of 2018 set on the sql.DB that it opened for each statement: no connection is kept idle, so one
// is closed when its row was read, also when the statement failed.
const (
	mostOpen2018 = 20
	mostIdle2018 = 0
	lifetime2018 = 1 // nanosecond
)

// mostIdleRematch is how many connections the rematch's Go program kept; it closed those beyond when they were given back.
const mostIdleRematch = 2

// mostIdle returns how many idle connections a pool keeps: all of them, but for the repaired face.
func (o options) mostIdle() int {
	if o.face == "repaired" {
		return mostIdleRematch
	}
	return o.poolSize
}

// ofOneStatement prepares the sql.DB of a published statement, unless the settings of database/sql are wanted: with
// those the connection of a statement that failed stays open for ever, which is what the rematch tells of the program.
func (d *database) ofOneStatement(db *sql.DB) *sql.DB {
	if !d.bare {
		db.SetMaxOpenConns(mostOpen2018)
		db.SetMaxIdleConns(mostIdle2018)
		db.SetConnMaxLifetime(lifetime2018)
	}
	return db
}

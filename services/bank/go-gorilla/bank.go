// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// The statements of the contract (../README.md).
const (
	insertClient   = `INSERT INTO client (name, email, phone) VALUES ('', '', '') RETURNING id`
	insertOpening  = `INSERT INTO transaction (from_client_id, to_client_id, amount) VALUES (0, $1, $2)`
	insertTransfer = `INSERT INTO transaction (from_client_id, to_client_id, amount)
SELECT $1::integer, $2::integer, $3::integer
WHERE (SELECT count(*) FROM client WHERE id IN ($1::integer, $2::integer)) = 2
RETURNING id`
	selectBalance = `SELECT (SELECT coalesce(sum(amount), 0) FROM transaction WHERE to_client_id = $1::integer)
     - (SELECT coalesce(sum(amount), 0) FROM transaction WHERE from_client_id = $1::integer)
FROM client WHERE id = $1::integer`
)

// Statements take no context: the connection's patience bounds them (countedConn).
var unhurried = context.Background()

// bank is the domain: clients, and money that moves between them.
type bank struct {
	database *database
}

// create makes a client with its opening transaction, both or neither, and returns its id.
func (b bank) create(ctx context.Context, balance int64) (id int64, err error) {
	err = b.database.use(ctx, func(conn *sql.Conn) error {
		transaction, err := conn.BeginTx(unhurried, nil)
		if err != nil {
			return err
		}
		defer func() { _ = transaction.Rollback() }() // does nothing after the commit
		if err := transaction.QueryRowContext(unhurried, insertClient).Scan(&id); err != nil {
			return err
		}
		if _, err := transaction.ExecContext(unhurried, insertOpening, id, balance); err != nil {
			return err
		}
		return transaction.Commit()
	})
	return id, unavailable("create", err)
}

// transfer moves money between two clients and returns the id of the transaction.
func (b bank) transfer(ctx context.Context, from, to, amount int64) (id int64, err error) {
	err = b.database.use(ctx, func(conn *sql.Conn) error {
		return conn.QueryRowContext(unhurried, insertTransfer, from, to, amount).Scan(&id)
	})
	return id, unavailable("transfer", err)
}

// balance returns what a client received less what it sent.
func (b bank) balance(ctx context.Context, client int64) (balance int64, err error) {
	err = b.database.use(ctx, func(conn *sql.Conn) error {
		return conn.QueryRowContext(unhurried, selectBalance, client).Scan(&balance)
	})
	return balance, unavailable("balance", err)
}

// unavailable names an error of the database for the log; no row means that a client is missing.
func unavailable(what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return errUnknownClient
	}
	return fmt.Errorf("%s: %w", what, err)
}

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
	insertAccount = `WITH created AS (
  INSERT INTO client (name, email, phone) VALUES ('', '', '') RETURNING id
), opening AS (
  INSERT INTO transaction (from_client_id, to_client_id, amount) SELECT 0, id, $1::integer FROM created
)
SELECT id FROM created`
	insertTransfer = `INSERT INTO transaction (from_client_id, to_client_id, amount)
SELECT $1::integer, $2::integer, $3::integer
WHERE (SELECT count(*) FROM client WHERE id IN ($1::integer, $2::integer)) = 2
RETURNING id`
	selectBalance = `SELECT (SELECT coalesce(sum(amount), 0) FROM transaction WHERE to_client_id = client.id)
     - (SELECT coalesce(sum(amount), 0) FROM transaction WHERE from_client_id = client.id)
FROM client WHERE id = $1::integer`
)

// Statements take no context: the connection's patience bounds them (countedConn).
var unhurried = context.Background()

// bank is the domain: clients, and money that moves between them.
type bank struct {
	database *database
}

// create makes a client with its opening transaction, both or neither, and returns its id.
func (b bank) create(ctx context.Context, balance int32) (id int32, err error) {
	err = b.database.use(ctx, func(conn *sql.Conn) error {
		return conn.QueryRowContext(unhurried, insertAccount, balance).Scan(&id)
	})
	return id, unavailable("create", err)
}

// transfer moves money between two clients and returns the id of the transaction.
func (b bank) transfer(ctx context.Context, t transfer) (id int32, err error) {
	err = b.database.use(ctx, func(conn *sql.Conn) error {
		return conn.QueryRowContext(unhurried, insertTransfer, t.from, t.to, t.amount).Scan(&id)
	})
	return id, unavailable("transfer", err)
}

// balance returns what a client received less what it sent.
func (b bank) balance(ctx context.Context, client int32) (balance int64, err error) {
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

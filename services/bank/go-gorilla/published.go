// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"
	"strings"
)

// The published face: the Go bank of 2018. The repaired face: that of the rematch (../README.md says what of both is
// known). They share their statements, their answers and what they print; they differ in the connections they use and
// in how a failure ends. Their flaws are kept on purpose: two inserts without a transaction around them, no check of
// clients and amounts, a number in a path that is none is 0, and a line that says what was created before anyone looks
// whether it was. In the published face an error is a panic that comes before the statement's own sql.DB is closed.

const (
	publishedInsertClient      = `INSERT INTO client (name, email, phone) VALUES ($1, $2, $3) RETURNING id`
	publishedInsertTransaction = `INSERT INTO transaction (from_client_id, to_client_id, amount) VALUES ($1, $2, $3) RETURNING id`
	publishedSelectBalance     = `SELECT received - sent
FROM (SELECT coalesce(sum(amount), 0) AS received FROM transaction WHERE to_client_id = $1) a,
     (SELECT coalesce(sum(amount), 0) AS sent FROM transaction WHERE from_client_id = $1) b`
)

type publishedClient struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
	Phone string `json:"phone"`
}

type publishedTransaction struct {
	ID     int `json:"id"`
	From   int `json:"from_client_id"`
	To     int `json:"to_client_id"`
	Amount int `json:"amount"`
}

type publishedBalance struct {
	Balance int `json:"balance"`
}

type published struct {
	database *database
	sink     io.Writer // nil: logging is off
}

// ended is what a face does with an error; it returns whether there was one.
type ended func(w http.ResponseWriter, what string, err error) bool

// panics is how the published program handles errors: net/http logs the panic and closes the client's connection.
func panics(_ http.ResponseWriter, _ string, err error) bool {
	if err != nil {
		panic(err)
	}
	return false
}

// says is how the rematch's program handles errors: what the database said goes to the caller, as text.
func says(w http.ResponseWriter, what string, err error) bool {
	if err == nil {
		return false
	}
	message := strings.ReplaceAll(what+": "+err.Error(), `"`, `'`)
	http.Error(w, `{"status":"Error", "message":"`+message+`"}`, http.StatusInternalServerError)
	return true
}

func publishedHome(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"status":"Ok"}`)
}

func (p published) create(failed ended) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBodyBytes)); tooLarge(w, err) {
			return
		}
		balance, _ := strconv.Atoi(pathValue(r, "balance"))
		if client, err := p.open(balance); !failed(w, "Error in creating client", err) {
			encodePublished(w, client)
		}
	}
}

func (p published) transfer(failed ended) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked publishedTransaction
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes)).Decode(&asked)
		if tooLarge(w, err) || failed(w, "Error deserializing request", err) {
			return
		}
		if made, err := p.insert(asked); !failed(w, "Error in creating transaction", err) {
			encodePublished(w, made)
		}
	}
}

// balance asks the database whatever the id is: of client 0, from whom the opening transactions come, too.
func (p published) balance(failed ended) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.Atoi(pathValue(r, "id"))
		balance, err := p.statement(publishedSelectBalance, id)
		if failed(w, "Error in getting balance", err) {
			return
		}
		p.log("Calculated balance with client id", id)
		encodePublished(w, publishedBalance{balance})
	}
}

// open makes a client, and in a second statement its opening transaction.
func (p published) open(balance int) (client publishedClient, err error) {
	client.ID, err = p.statement(publishedInsertClient, client.Name, client.Email, client.Phone)
	p.log("Created client with id", client.ID)
	if err != nil {
		return client, err
	}
	_, err = p.insert(publishedTransaction{To: client.ID, Amount: balance})
	return client, err
}

func (p published) insert(transaction publishedTransaction) (publishedTransaction, error) {
	id, err := p.statement(publishedInsertTransaction, transaction.From, transaction.To, transaction.Amount)
	p.log("Created transaction with id", id)
	transaction.ID = id
	return transaction, err
}

// statement returns the one number of the one row, 0 with an error. An error leaves a sql.DB of the statement's own
// unclosed, as published: its goroutine stays, and with --statement-db=defaults its connection, too.
func (p published) statement(query string, args ...any) (number int, err error) {
	db, kept := p.database.forPublished()
	if err := db.QueryRow(query, args...).Scan(&number); err != nil {
		return 0, err
	}
	if !kept {
		_ = db.Close()
	}
	return number, nil
}

// tooLarge answers a body over the limit, which the originals did not have.
func tooLarge(w http.ResponseWriter, err error) bool {
	var limit *http.MaxBytesError
	if !errors.As(err, &limit) {
		return false
	}
	http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	return true
}

func (p published) log(what string, id int) {
	if p.sink != nil {
		if _, err := fmt.Fprintln(p.sink, what, id); err != nil {
			log.Printf("a log line was lost: %v", err)
		}
	}
}

// encodePublished sets no content type, as published: net/http takes the body for plain text.
func encodePublished(w http.ResponseWriter, answer any) {
	_ = json.NewEncoder(w).Encode(answer) // fails only when the client went away
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"

	"github.com/gorilla/mux"
)

// The published face: what the 2018 program did (../README.md says what of it is known).
// Its flaws are kept on purpose: a sql.DB for every statement, closed after it but not when a panic
// comes first; errors that are panics; two inserts without a transaction around them; no check of
// clients and amounts; a number in a path that is none is 0.

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

// publishedRoutes is all that the published face answers.
func publishedRoutes(db *database, sink io.Writer, metrics http.Handler) http.Handler {
	p := published{database: db, sink: sink}
	router := mux.NewRouter()
	router.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status":"Ok"}`) })
	router.HandleFunc(createPath, p.create).Methods(http.MethodPost)
	router.HandleFunc(transferPath, p.transfer).Methods(http.MethodPost)
	router.HandleFunc(balancePath, p.balance).Methods(http.MethodGet)
	router.HandleFunc("/health", health).Methods(http.MethodGet)
	router.Handle("/metrics", metrics).Methods(http.MethodGet)
	return router
}

func (p published) create(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBodyBytes)); tooLarge(w, err) {
		return
	}
	balance, _ := strconv.Atoi(mux.Vars(r)["balance"])
	client := publishedClient{}
	client.ID = p.statement(publishedInsertClient, client.Name, client.Email, client.Phone)
	p.log("Created client with id", client.ID)
	p.insert(publishedTransaction{To: client.ID, Amount: balance})
	encodePublished(w, client)
}

func (p published) transfer(w http.ResponseWriter, r *http.Request) {
	var transaction publishedTransaction
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes)).Decode(&transaction)
	if tooLarge(w, err) {
		return
	}
	check(err)
	encodePublished(w, p.insert(transaction))
}

func (p published) balance(w http.ResponseWriter, r *http.Request) {
	var balance publishedBalance
	if id, _ := strconv.Atoi(mux.Vars(r)["id"]); id != 0 {
		balance.Balance = p.statement(publishedSelectBalance, id)
		p.log("Calculated balance with client id", id)
	}
	encodePublished(w, balance)
}

func (p published) insert(transaction publishedTransaction) publishedTransaction {
	transaction.ID = p.statement(publishedInsertTransaction, transaction.From, transaction.To, transaction.Amount)
	p.log("Created transaction with id", transaction.ID)
	return transaction
}

// statement returns the one number of the one row. The panic before Close is the published leak:
// the connection on which a statement failed waits for ever in a sql.DB that nobody has any more.
func (p published) statement(query string, args ...any) int {
	db := p.database.pool
	if db == nil {
		db = sql.OpenDB(p.database.connector)
	}
	var number int
	check(db.QueryRow(query, args...).Scan(&number))
	if p.database.pool == nil {
		_ = db.Close()
	}
	return number
}

// check is how the published program handles errors: net/http logs the panic and closes the client's connection.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// tooLarge answers a body over the limit, which the original did not have.
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

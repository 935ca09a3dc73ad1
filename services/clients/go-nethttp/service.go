// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// service is what both faces work with.
type service struct {
	// ctx ends when the program does. Work is not tied to the request's own context: it is bounded
	// anyway, and giving it up when a load generator hangs up would throw away good connections.
	ctx        context.Context
	turns      turns
	upstream   *upstream
	pool       *pgxpool.Pool
	poolWait   time.Duration
	parallel   bool // both calls of a /hello are under way at the same time
	tuned      bool // the craft of the matched face; else idiomatic
	complaints *complaints
}

// whose returns whom a request is answered for, and not ok when its query is a bad one.
func (s *service) whose(query string) (turn, bool) {
	if query != "" {
		client, ok := askedClient(query)
		if !ok || client != nil {
			return turn{client: client}, ok
		}
	}
	return s.turns.next(), true
}

// hello asks the upstream twice. A minor has the address of the guardian and can borrow nothing.
func (s *service) hello(who turn) (any, error) {
	answer := helloAnswer{clientAnswer: answerOf(who.client, who.age())}
	adult := answer.Age >= adultAge
	asked := who.client.ID
	if !adult {
		asked = guardianID
	}
	err := s.ask(
		func() (err error) { answer.Phones, err = s.upstream.phones(s.ctx, who.client.ID); return },
		func() (err error) { answer.Address, err = s.upstream.address(s.ctx, asked); return },
	)
	if err != nil {
		return nil, err
	}
	if adult {
		answer.LoanOptions = who.client.LoanOptions()
	}
	return answer, nil
}

// ask makes both calls, one after the other or at once. When both fail, the failure of the first is told.
func (s *service) ask(first, second func() error) error {
	if !s.parallel {
		if err := first(); err != nil {
			return err
		}
		return second()
	}
	done := make(chan error, 1)
	go func() { done <- second() }()
	failed, also := first(), <-done
	if failed != nil {
		return failed
	}
	return also
}

// films asks the database for everything and answers what is one director's.
func (s *service) films(who turn) (any, error) {
	byDirector, err := films(s.ctx, s.pool, s.poolWait, groupFilms)
	return filmsAnswer{answerOf(who.client, who.client.Age), byDirector[who.client.FavouriteDirector]}, err
}

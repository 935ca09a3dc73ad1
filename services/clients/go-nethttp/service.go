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

// hello asks the upstream, one call after the other. A minor has the address of the guardian and
// can borrow nothing.
func (s *service) hello(who turn) (any, error) {
	answer := helloAnswer{clientAnswer: answerOf(who.client, who.age())}
	var err error
	if answer.Phones, err = s.upstream.phones(s.ctx, who.client.ID); err != nil {
		return nil, err
	}
	if answer.Age >= adultAge {
		answer.Address, err = s.upstream.address(s.ctx, who.client.ID)
		answer.LoanOptions = who.client.LoanOptions()
	} else {
		answer.Address, err = s.upstream.address(s.ctx, guardianID)
	}
	return answer, err
}

// films asks the database for everything and answers what is one director's.
func (s *service) films(who turn) (any, error) {
	byDirector, err := films(s.ctx, s.pool, s.poolWait)
	return filmsAnswer{answerOf(who.client, who.client.Age), byDirector[who.client.FavouriteDirector]}, err
}

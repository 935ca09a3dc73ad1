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

// hello asks the upstream, one call after the other, and appends the answer to x.out.
func (s *service) hello(x *exchange, who turn) error {
	phones, err := s.upstream.phones(s.ctx, x, who.client.ID)
	if err != nil {
		return err
	}
	if who.age() < adultAge {
		x.out = appendHello(x.out, who, phones, nil, nil)
		return nil
	}
	address, err := s.upstream.address(s.ctx, x, who.client.ID)
	if err != nil {
		return err
	}
	loans := who.client.LoanOptions()
	x.out = appendHello(x.out, who, phones, address, loans[:])
	return nil
}

// films asks the database for everything and appends the answer for one director to x.out.
func (s *service) films(x *exchange, who turn) error {
	byDirector, err := films(s.ctx, s.pool, s.poolWait)
	if err != nil {
		return err
	}
	x.out = appendFilms(x.out, who.client, byDirector[who.client.FavouriteDirector])
	return nil
}

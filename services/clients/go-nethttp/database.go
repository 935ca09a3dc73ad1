// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

const selectMovies = "select title, year, cost, director from movie"

// The text of the error is its code in the answer.
var errDatabaseUnavailable = errors.New("database_unavailable")

// poolSettings bounds the connections to the database and how long a request may want one.
type poolSettings struct {
	size, least int
	wait        time.Duration
}

// newPool connects to nothing yet: the service starts without its database.
// Its connections are made in the background and on demand.
func newPool(ctx context.Context, access databaseAccess, settings poolSettings) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig("host=127.0.0.1 sslmode=disable")
	if err != nil {
		return nil, err
	}
	connection := config.ConnConfig
	connection.Host, connection.Port = access.host, access.port
	connection.User, connection.Password, connection.Database = access.user, access.password, access.database
	connection.TLSConfig, connection.Fallbacks = nil, nil
	connection.ConnectTimeout = settings.wait
	config.MaxConns, config.MinConns = int32(settings.size), int32(settings.least)
	return pgxpool.NewWithConfig(ctx, config)
}

// films asks for all films and returns them by director, as group reads them. wait bounds the whole of it: a
// database that hangs must not hold a connection for ever.
func films[film any](
	ctx context.Context, pool *pgxpool.Pool, wait time.Duration, group func(pgx.Rows) (map[string][]film, error),
) (map[string][]film, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	rows, err := pool.Query(ctx, selectMovies)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDatabaseUnavailable, err)
	}
	defer rows.Close()
	byDirector, err := group(rows)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDatabaseUnavailable, err)
	}
	return byDirector, nil
}

func groupFilms(rows pgx.Rows) (map[string][]Film, error) {
	byDirector := make(map[string][]Film)
	var film Film
	var cost pgtype.Numeric
	var director pgtype.Text // null becomes "", which is nobody's favourite
	for rows.Next() {
		film = Film{}
		if err := rows.Scan(&film.Title, &film.Year, &cost, &director); err != nil {
			return nil, err
		}
		if cost.Valid {
			cents, err := centsOf(cost)
			if err != nil {
				return nil, fmt.Errorf("cost of %q: %w", film.Title, err)
			}
			film.Cost = &cents
		}
		byDirector[director.String] = append(byDirector[director.String], film)
	}
	return byDirector, rows.Err()
}

var ten = big.NewInt(10)

// centsOf returns a number of at most two decimals as whole cents.
func centsOf(number pgtype.Numeric) (Cents, error) {
	if number.NaN || number.InfinityModifier != pgtype.Finite {
		return 0, errors.New("not a number")
	}
	cents, exponent := new(big.Int).Set(number.Int), number.Exp+2
	for ; exponent > 0 && cents.IsInt64(); exponent-- {
		cents.Mul(cents, ten)
	}
	for remainder := new(big.Int); exponent < 0; exponent++ {
		if cents.QuoRem(cents, ten, remainder); remainder.Sign() != 0 {
			return 0, errors.New("more than two decimals")
		}
	}
	if !cents.IsInt64() || cents.Int64() == math.MinInt64 {
		return 0, errors.New("too large")
	}
	return Cents(cents.Int64()), nil
}

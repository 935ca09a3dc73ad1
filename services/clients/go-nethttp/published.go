// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/jackc/pgx/v5"
)

// The published face: what the article's Go program did, its flaws included. The id is never set, so
// the upstream is asked for client 0 whoever's turn it is; five JSON tags are missing; amounts are
// doubles; and the upstream is asked through Go's default transport, which keeps two idle connections
// per host and has no time limit.

type publishedPhone struct {
	DDD    int `json:"ddd"`
	Number int `json:"number"`
}

type publishedAddress struct {
	Street  string `json:"street"`
	Number  int    `json:"number"`
	State   string `json:"state"`
	Country string `json:"country"`
}

type publishedLoan struct {
	Years              int     `json:"years"`
	Loan               float64 `json:"loan"`
	MonthlyInstallment float64 `json:"monthlyInstallment"`
}

type publishedClient struct {
	ID               uint32            `json:"id"`
	Name             string            `json:"name"`
	Age              int               `json:"age"`
	GuardianID       uint32            `json:"guardianID"`
	MonthSalary      float64           `json:"monthSalary"`
	Address          *publishedAddress `json:"address"`
	Phones           []publishedPhone  `json:"phones"`
	FavoriteDirector string
}

type publishedHello struct {
	Client      publishedClient `json:"client"`
	LoanOptions []publishedLoan `json:"loanOptions"`
}

type publishedFilm struct {
	Title    string
	Year     int16
	Cost     float64
	Director string
}

type publishedFilms struct {
	Client publishedClient `json:"client"`
	Movies []publishedFilm `json:"movies"`
}

// publishedUpstream is the default transport, its connections counted.
func publishedUpstream(base string) *upstream {
	dialled := &dialCounter{}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = dialled.dial
	return &upstream{transport: transport, dialled: dialled, base: base}
}

// publishedRoutes is all that the published face answers.
func publishedRoutes(s *service, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) {
		body, err := s.publishedHello(s.turns.next())
		s.write(w, body, err)
	})
	mux.HandleFunc("/db", func(w http.ResponseWriter, _ *http.Request) {
		body, err := s.publishedFilms(s.turns.next().client)
		s.write(w, body, err)
	})
	mux.HandleFunc("GET /health", health)
	mux.Handle("GET /metrics", metrics)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, tooLarge := readAway(r); tooLarge {
			reply(w, http.StatusRequestEntityTooLarge, bodyTooLarge)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *service) publishedHello(who turn) ([]byte, error) {
	hello := publishedHello{Client: published(who.client), LoanOptions: []publishedLoan{}}
	client := &hello.Client
	client.Age = who.age()
	asked := client.ID
	if client.Age < adultAge {
		asked = client.GuardianID
	}
	err := s.ask(
		func() error { return s.upstream.getJSON(s.ctx, fmt.Sprintf("/phones/%d", client.ID), &client.Phones) },
		func() error { return s.upstream.getJSON(s.ctx, fmt.Sprintf("/address/%d", asked), &client.Address) },
	)
	if err != nil {
		return nil, err
	}
	if client.Age >= adultAge {
		hello.LoanOptions = publishedLoans(client.MonthSalary)
	}
	return json.Marshal(hello)
}

func publishedLoans(salary float64) []publishedLoan {
	options := []publishedLoan{}
	for years := 1; years <= longestLoan; years++ {
		installment := 0.03 * salary
		maximum := installment * float64(12*years)
		discount := 0.07 * maximum // a variable of its own: some processors would fuse the two steps
		options = append(options, publishedLoan{years, maximum - discount, installment})
	}
	return options
}

// published is the client under the name of the published table, without its id: that is the flaw.
func published(client *Client) publishedClient {
	return publishedClient{
		Name: string(rune('A' + client.ID - 1)), Age: client.Age,
		MonthSalary: float64(client.Salary) / 100, FavoriteDirector: client.FavouriteDirector,
	}
}

// publishedFilms answers with `"movies":null` when the director has no film, and when the database fails.
func (s *service) publishedFilms(client *Client) ([]byte, error) {
	films, err := s.publishedRows()
	if err != nil {
		s.complaints.add(err)
	}
	byDirector := map[string][]publishedFilm{}
	for _, film := range films {
		byDirector[film.Director] = append(byDirector[film.Director], film)
	}
	body := &bytes.Buffer{}
	encoder := json.NewEncoder(body)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(publishedFilms{published(client), byDirector[client.FavouriteDirector]})
	return body.Bytes(), err
}

func (s *service) publishedRows() ([]publishedFilm, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.poolWait)
	defer cancel()
	rows, err := s.pool.Query(ctx, selectMovies)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDatabaseUnavailable, err)
	}
	films, err := pgx.CollectRows(rows, pgx.RowToStructByName[publishedFilm])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDatabaseUnavailable, err)
	}
	return films, nil
}

// getJSON reads the whole body of a 200 and then unmarshals it, with an http.Client of its own for each call.
func (u *upstream) getJSON(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.base+path, nil)
	if err != nil { // cannot be: the base was checked when the program started
		return fmt.Errorf("%w: %w", errUpstreamUnavailable, err)
	}
	u.dialled.inUse.Add(1)
	defer u.dialled.inUse.Add(-1)
	response, err := (&http.Client{Transport: u.transport}).Do(request)
	if err != nil {
		return noAnswer(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s: %s", errUpstreamBadAnswer, path, response.Status)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return noAnswer(ctx, err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: %w", errUpstreamBadAnswer, err)
	}
	return nil
}

// write sends the answer; of a fault it tells stderr, and the caller gets a 200 with an empty body.
func (s *service) write(w http.ResponseWriter, body []byte, err error) {
	if err != nil {
		s.complaints.add(err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // fails only when the client went away
}

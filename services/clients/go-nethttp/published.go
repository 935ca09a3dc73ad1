// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// The published face: what the article's Go program did, its flaws included. The id is never set,
// two JSON tags are missing, amounts are doubles, and the upstream is asked through Go's default
// transport, which keeps two idle connections per host and has no time limit.

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
	Years       int     `json:"years"`
	Installment float64 `json:"installment"`
	Maximum     float64 `json:"maximum"`
	Loan        float64 `json:"loan"`
}

type publishedClient struct {
	ID                int     `json:"id"`
	Name              string  `json:"name"`
	Age               int     `json:"age"`
	Salary            float64 `json:"salary"`
	FavouriteDirector string
}

type publishedHello struct {
	publishedClient
	Phones      []publishedPhone  `json:"phones"`
	Address     *publishedAddress `json:"address"`
	LoanOptions []publishedLoan
}

type publishedFilm struct {
	Title    string   `json:"title"`
	Year     *int     `json:"year"`
	Cost     *float64 `json:"cost"`
	director *string
}

type publishedFilms struct {
	publishedClient
	Films []publishedFilm `json:"films"`
}

// publishedUpstream is the default transport, its connections counted.
func publishedUpstream(base string) *upstream {
	dialled := &dialCounter{}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = dialled.dial
	return &upstream{client: &http.Client{Transport: transport}, transport: transport, dialled: dialled, base: base}
}

// publishedRoutes is all that the published face answers.
func publishedRoutes(s *service, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) {
		hello, err := s.publishedHello(s.turns.next())
		s.encode(w, hello, err)
	})
	mux.HandleFunc("/db", func(w http.ResponseWriter, _ *http.Request) {
		films, err := s.publishedFilms(s.turns.next().client)
		s.encode(w, films, err)
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

func (s *service) publishedHello(who turn) (publishedHello, error) {
	hello := publishedHello{publishedClient: published(who.client), LoanOptions: []publishedLoan{}}
	hello.Age = who.age()
	id := strconv.Itoa(who.client.ID)
	if err := s.upstream.getJSON(s.ctx, "/phones/"+id, &hello.Phones); err != nil {
		return hello, err
	}
	if hello.Age >= adultAge {
		if err := s.upstream.getJSON(s.ctx, "/address/"+id, &hello.Address); err != nil {
			return hello, err
		}
		for years := 1; years <= longestLoan; years++ {
			installment := 0.03 * hello.Salary
			maximum := installment * 12 * float64(years)
			discount := 0.07 * maximum // a variable of its own: some processors would fuse the two steps
			hello.LoanOptions = append(hello.LoanOptions, publishedLoan{years, installment, maximum, maximum - discount})
		}
	}
	return hello, nil
}

// published is the client without its id: that is the flaw.
func published(client *Client) publishedClient {
	return publishedClient{
		Name: client.Name, Age: client.Age,
		Salary: float64(client.Salary) / 100, FavouriteDirector: client.FavouriteDirector,
	}
}

func (s *service) publishedFilms(client *Client) (publishedFilms, error) {
	answer := publishedFilms{publishedClient: published(client), Films: []publishedFilm{}}
	ctx, cancel := context.WithTimeout(s.ctx, s.poolWait)
	defer cancel()
	rows, err := s.pool.Query(ctx, selectMovies)
	if err != nil {
		return answer, fmt.Errorf("%w: %w", errDatabaseUnavailable, err)
	}
	defer rows.Close()
	byDirector := map[string][]publishedFilm{}
	for rows.Next() {
		var film publishedFilm
		if err := rows.Scan(&film.Title, &film.Year, &film.Cost, &film.director); err != nil {
			return answer, fmt.Errorf("%w: %w", errDatabaseUnavailable, err)
		}
		if film.director != nil {
			byDirector[*film.director] = append(byDirector[*film.director], film)
		}
	}
	if err := rows.Err(); err != nil {
		return answer, fmt.Errorf("%w: %w", errDatabaseUnavailable, err)
	}
	answer.Films = append(answer.Films, byDirector[client.FavouriteDirector]...)
	return answer, nil
}

// getJSON believes what it gets, whatever its status.
func (u *upstream) getJSON(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.base+path, nil)
	if err != nil { // cannot be: the base was checked when the program started
		return fmt.Errorf("%w: %w", errUpstreamUnavailable, err)
	}
	u.dialled.inUse.Add(1)
	defer u.dialled.inUse.Add(-1)
	response, err := u.client.Do(request)
	if err != nil {
		return noAnswer(ctx, err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("%w: %w", errUpstreamBadAnswer, err)
	}
	return nil
}

func (s *service) encode(w http.ResponseWriter, answer any, err error) {
	if err != nil {
		status, body := s.explain(err)
		http.Error(w, string(body), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // fails only when the client went away
}

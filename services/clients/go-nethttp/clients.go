// SPDX-License-Identifier: Apache-2.0

package main

import "sync/atomic"

const (
	adultAge    = 18
	minorAge    = 17
	longestLoan = 3 // years
	guardianID  = 1 // of every client: whose address a minor has
)

// Client is one of the ten.
type Client struct {
	ID                int
	Name              string
	Age               int
	Salary            Cents
	FavouriteDirector string
}

// Phone and Address are what the upstream knows of a client, and what is answered of it. What the
// upstream left out, or said to be null, is nil.
type Phone struct {
	DDD    *int32 `json:"ddd"`
	Number *int32 `json:"number"`
}

type Address struct {
	Street  *string `json:"street"`
	Number  *int32  `json:"number"`
	State   *string `json:"state"`
	Country *string `json:"country"`
}

// LoanOption is what a client could borrow for some years.
type LoanOption struct {
	Years       int   `json:"years"`
	Installment Cents `json:"installment"`
	Maximum     Cents `json:"maximum"`
	Loan        Cents `json:"loan"`
}

// Film is a row of the database; nil is null there.
type Film struct {
	Title string `json:"title"`
	Year  *int16 `json:"year"`
	Cost  *Cents `json:"cost"`
}

var clients = [...]Client{
	{1, "Client 1", 18, 300_000, "J J Abrams"},
	{2, "Client 2", 19, 350_000, "Louis Leterrier"},
	{3, "Client 3", 20, 400_000, "Rob Marshall"},
	{4, "Client 4", 21, 450_000, "Joss Whedon"},
	{5, "Client 5", 22, 500_000, "Anthony Russo & Joe Russo"},
	{6, "Client 6", 23, 600_000, "Sam Raimi"},
	{7, "Client 7", 24, 700_000, "James Mangold"},
	{8, "Client 8", 25, 800_000, "Gore Verbinski"},
	{9, "Client 9", 26, 900_000, "Zack Snyder & Joss Whedon"},
	{10, "Client 10", 27, 1_000_000, "Rian Johnson"},
}

// LoanOptions are for one, two and three years. Salaries are multiples of 100.00, so every
// percentage is whole cents.
func (c *Client) LoanOptions() []LoanOption {
	options := make([]LoanOption, longestLoan)
	for i := range options {
		options[i] = c.loanOption(i + 1)
	}
	return options
}

func (c *Client) loanOption(years int) LoanOption {
	installment := c.Salary * 3 / 100
	maximum := installment * 12 * Cents(years)
	return LoanOption{years, installment, maximum, maximum - maximum*7/100}
}

// turn is whom a request is answered for, and whether as a minor (which only /hello looks at).
type turn struct {
	client *Client
	minor  bool
}

// age is 17 for a minor, whatever the table says.
func (t turn) age() int {
	if t.minor {
		return minorAge
	}
	return t.client.Age
}

// turns is the round robin over the clients and, of each hundred turns, the minors among them.
type turns struct {
	taken        atomic.Uint64
	minorPercent uint64
}

func (t *turns) next() turn {
	number := t.taken.Add(1) - 1
	inHundred := number % 100
	return turn{
		client: &clients[number%uint64(len(clients))],
		minor:  (inHundred+1)*t.minorPercent/100 > inHundred*t.minorPercent/100,
	}
}

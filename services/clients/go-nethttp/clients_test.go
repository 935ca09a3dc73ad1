// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/big"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5/pgtype"
)

func TestOfEachHundredTurnsThePercentageIsMinorAndEvenlySpread(t *testing.T) {
	for percent := range uint64(101) {
		round := turns{minorPercent: percent}
		var minors, sinceLast, longest uint64
		for range 300 {
			sinceLast++
			if round.next().minor {
				minors++
				longest, sinceLast = max(longest, sinceLast), 0
			}
		}
		if minors != 3*percent {
			t.Errorf("%d %%: %d of 300", percent, minors)
		}
		if percent > 0 && longest > (100+percent-1)/percent {
			t.Errorf("%d %%: once only after %d turns", percent, longest)
		}
	}
}

func TestLoanOptionsLoseNoCent(t *testing.T) {
	for i := range clients {
		client := &clients[i]
		if client.Salary%10_000 != 0 {
			t.Errorf("%s: the salary is no multiple of 100.00", client.Name)
		}
		for _, loan := range client.LoanOptions() {
			exact := client.Salary * 3 * 12 * Cents(loan.Years) * 93 // of 10,000
			if loan.Loan*10_000 != exact || loan.Installment*100 != client.Salary*3 {
				t.Errorf("%s, %d years: %+v", client.Name, loan.Years, loan)
			}
		}
	}
}

func TestAmountsHaveTwoDecimals(t *testing.T) {
	for cents, want := range map[Cents]string{0: "0.00", 5: "0.05", 60: "0.60", 100: "1.00", -5: "-0.05", 100440: "1004.40", 999999999: "9999999.99"} {
		if got, err := json.Marshal(cents); err != nil || string(got) != want {
			t.Errorf("%d: %s, %v, not %s", int64(cents), got, err, want)
		}
	}
}

func TestNumericBecomesWholeCentsOrAnError(t *testing.T) {
	number := func(digits, exponent int64) pgtype.Numeric {
		return pgtype.Numeric{Int: big.NewInt(digits), Exp: int32(exponent), Valid: true}
	}
	for _, c := range []struct {
		number pgtype.Numeric
		want   Cents
	}{
		{number(447, 0), 44_700}, {number(44_700, -2), 44_700}, {number(3_788, -1), 37_880}, {number(4, 2), 40_000},
		{number(3_788_000, -4), 37_880}, {number(1_000_000_001, 6), 100_000_000_100_000_000}, {number(0, 0), 0}, {number(-5, -1), -50}, {number(999_999_999, -2), 999_999_999},
	} {
		for _, of := range []func(pgtype.Numeric) (Cents, error){centsOf, wholeCents} {
			if got, err := of(c.number); err != nil || got != c.want {
				t.Errorf("%+v: %d, %v, not %d", c.number, got, err, c.want)
			}
		}
	}
	for _, bad := range []pgtype.Numeric{
		number(1, -3), number(1, 1_000_000), {NaN: true, Valid: true}, {InfinityModifier: pgtype.Infinity, Valid: true},
	} {
		for _, of := range []func(pgtype.Numeric) (Cents, error){centsOf, wholeCents} {
			if got, err := of(bad); err == nil {
				t.Errorf("%+v: %d", bad, got)
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"math/big"
	"testing"

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
		if client.SalaryCents%10_000 != 0 {
			t.Errorf("%s: the salary is no multiple of 100.00", client.Name)
		}
		for _, loan := range client.LoanOptions() {
			exact := client.SalaryCents * 3 * 12 * int64(loan.Years) * 93 // of 10,000
			if loan.LoanCents*10_000 != exact || loan.InstallmentCents*100 != client.SalaryCents*3 {
				t.Errorf("%s, %d years: %+v", client.Name, loan.Years, loan)
			}
		}
	}
}

func TestAmountsHaveTwoDecimals(t *testing.T) {
	for cents, want := range map[int64]string{0: "0.00", 5: "0.05", 60: "0.60", 100: "1.00", -5: "-0.05", 100440: "1004.40", 999999999: "9999999.99"} {
		if got := string(appendCents(nil, cents)); got != want {
			t.Errorf("%d: %s, not %s", cents, got, want)
		}
	}
}

func TestNumericBecomesWholeCentsOrAnError(t *testing.T) {
	number := func(digits, exponent int64) pgtype.Numeric {
		return pgtype.Numeric{Int: big.NewInt(digits), Exp: int32(exponent), Valid: true}
	}
	for _, c := range []struct {
		number pgtype.Numeric
		want   int64
	}{
		{number(447, 0), 44_700}, {number(44_700, -2), 44_700}, {number(3_788, -1), 37_880}, {number(4, 2), 40_000},
		{number(3_788_000, -4), 37_880}, {number(0, 0), 0}, {number(-5, -1), -50}, {number(999_999_999, -2), 999_999_999},
	} {
		if got, err := centsOf(c.number); err != nil || got != c.want {
			t.Errorf("%+v: %d, %v, not %d", c.number, got, err, c.want)
		}
	}
	for _, bad := range []pgtype.Numeric{
		number(1, -3), number(1, 1_000_000), {NaN: true, Valid: true}, {InfinityModifier: pgtype.Infinity, Valid: true},
	} {
		if got, err := centsOf(bad); err == nil {
			t.Errorf("%+v: %d", bad, got)
		}
	}
}

func TestReadingAndRenderingNeedNoMemoryButForTheTextsOfTheAddress(t *testing.T) {
	var x exchange
	phones := []byte(`[{"ddd":18,"number":907368787},{"ddd":23,"number":908668496}]`)
	address := []byte(`{"street":"123 Main St","number":42,"state":"CA","country":"USA"}`)
	loans := clients[0].LoanOptions()
	work := func() {
		x.answer.body.Reset()
		x.answer.body.Write(phones)
		read, err := x.answer.phones(x.phones[:0])
		if err != nil {
			t.Fatal(err)
		}
		x.phones = read
		x.answer.body.Reset()
		x.answer.body.Write(address)
		if err := x.answer.address(&x.address); err != nil {
			t.Fatal(err)
		}
		x.out = appendHello(x.out[:0], turn{client: &clients[0]}, read, &x.address, loans[:])
	}
	work()
	if n := testing.AllocsPerRun(50, work); n > 3 {
		t.Errorf("%v allocations an answer", n)
	}
	if !bytes.HasPrefix(x.out, []byte(`{"id":1,"name":"Client 1","age":18,"salary":3000.00,`)) {
		t.Errorf("%s", x.out)
	}
}

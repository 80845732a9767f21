package perf

import (
	"strings"
	"testing"
)

// TestExplain: the texts contain the numbers of the vendor's profiler (NPC_00: MTE 68.3 %, MME 22.8
// %, VME 8.9 % of 123 cycles, of an MCU of 137404) and of worked examples.
func TestExplain(t *testing.T) {
	t.Parallel()
	r := analyze(t, "../../testdata/golden/perf", Options{}, "borders")
	for _, o := range r.Operators {
		want := map[string]string{
			"vendor_npc00": "moves, VME and MME fill 0.1 % of mcu_cycle (68.3 %, 8.9 % and 22.8 % of that): scalar code",
			"data_border":  "moves take 60 %, VME and MME 48 %; 12000 of 100000 cycles only move data: ",
			"compute_vme":  "moves take 30 %, VME and MME 85 %, most in VME (80 %): ",
			"serial":       "moves take 45 %, VME and MME 45 %, and only 4.4 % of the shorter part overlaps: full overlap would save up to 43000 of 100000 cycles; use double buffering",
			"sync":         "waits for other cores in 25000 of 100000 cycles (25 %): ",
			"wrapped":      "VME 0, MME 4000000000, MTE 10 of 1000 cycles, ",
		}[o.Name]
		if !strings.HasPrefix(o.Text.String(), want) {
			t.Errorf("%s: %s, want %s", o.Name, o.Text, want)
		}
	}
}

func TestAdviceText(t *testing.T) {
	t.Parallel()
	row := func(pld, l1 int64) *Row {
		r := &Row{}
		r.Set(MCU, count(100000))
		r.Set(PLDByte, count(pld))
		r.Set(L1Conflict, count(l1))
		return r
	}
	th := DefaultThresholds()
	for _, tt := range []struct {
		o    Operator
		want string
	}{
		{Operator{Row: row(3<<20, 0), Before: row(1<<20, 0)}, "pld moved 3.0 MiB, 1.0 MiB before (x 3.00): repeated moves; change schedule or tiling"},
		{Operator{Row: row(4096, 0), Before: row(0, 0)}, "pld moved 4.0 KiB, 0 bytes before: repeated moves; change schedule or tiling"},
		{Operator{Row: row(0, 1500), Before: row(0, 500)}, "bank conflicts at L1 take 1500 cycles, 500 before (x 3.00): smaller L1 tiles"},
		{Operator{Row: row(0, 10000)}, "bank conflicts at L1 take 10000 of 100000 cycles (10 %): smaller L1 tiles"},
		{Operator{Row: row(0, 0), Cores: &Cores{Slowest: 2, Cycles: 4000, Sum: 5000, NumKnown: 4}}, "core 2 takes 4000 cycles, the mean of 4 cores is 1250 (x 3.20): split the work evenly"},
		{Operator{Row: row(1<<62, 0), Before: row(1, 0)}, "pld moved 4.0 EiB, 1 byte before (x 4611686018427387904.00): repeated moves; change schedule or tiling"},
	} {
		got := advise(&tt.o, &th)
		if len(got) != 1 || got[0].Text.String() != tt.want {
			t.Errorf("%v, want %s", got, tt.want)
		}
	}
}

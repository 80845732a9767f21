package graph

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func alike(a, b string) bool { return IsSameGraphIR(strings.NewReader(a), strings.NewReader(b)) }

func TestAlikeIR(t *testing.T) {
	t.Parallel()
	text := irHead + "subgraph instance: g : 0x55d3\n" + node(`%0(a) = A(%para1_x) primitive_attrs: {rank: 0} cnode_primal_attrs: {unique_id: "17"}`, "Fullname with scope: (A-op0)", "In file /u/a.py:3/a = 0/") + "}\n"
	for change, want := range map[string]bool{
		"":                                     true,
		"0x55d3=>0x66e4":                       true,
		"rank: 0=>rank: 7":                     true,
		"rank: 0=>rank: 12":                    false, // the rest of the text is shifted
		"(2)>) ->=>(4)>) ->":                   true,
		`"17"=>"18"`:                           false,
		"= A(=>= B(":                           false,
		"%para1_x) p=>%para2_x) p":             false,
		"A-op0=>A-op1":                         false,
		"a.py:3=>a.py:4":                       false,
		"a = 0=>a = 1":                         false,
		"%0(a)=>%1(a)":                         false,
		"%para1_x: <=>%para1_y: <":             false,
		"@g()=>@h()":                           false,
		"subgraph instance=>subgraph @nstance": false,
		"      : (<=>      # (<":               false,
		"\n}\n=>\n]\n":                         false,
	} {
		from, to, _ := strings.Cut(change, "=>")
		if got := alike(text, strings.Replace(text, from, to, 1)); got != want {
			t.Errorf("%q: %v, want %v", change, got, want)
		}
	}
	if alike(text, text[:len(text)-2]) || alike(text[:len(text)-2], text) || !alike("", "") {
		t.Error("one is shorter")
	}
}

// TestAlikeLong: lines across block borders, and a line longer than all blocks.
func TestAlikeLong(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(irHead)
	for i := range 20000 {
		fmt.Fprintf(&b, "  %%%d(a) = A(%%para1_x) primitive_attrs: {rank: 0}\n", i)
	}
	text := b.String() + "}\n"
	other := strings.ReplaceAll(text, "rank: 0", "rank: 3")
	if len(text) < irBuffer || !alike(text, other) || alike(text, strings.Replace(other, "%19999(a) = A", "%19999(a) = B", 1)) || alike(text, other[:len(other)-1]+"]") {
		t.Error("blocks")
	}
	long := text + strings.Repeat("x", 3*irBuffer)
	if !alike(long, long) || alike(long, long[:len(long)-1]+"y") || alike(long+"x", long) {
		t.Error("long lines")
	}
}

// TestAlikeMeansEqual: graphs that AlikeIR accepts parse equal, whatever byte of one is changed.
func TestAlikeMeansEqual(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	same := 0
	for name, data := range goldenIRs(t, ".ir") {
		whole, wholeErr := ReadIR(bytes.NewReader(data))
		want := describe(whole)
		for range 60 {
			other := bytes.Clone(data)
			at := random.IntN(len(other) + 1)
			for at < len(other) && other[at] == '\n' {
				at++
			}
			if at >= len(other) {
				continue
			}
			other[at] = "0a(){}<%:#\" \n"[random.IntN(13)]
			if !IsSameGraphIR(bytes.NewReader(data), bytes.NewReader(other)) {
				continue
			}
			same++
			g, err := ReadIR(bytes.NewReader(other))
			if got := describe(g); got != want || (err == nil) != (wholeErr == nil) {
				t.Fatalf("%s: byte %d as %q: error %v", name, at, other[at], err)
			}
		}
	}
	if same < 30 {
		t.Errorf("only %d were alike", same)
	}
}

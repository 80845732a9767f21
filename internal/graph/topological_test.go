package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTopological(t *testing.T) {
	for text, want := range map[string]string{
		`{"d":["b"],"b":["c","a"],"c":["a"]}`: "d b c a",
		`{"b":["c"],"a":["c"]}`:               "b a c",
		`{"a":["b"],"b":["c"],"c":["b"]}`:     "a b c",
		`{"b":["a"],"a":["b"]}`:               "b a",
		`{"a":["a"]}`:                         "a",
		`{"x":["z","z"],"y":["z"]}`:           "x y z",
		`{}`:                                  "",
	} {
		g, err := ReadConsumers(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(g.Topological(), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	g, err := ReadFusion(strings.NewReader(`{"graph":[{"op":[{"name":"c","id":1,"input":["a:0"]},{"name":"a","id":2},{"name":"b","id":0}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, g.Topological()); diff != "" {
		t.Error(diff)
	}
}

// TestTopologicalMatchesASlowSearch: of all operators that are ready the first in
// execution order is next; in a cycle the first of those that are left.
func TestTopologicalMatchesASlowSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "operators")
		g := new(Graph)
		for i := range n {
			g.add(Op{Name: fmt.Sprint(i), ID: int64(rapid.IntRange(0, 3).Draw(t, "id")), HasID: rapid.Bool().Draw(t, "has id")})
		}
		for range rapid.IntRange(0, 2*n).Draw(t, "edges") {
			g.connect(fmt.Sprint(rapid.IntRange(0, n-1).Draw(t, "from")), fmt.Sprint(rapid.IntRange(0, n-1).Draw(t, "to")))
		}
		left := g.Order()
		want := []string{}
		for len(left) > 0 {
			next := slices.IndexFunc(left, func(name string) bool {
				return !slices.ContainsFunc(g.Find(name).Inputs, func(p Producer) bool { return p.Op != name && slices.Contains(left, p.Op) })
			})
			next = max(next, 0)
			want = append(want, left[next])
			left = slices.Delete(left, next, next+1)
		}
		if diff := cmp.Diff(want, g.Topological()); diff != "" {
			t.Error(diff)
		}
		for i, name := range want {
			if place, ok := g.Place("none", name); place != i || !ok {
				t.Errorf("%s has the place %d, want %d", name, place, i)
			}
		}
		if _, ok := g.Place("none"); ok {
			t.Error("an operator that the graph lacks has a place")
		}
	})
}

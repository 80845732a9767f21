package compare

import (
	"slices"
	"strings"

	"dumptool/internal/compare/pairing"
)

// shortenRounds leaves of the folders of rows only what tells them apart: the
// folders that all rows share are dropped.
func (m *matcher) shortenRounds() {
	var common []string
	for i := range m.matches {
		row := &m.matches[i].row
		if row.NPUFile == "" {
			continue
		}
		parts := strings.Split(row.Round, "/")
		if common == nil {
			common = parts
		}
		n := 0
		for n < min(len(common), len(parts)) && common[n] == parts[n] {
			n++
		}
		common = common[:n:n]
	}
	prefix := strings.Join(common, "/")
	for i := range m.matches {
		row := &m.matches[i].row
		if rest, ok := strings.CutPrefix(row.Round, prefix); ok && row.NPUFile != "" {
			row.Round = strings.TrimPrefix(rest, "/")
		}
	}
}

// choose tells the pairs of the wanted rounds from those of others.
func (r Rounds) choose(pairs []pairing.Pair, npus []pairing.Tensor) (chosen, others []pairing.Pair) {
	if !r.First && !r.Last && r.Number == nil {
		return pairs, nil
	}
	type tensorKey struct {
		op    string
		kind  pairing.Kind
		index int
	}
	keyOf := func(p pairing.Pair) tensorKey {
		t := &npus[p.NPU]
		return tensorKey{t.Name(), t.Kind, t.Index}
	}
	rounds := map[tensorKey][]string{}
	for _, p := range pairs {
		rounds[keyOf(p)] = append(rounds[keyOf(p)], p.Round)
	}
	for k := range rounds {
		slices.SortFunc(rounds[k], pairing.CompareNatural)
		rounds[k] = slices.Compact(rounds[k])
	}
	for _, p := range pairs {
		all := rounds[keyOf(p)]
		want := 0
		switch {
		case r.Last:
			want = len(all) - 1
		case r.Number != nil:
			want = *r.Number
		}
		if want >= 0 && want < len(all) && p.Round == all[want] {
			chosen = append(chosen, p)
		} else {
			others = append(others, p)
		}
	}
	return chosen, others
}

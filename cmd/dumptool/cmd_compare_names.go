package main

import (
	"context"
	"slices"
	"strings"

	"dumptool/internal/compare"
	"dumptool/internal/compare/pairing"
)

// nearNames are at most as many names as a hint shows.
const nearNames = 3

// operatorNames lists the names of all operators on both sides, without
// comparing anything.
func operatorNames(ctx context.Context, opt compare.Options) ([]string, error) {
	everything, err := pairing.NewNameSet([]string{"re:(?s).*"})
	if err != nil {
		return nil, err
	}
	opt.Pair.Ops, opt.Pair.Exclude, opt.Observe = nil, everything, nil
	rep, err := compare.Run(ctx, opt)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range rep.Rows {
		for _, name := range []string{rep.Rows[i].Op, rep.Rows[i].NPUOp} {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// nearest returns the names that a user may have meant by word, the nearest
// first: those that hold it, and those with a few other letters.
func nearest(word string, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	plain := strings.ToLower(pairing.Normalise(word))
	for _, name := range names {
		other := strings.ToLower(pairing.Normalise(name))
		far := distance(plain, other)
		if strings.Contains(other, plain) {
			far = 0
		}
		if far <= max(2, len(plain)/4) {
			found = append(found, candidate{name, far})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		if a.far != b.far {
			return a.far - b.far
		}
		return pairing.CompareNatural(a.name, b.name)
	})
	var near []string
	for _, c := range found[:min(len(found), nearNames)] {
		if c.far == 0 || found[0].far > 0 {
			near = append(near, c.name)
		}
	}
	return near
}

// distance is the least number of letters to put in, leave out or replace that
// makes b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

package dumpdir

import (
	"cmp"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
)

// Stem is the beginning or the end of the names of files of one side, without extension, where two
// sides lie in one folder: ref_ and npu_, or .golden and .npu. The zero value stands for all files.
type Stem struct{ Own, Other string }

// separators may stand between a stem and the rest of a name.
const separators = "_-. @+"

// Cut returns a name without the stem; ok is false for files of the other side and of none.
func (s Stem) Cut(name string) (rest string, ok bool) {
	if s.Own == "" {
		return name, true
	}
	if rest, ok = cutStem(name, s.Own); !ok {
		return name, false
	}
	// If one stem is part of the other, the longer one decides.
	if _, both := cutStem(name, s.Other); both && len(s.Other) > len(s.Own) {
		return name, false
	}
	return rest, true
}

// cutStem returns a file name without a text at the beginning or at the end of its stem, and without
// separators there.
func cutStem(name, text string) (rest string, ok bool) {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	if rest, ok = strings.CutPrefix(stem, text); ok {
		rest = strings.TrimLeft(rest, separators)
	} else if rest, ok = strings.CutSuffix(stem, text); ok {
		rest = strings.TrimRight(rest, separators)
	}
	return rest + ext, ok && rest != ""
}

// SplitStems lists the pairs of stems that divide names of files into two sides with the same rests.
func SplitStems(names []string) (all [][2]string) {
	stems := make([]string, len(names))
	for i, name := range names {
		stems[i] = strings.TrimSuffix(name, path.Ext(name))
	}
	slices.Sort(stems)
	if stems = slices.Compact(stems); len(stems)%2 != 0 {
		return nil
	}
	for _, atEnd := range []bool{false, true} {
		all = append(all, splitBy(stems, atEnd)...)
	}
	return all
}

// cut splits a stem at a separator, at its end or at its beginning; the text includes the separator.
type cut struct{ text, rest string }

func cuts(stem string, atEnd bool) iter.Seq[cut] {
	return func(yield func(cut) bool) {
		for i := 1; i < len(stem)-1; i++ {
			switch {
			case strings.IndexByte(separators, stem[i]) < 0:
			case atEnd && !yield(cut{stem[i:], stem[:i]}), !atEnd && !yield(cut{stem[:i+1], stem[i+1:]}):
				return
			}
		}
	}
}

// splitBy lists the shortest pairs of texts at the beginning or at the end of stems, each with the
// same rests.
func splitBy(stems []string, atEnd bool) (all [][2]string) {
	count := make(map[string]int)
	for _, stem := range stems {
		for c := range cuts(stem, atEnd) {
			count[c.text]++
		}
	}
	rests := make(map[string][]string)
	for _, stem := range stems {
		for c := range cuts(stem, atEnd) {
			if count[c.text] == len(stems)/2 {
				rests[c.text] = append(rests[c.text], c.rest)
			}
		}
	}
	for _, of := range rests {
		slices.Sort(of)
	}
	texts := slices.SortedFunc(maps.Keys(rests), func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	for i, a := range texts {
		longer := func(known [2]string) bool {
			return strings.HasPrefix(a, known[0]) || strings.HasSuffix(a, known[0]) || strings.HasPrefix(a, known[1]) || strings.HasSuffix(a, known[1])
		}
		if slices.ContainsFunc(all, longer) {
			continue // a text of the same files
		}
		for _, b := range texts[i+1:] {
			if slices.Equal(rests[a], rests[b]) {
				all = append(all, [2]string{min(a, b), max(a, b)})
			}
		}
	}
	return all
}
